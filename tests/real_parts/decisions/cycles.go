package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
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
	// Rules are by extender and verb.
	Rules []map[string]extenderRule `json:"extenders_behaviour"`
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
	if given.Family == "extenders" {
		servers, err := c.intercept(given.Config, given.Rules)
		if err != nil {
			return nil, err
		}
		return c.decideExtended(ctx, servers)
	}
	return c.decide(ctx)
}

func newCluster(ctx context.Context, given *cycleCase) (*cluster, error) {
	all, err := storedObjects(append(given.Objects, given.Pod))
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for _, object := range all {
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
	built, err := informedScheduler(ctx, c.client, c.recorder, options...)
	if err != nil {
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

func optionsOf(raw json.RawMessage) ([]scheduler.Option, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var config schedulerapi.KubeSchedulerConfiguration
	if err := runtime.DecodeInto(configscheme.Codecs.UniversalDecoder(), raw, &config); err != nil {
		return nil, err
	}
	for _, profile := range config.Profiles {
		for i := range profile.Plugins.MultiPoint.Enabled {
			// With its gate only; the name that takes its place is registered for traces.
			if plugin := &profile.Plugins.MultiPoint.Enabled[i]; plugin.Name == names.TopologyPlacementGenerator {
				plugin.Name = placementsByName
			}
		}
	}
	return []scheduler.Option{
		scheduler.WithProfiles(config.Profiles...), scheduler.WithExtenders(config.Extenders...),
	}, nil
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

// field returns a private field of an addressable struct.
func field(of reflect.Value, name string) reflect.Value {
	found := of.FieldByName(name)
	return reflect.NewAt(found.Type(), unsafe.Pointer(found.UnsafeAddr())).Elem()
}

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
