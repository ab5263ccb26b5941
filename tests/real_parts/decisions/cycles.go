package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

const bindTimeout = 20 * time.Second

type document = map[string]any

type cycleCase struct {
	Objects []json.RawMessage `json:"objects"`
	Pod     json.RawMessage   `json:"pod"`
	Config  json.RawMessage   `json:"config"`
	Family  string            `json:"family"`
}

// cluster is a scheduler of its own with the objects of one case.
type cluster struct {
	client    *fake.Clientset
	scheduler *scheduler.Scheduler
	framework framework.Framework
	snapshot  *internalcache.Snapshot
	recorder  *recorder
	pod       *v1.Pod
	nodes     []fwk.NodeInfo
}

// recorder calls a function when a plugin emits an Event.
type recorder struct {
	events.FakeRecorder
	emitted func(reason string)
}

func (r *recorder) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	if r.emitted != nil {
		r.emitted(reason)
	}
}

func (r *recorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

func decideCase(line []byte) (any, error) {
	var given cycleCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	defer cancel()
	c, err := newCluster(ctx, &given)
	if err != nil {
		return nil, err
	}
	if given.Family == "mixed" {
		return c.decideSingle(ctx)
	}
	if c.framework == nil {
		return nil, fmt.Errorf("no profile is called %q", c.pod.Spec.SchedulerName)
	}
	return c.decide(ctx)
}

func newCluster(ctx context.Context, given *cycleCase) (*cluster, error) {
	decoder := scheme.Codecs.UniversalDeserializer()
	var objects []runtime.Object
	for _, raw := range append(given.Objects, given.Pod) {
		object, _, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			return nil, err
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			return nil, err
		}
		if accessor.GetResourceVersion() == "" {
			accessor.SetResourceVersion("1")
		}
		each, ok := object.(*v1.Pod)
		if ok && (each.Status.Phase == v1.PodSucceeded || each.Status.Phase == v1.PodFailed) {
			// The client in memory ignores the field selector of the scheduler's informer.
			continue
		}
		objects = append(objects, object)
	}
	pod := objects[len(objects)-1].(*v1.Pod)
	// A pod that names its node is decided before it counts there.
	stored := pod.DeepCopy()
	stored.Spec.NodeName = ""
	objects[len(objects)-1] = stored
	c := &cluster{client: fake.NewSimpleClientset(objects...), recorder: &recorder{}, pod: pod}
	c.client.PrependReactor("create", "resourceclaims", nameGenerated)
	options, err := optionsOf(given.Config)
	if err != nil {
		return nil, err
	}
	informers := scheduler.NewInformerFactory(c.client, 0)
	recorders := func(string) events.EventRecorderLogger { return c.recorder }
	built, err := scheduler.New(ctx, c.client, informers, nil, recorders, options...)
	if err != nil {
		return nil, err
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := built.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	c.scheduler = built
	c.framework = built.Profiles[c.pod.Spec.SchedulerName]
	shared := c.framework
	for _, each := range built.Profiles {
		shared = each
	}
	// All profiles share one snapshot.
	c.snapshot = shared.SnapshotSharedLister().(*internalcache.Snapshot)
	if err := built.Cache.UpdateSnapshot(klog.FromContext(ctx), c.snapshot); err != nil {
		return nil, err
	}
	c.nodes, err = c.snapshot.List()
	sort.Slice(c.nodes, func(i, j int) bool { return c.nodes[i].Node().Name < c.nodes[j].Node().Name })
	return c, err
}

// nameGenerated gives a created claim the name and UID that an API server would.
func nameGenerated(action clienttesting.Action) (bool, runtime.Object, error) {
	claim := action.(clienttesting.CreateAction).GetObject().(*resourceapi.ResourceClaim)
	if claim.Name == "" {
		claim.Name = claim.GenerateName + "00001"
		claim.UID = types.UID(claim.Name)
	}
	return false, nil, nil
}

func optionsOf(raw json.RawMessage) ([]scheduler.Option, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var config schedulerapi.KubeSchedulerConfiguration
	if err := runtime.DecodeInto(configscheme.Codecs.UniversalDecoder(), raw, &config); err != nil {
		return nil, err
	}
	return []scheduler.Option{scheduler.WithProfiles(config.Profiles...)}, nil
}

// attempt is one scheduling cycle up to its filters.
type attempt struct {
	state     fwk.CycleState
	preFilter *fwk.Status
	names     sets.Set[string]
	blamed    sets.Set[string]
	feasible  []fwk.NodeInfo
	rejected  map[string]*fwk.Status
	failed    map[string]*fwk.Status
}

func (c *cluster) filter(ctx context.Context, nodes []fwk.NodeInfo) *attempt {
	a := &attempt{
		state:    framework.NewCycleState(),
		rejected: map[string]*fwk.Status{},
		failed:   map[string]*fwk.Status{},
	}
	result, status, blamed := c.framework.RunPreFilterPlugins(ctx, a.state, c.pod)
	a.preFilter, a.blamed = status, blamed
	if !status.IsSuccess() {
		return a
	}
	if !result.AllNodes() {
		a.names = result.NodeNames
	}
	for _, node := range nodes {
		name := node.Node().Name
		if a.names != nil && !a.names.Has(name) {
			continue
		}
		status := c.framework.RunFilterPluginsWithNominatedPods(ctx, a.state, c.pod, node)
		switch {
		case status.IsSuccess():
			a.feasible = append(a.feasible, node)
		case status.IsRejected():
			a.rejected[name] = status
		default:
			a.failed[name] = status
		}
	}
	return a
}

func (c *cluster) decide(ctx context.Context) (any, error) {
	expect := document{"feasible": []string{}, "winners": []string{}}
	for _, plugin := range c.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, c.pod); !status.IsSuccess() {
			expect["pre_enqueue"] = statusDocument(status, plugin.Name())
			return expect, nil
		}
	}
	a := c.filter(ctx, c.nodes)
	expect["prefilter"] = preFilterDocument(a)
	expect["skipped_filter"] = sets.List(a.state.GetSkipFilterPlugins())
	if a.preFilter != nil && a.preFilter.Code() == fwk.Error {
		expect["error"] = a.preFilter.AsError().Error()
		return expect, nil
	}
	if len(a.failed) > 0 {
		return c.failedCycle(ctx, expect), nil
	}
	expect["feasible"] = namesOf(a.feasible)
	if len(a.rejected) > 0 {
		rejected := document{}
		for name, status := range a.rejected {
			rejected[name] = statusDocument(status, status.Plugin())
		}
		expect["filter"] = rejected
	}
	devices := c.devices(a)
	if c.variesWithOrder(ctx, a, devices) {
		expect["varies"] = true
	}
	if devices != nil {
		expect["dra"] = devices
	}
	if len(a.feasible) == 0 {
		c.postFilter(ctx, a, expect, devices)
		return expect, nil
	}
	winners, err := c.score(ctx, a, expect)
	if err != nil {
		return nil, err
	}
	expect["winners"] = winners
	if devices != nil {
		devices["bind"] = c.bind(ctx, a, winners[0])
	}
	return expect, nil
}

// failedCycle filters each node in a cycle of its own.
func (c *cluster) failedCycle(ctx context.Context, expect document) document {
	errors, rejected := document{}, document{}
	first := ""
	for _, node := range c.nodes {
		name := node.Node().Name
		alone := c.filter(ctx, []fwk.NodeInfo{node})
		for name, status := range alone.rejected {
			rejected[name] = statusDocument(status, status.Plugin())
		}
		if status, ok := alone.failed[name]; ok {
			errors[name] = status.AsError().Error()
			if first == "" {
				first = status.AsError().Error()
			}
		}
	}
	expect["error"], expect["error_by_node"] = first, errors
	if len(rejected) > 0 {
		expect["filter"] = rejected
	}
	return expect
}

func (c *cluster) postFilter(ctx context.Context, a *attempt, expect document, devices document) {
	diagnosis := framework.Diagnosis{
		NodeToStatus:         framework.NewDefaultNodeToStatus(),
		UnschedulablePlugins: sets.New[string](),
	}
	if !a.preFilter.IsSuccess() {
		diagnosis.NodeToStatus.SetAbsentNodesStatus(a.preFilter)
		diagnosis.PreFilterMsg = a.preFilter.Message()
		diagnosis.AddPluginStatus(a.preFilter)
	} else if a.names != nil {
		diagnosis.UnschedulablePlugins = a.blamed
		diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(a.blamed))))
	}
	for name, status := range a.rejected {
		diagnosis.NodeToStatus.Set(name, status)
		diagnosis.AddPluginStatus(status)
	}
	candidates := c.toFree(a)
	c.client.ClearActions()
	result, status := c.framework.RunPostFilterPlugins(ctx, a.state, c.pod, diagnosis.NodeToStatus)
	diagnosis.PostFilterMsg = status.Message()
	fit := &framework.FitError{Pod: c.pod, NumAllNodes: len(c.nodes), Diagnosis: diagnosis}
	expect["unschedulable_plugins"] = sets.List(diagnosis.UnschedulablePlugins)
	expect["message"] = fit.Error()
	preemption := document{"status": status.Code().String(), "message": status.Message()}
	if result != nil && result.Mode() == fwk.ModeOverride {
		preemption["nominated_node"] = result.NominatedNodeName
	}
	expect["preemption"] = preemption
	if devices == nil || status.IsSuccess() {
		return
	}
	action := document{"action": "none"}
	for _, done := range c.client.Actions() {
		if done.GetResource().Resource != "resourceclaims" {
			continue
		}
		switch done := done.(type) {
		case clienttesting.DeleteAction:
			action = document{"action": "delete", "any_of": []string{done.GetNamespace() + "/" + done.GetName()}}
		case clienttesting.UpdateAction:
			if done.GetSubresource() == "status" {
				action = document{"action": "deallocate", "any_of": candidates}
			}
		}
	}
	devices["post_filter"] = action
}

// score returns the nodes with the greatest total, by name.
func (c *cluster) score(ctx context.Context, a *attempt, expect document) ([]string, error) {
	if len(a.feasible) == 1 {
		return namesOf(a.feasible), nil
	}
	if status := c.framework.RunPreScorePlugins(ctx, a.state, c.pod, a.feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	found, status := c.framework.RunScorePlugins(ctx, a.state, c.pod, a.feasible)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	expect["skipped_score"] = sets.List(a.state.GetSkipScorePlugins())
	totals := map[string]int64{}
	scores, err := c.rawScores(ctx, a)
	if err != nil {
		return nil, err
	}
	best := found[0].TotalScore
	for _, node := range found {
		totals[node.Name] = node.TotalScore
		best = max(best, node.TotalScore)
		for _, score := range node.Scores {
			of := scores[score.Name]
			of.Normalized[node.Name] = score.Score / of.Weight
		}
	}
	for _, of := range scores {
		if reflect.DeepEqual(of.Normalized, of.Raw) {
			of.Normalized = nil
		}
	}
	expect["total"], expect["scores"] = totals, scores
	winners := []string{}
	for name, total := range totals {
		if total == best {
			winners = append(winners, name)
		}
	}
	sort.Strings(winners)
	return winners, nil
}

// pluginScores are the scores of one plugin by node.
type pluginScores struct {
	Weight     int64            `json:"weight"`
	Raw        map[string]int64 `json:"raw"`
	Normalized map[string]int64 `json:"normalized,omitempty"`
}

// rawScores runs Score alone, whose results RunScorePlugins normalizes.
func (c *cluster) rawScores(ctx context.Context, a *attempt) (map[string]*pluginScores, error) {
	own := reflect.ValueOf(c.framework).Elem()
	weights := field(own, "scorePluginWeight").Interface().(map[string]int)
	found := map[string]*pluginScores{}
	for _, plugin := range field(own, "scorePlugins").Interface().([]fwk.ScorePlugin) {
		if a.state.GetSkipScorePlugins().Has(plugin.Name()) {
			continue
		}
		of := &pluginScores{
			Weight: int64(weights[plugin.Name()]), Raw: map[string]int64{}, Normalized: map[string]int64{},
		}
		for _, node := range a.feasible {
			score, status := plugin.Score(ctx, a.state, c.pod, node)
			if !status.IsSuccess() {
				return nil, status.AsError()
			}
			of.Raw[node.Node().Name] = score
		}
		found[plugin.Name()] = of
	}
	return found, nil
}

// bind runs Reserve and PreBind of DynamicResources.
func (c *cluster) bind(ctx context.Context, a *attempt, node string) document {
	result := document{"node": node, "writes": []document{}}
	if status := c.framework.RunReservePluginsReserve(ctx, a.state, c.pod, node); !status.IsSuccess() {
		result["error"] = status.Message()
		return result
	}
	if status := c.framework.RunPreBindPreFlights(ctx, a.state, c.pod, node); status.IsSkip() {
		return result
	}
	c.client.ClearActions()
	waiting, stop := context.WithTimeout(ctx, bindTimeout)
	defer stop()
	waits := false
	c.recorder.emitted = func(reason string) {
		if reason == "BindingConditionsPending" {
			waits = true
			stop()
		}
	}
	status := c.framework.RunPreBindPlugins(waiting, a.state, c.pod, node)
	if waits && !status.IsSuccess() {
		result["waits_for_conditions"] = true
	} else if !status.IsSuccess() {
		result["error"] = withoutPlugin(status.Message())
	}
	result["writes"] = writesOf(c.client.Actions())
	return result
}

func withoutPlugin(message string) string {
	return strings.TrimPrefix(message, `running PreBind plugin "`+names.DynamicResources+`": `)
}

func writesOf(actions []clienttesting.Action) []document {
	writes := []document{}
	for _, action := range actions {
		write := document{"verb": action.GetVerb(), "resource": action.GetResource().Resource}
		switch action := action.(type) {
		case clienttesting.CreateActionImpl:
			claim := action.GetObject().(*resourceapi.ResourceClaim).DeepCopy()
			claim.Name, claim.UID = "", ""
			write["namespace"] = claim.Namespace
			write["object"] = document{"metadata": claim.ObjectMeta, "spec": claim.Spec}
		case clienttesting.UpdateActionImpl:
			claim := action.GetObject().(*resourceapi.ResourceClaim)
			write["name"] = claim.Namespace + "/" + claim.Name
			if action.GetSubresource() == "" {
				write["finalizers"] = claim.Finalizers
			} else {
				write["subresource"], write["status"] = action.GetSubresource(), claim.Status
			}
		case clienttesting.PatchActionImpl:
			write["name"] = action.GetNamespace() + "/" + action.GetName()
			write["subresource"] = action.GetSubresource()
			write["patch"] = json.RawMessage(action.GetPatch())
		default:
			continue
		}
		writes = append(writes, write)
	}
	return writes
}

// devices returns what the plugin's private state has after the filters; nil without claims.
func (c *cluster) devices(a *attempt) document {
	if !a.preFilter.IsSuccess() || a.state.GetSkipFilterPlugins().Has(names.DynamicResources) {
		return nil
	}
	data, err := stateOf(a)
	if err != nil {
		return nil
	}
	claims := claimsOf(data)
	keys, toAllocate := []string{}, []string{}
	for _, claim := range claims {
		keys = append(keys, keyOf(claim))
		if claim.Status.Allocation == nil {
			toAllocate = append(toAllocate, keyOf(claim))
		}
	}
	found := document{"claims": keys}
	if len(toAllocate) > 0 {
		found["to_allocate"] = toAllocate
	}
	allocations, extended := document{}, document{}
	perNode := field(data, "nodeAllocations")
	for _, node := range namesOf(a.feasible) {
		ofNode := perNode.MapIndex(reflect.ValueOf(node))
		if !ofNode.IsValid() {
			continue
		}
		copied := reflect.New(ofNode.Type()).Elem()
		copied.Set(ofNode)
		results := field(copied, "allocationResults").Interface().([]resourceapi.AllocationResult)
		if len(results) > 0 {
			entries := []document{}
			for i := range results {
				entries = append(entries, document{"claim": toAllocate[i], "allocation": results[i]})
			}
			allocations[node] = entries
		}
		special := field(copied, "extendedResourceClaim").Interface().(*resourceapi.ResourceClaim)
		if special != nil {
			mappings := field(copied, "containerResourceRequestMappings").Interface()
			extended[node] = document{
				"requests": append([]resourceapi.DeviceRequest{}, special.Spec.Devices.Requests...),
				"mappings": append([]v1.ContainerExtendedResourceRequest{},
					mappings.([]v1.ContainerExtendedResourceRequest)...),
			}
		}
	}
	if len(allocations) > 0 {
		found["allocations"] = allocations
	}
	if len(extended) > 0 {
		found["extended"] = extended
	}
	return found
}

// variesWithOrder is true if the nodes in the opposite order get other devices: the allocator
// remembers the counters of the pool that it met first under a name.
func (c *cluster) variesWithOrder(ctx context.Context, a *attempt, devices document) bool {
	reversed := slices.Clone(c.nodes)
	slices.Reverse(reversed)
	again := c.filter(ctx, reversed)
	sort.Slice(again.feasible, func(i, j int) bool {
		return again.feasible[i].Node().Name < again.feasible[j].Node().Name
	})
	if len(again.failed) > 0 || !reflect.DeepEqual(namesOf(a.feasible), namesOf(again.feasible)) {
		return true
	}
	return comparable(devices) != comparable(c.devices(again))
}

var shareID = regexp.MustCompile(`"shareID":"[^"]*"`)

func comparable(devices document) string {
	encoded, _ := json.Marshal(devices)
	return shareID.ReplaceAllString(string(encoded), "")
}

// toFree returns the claims of which PostFilter may deallocate any.
func (c *cluster) toFree(a *attempt) []string {
	keys := []string{}
	data, err := stateOf(a)
	if err != nil {
		return keys
	}
	claims := claimsOf(data)
	for index := range field(data, "unavailableClaims").Interface().(sets.Set[int]) {
		users := claims[index].Status.ReservedFor
		if len(users) == 0 || len(users) == 1 && users[0].UID == c.pod.UID {
			keys = append(keys, keyOf(claims[index]))
		}
	}
	sort.Strings(keys)
	return keys
}

func stateOf(a *attempt) (reflect.Value, error) {
	data, err := a.state.Read(names.DynamicResources)
	if err != nil {
		return reflect.Value{}, err
	}
	return reflect.ValueOf(data).Elem(), nil
}

func claimsOf(data reflect.Value) []*resourceapi.ResourceClaim {
	return field(field(data, "claims"), "claims").Interface().([]*resourceapi.ResourceClaim)
}

// field returns a private field of an addressable struct.
func field(of reflect.Value, name string) reflect.Value {
	found := of.FieldByName(name)
	return reflect.NewAt(found.Type(), unsafe.Pointer(found.UnsafeAddr())).Elem()
}

func keyOf(claim *resourceapi.ResourceClaim) string { return claim.Namespace + "/" + claim.Name }

func namesOf(nodes []fwk.NodeInfo) []string {
	found := []string{}
	for _, node := range nodes {
		found = append(found, node.Node().Name)
	}
	return found
}

func statusDocument(status *fwk.Status, plugin string) document {
	return document{"plugin": plugin, "code": status.Code().String(), "reasons": status.Reasons()}
}

func preFilterDocument(a *attempt) document {
	if a.preFilter.IsSuccess() {
		found := document{"status": "Success", "node_names": nil}
		if a.names != nil {
			found["node_names"] = sets.List(a.names)
		}
		return found
	}
	return document{
		"status": a.preFilter.Code().String(), "plugin": a.preFilter.Plugin(),
		"reasons": a.preFilter.Reasons(), "node_names": nil,
	}
}
