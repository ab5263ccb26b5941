package main

import (
	containerheap "container/heap"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/heap"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	testingclock "k8s.io/utils/clock/testing"
)

const profileName = "default-scheduler"

type queueCase struct {
	HintMode string         `json:"hint_mode"`
	Options  map[string]int `json:"options"`
	Hints    []scriptedHint `json:"hints"`
	Start    time.Time      `json:"start"`
	Steps    []queueStep    `json:"steps"`
}

type scriptedHint struct {
	Plugin   string   `json:"plugin"`
	Resource string   `json:"resource"`
	Actions  []string `json:"actions"`
	Hint     string   `json:"hint"`
}

type queueStep struct {
	Op                   string          `json:"op"`
	Seconds              float64         `json:"dt"`
	Name                 string          `json:"name"`
	Names                []string        `json:"names"`
	Node                 string          `json:"node"`
	Pod                  json.RawMessage `json:"pod"`
	Resource             string          `json:"resource"`
	Action               string          `json:"action"`
	Old                  json.RawMessage `json:"old"`
	New                  json.RawMessage `json:"new"`
	UnschedulablePlugins []string        `json:"unschedulable_plugins"`
	PendingPlugins       []string        `json:"pending_plugins"`
}

// defaultScheduler is a scheduler without objects, for its hints and PreEnqueue plugins.
var defaultScheduler = sync.OnceValues(func() (*scheduler.Scheduler, error) {
	return startedScheduler(klog.NewContext(context.Background(), klog.Logger{}), nil)
})

// queueReplay is the real scheduling queue with a clock that steps move.
type queueReplay struct {
	ctx    context.Context
	start  time.Time
	clock  *testingclock.FakeClock
	pods   cache.Indexer
	queue  *internalqueue.PriorityQueue
	less   fwk.LessFunc
	popped map[string]*framework.QueuedPodInfo
	// names of pods, by UID.
	names map[types.UID]string
}

// replayQueue answers the steps of family queue with the field `expect` of each, in a list.
func replayQueue(line []byte) (any, error) {
	var given queueCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	defer cancel()
	replay, err := newQueueReplay(ctx, &given)
	if err != nil {
		return nil, err
	}
	states := []document{}
	for i := range given.Steps {
		state, err := replay.step(&given.Steps[i])
		if err != nil {
			// Ours and upstream's queue have differed: the steps do not fit this one.
			state = document{"impossible": err.Error()}
		}
		states = append(states, state)
	}
	return document{"steps": states}, nil
}

func newQueueReplay(ctx context.Context, given *queueCase) (*queueReplay, error) {
	base, err := defaultScheduler()
	if err != nil {
		return nil, err
	}
	sorter, err := queuesort.New(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
	hints := hintsOf(base)
	if given.HintMode == "explicit" {
		hints = scriptedHints(hints[profileName], given.Hints)
	}
	gates := field(reflect.ValueOf(base.SchedulingQueue).Elem(), "preEnqueuePluginMap").Interface()
	seconds := func(name string) time.Duration {
		return time.Duration(given.Options["pod_"+name+"_seconds"]) * time.Second
	}
	r := &queueReplay{
		ctx:    ctx,
		start:  given.Start,
		clock:  testingclock.NewFakeClock(given.Start),
		pods:   factory.Core().V1().Pods().Informer().GetIndexer(),
		less:   sorter.(*queuesort.PrioritySort).Less,
		popped: map[string]*framework.QueuedPodInfo{},
	}
	r.queue = internalqueue.NewPriorityQueue(r.less, factory,
		internalqueue.WithClock(r.clock),
		internalqueue.WithQueueingHintMapPerProfile(hints),
		internalqueue.WithPreEnqueuePluginMap(gates.(map[string]map[string]fwk.PreEnqueuePlugin)),
		internalqueue.WithPodInitialBackoffDuration(seconds("initial_backoff")),
		internalqueue.WithPodMaxBackoffDuration(seconds("max_backoff")),
		internalqueue.WithPodMaxInUnschedulablePodsDuration(seconds("max_in_unschedulable_pods")),
		internalqueue.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())),
	)
	return r, nil
}

func scriptedHints(defaults internalqueue.QueueingHintMap, scripted []scriptedHint) internalqueue.QueueingHintMapPerProfile {
	found := internalqueue.QueueingHintMap{}
	for event, functions := range defaults {
		for _, function := range functions {
			if function.PluginName == names.SchedulingGates {
				found[event] = append(found[event], function)
			}
		}
	}
	for _, hint := range scripted {
		event := fwk.ClusterEvent{Resource: fwk.EventResource(hint.Resource)}
		for _, label := range hint.Actions {
			event.ActionType |= actionOf(label)
		}
		found[event] = append(found[event], &internalqueue.QueueingHintFunction{
			PluginName: hint.Plugin,
			QueueingHintFn: func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
				switch hint.Hint {
				case "Queue":
					return fwk.Queue, nil
				case "Error":
					return fwk.QueueSkip, fmt.Errorf("scripted")
				}
				return fwk.QueueSkip, nil
			},
		})
	}
	return internalqueue.QueueingHintMapPerProfile{profileName: found}
}

func actionOf(label string) fwk.ActionType {
	for _, action := range []fwk.ActionType{fwk.All, fwk.Update} {
		if action.String() == label {
			return action
		}
	}
	for action := fwk.Add; action < fwk.All; action <<= 1 {
		if action.String() == label {
			return action
		}
	}
	panic("unknown action " + label)
}

func (r *queueReplay) step(step *queueStep) (document, error) {
	r.clock.Step(time.Duration(math.Round(step.Seconds*1e6)) * time.Microsecond)
	popped, err := r.do(step)
	if err != nil {
		return nil, err
	}
	state := r.state(r.clock.Now())
	if popped != nil {
		state["pop"] = popped
	}
	return state, nil
}

func (r *queueReplay) do(step *queueStep) (document, error) {
	logger := klog.FromContext(r.ctx)
	key := "default/" + step.Name
	switch step.Op {
	case "add":
		pod, err := podOf(step.Pod)
		if err != nil {
			return nil, err
		}
		r.pods.Add(pod)
		r.queue.Add(r.ctx, pod)
	case "update":
		pod, err := podOf(step.Pod)
		if err != nil {
			return nil, err
		}
		old := r.pod(key)
		if old == nil {
			return nil, fmt.Errorf("no pod %s", key)
		}
		r.pods.Update(pod)
		r.queue.Update(r.ctx, old, pod)
	case "delete":
		pod := r.pod(key)
		if pod == nil {
			return nil, fmt.Errorf("no pod %s", key)
		}
		r.pods.Delete(pod)
		r.queue.Delete(pod)
	case "pop":
		return r.pop(logger)
	case "fail":
		info := r.popped[step.Name]
		if info == nil {
			return nil, fmt.Errorf("pod %s has not been popped", key)
		}
		delete(r.popped, step.Name)
		r.fail(logger, info, step)
	case "done":
		info := r.popped[step.Name]
		if info == nil {
			return nil, fmt.Errorf("pod %s has not been popped", key)
		}
		delete(r.popped, step.Name)
		r.queue.Done(info.Pod.UID)
		if pod := r.pod(key); pod != nil && pod.UID == info.Pod.UID {
			r.pods.Delete(pod)
			r.queue.Delete(pod)
		}
	case "move":
		return nil, r.move(logger, step)
	case "flush_backoff":
		flushBackoff(r.queue, logger)
	case "flush_unschedulable":
		flushUnschedulable(r.queue, logger)
	case "activate":
		pods := map[string]*v1.Pod{}
		for _, name := range step.Names {
			if pod := r.pod("default/" + name); pod != nil {
				pods["default/"+name] = pod
			}
		}
		r.queue.Activate(logger, pods)
	case "nominate":
		pod := r.pod(key)
		if pod == nil {
			return nil, fmt.Errorf("no pod %s", key)
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		r.queue.AddNominatedPod(logger, info, &fwk.NominatingInfo{
			NominatingMode: fwk.ModeOverride, NominatedNodeName: step.Node,
		})
	case "tick":
	default:
		return nil, fmt.Errorf("unknown step %q", step.Op)
	}
	return nil, nil
}

func (r *queueReplay) pop(logger klog.Logger) (document, error) {
	if len(r.queue.PodsInActiveQ()) == 0 && r.backoff("podBackoffQ").Len() == 0 {
		return document{"name": nil}, nil
	}
	info, err := r.queue.Pop(logger)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return document{"name": nil}, nil
	}
	r.popped[info.Pod.Name] = info
	return poppedDocument(info), nil
}

// fail brings a pod back as Scheduler.handleSchedulingFailure does.
func (r *queueReplay) fail(logger klog.Logger, info *framework.QueuedPodInfo, step *queueStep) {
	info.ClearRejectorPlugins()
	info.UnschedulablePlugins = sets.New(step.UnschedulablePlugins...)
	info.PendingPlugins = sets.New(step.PendingPlugins...)
	pod := r.pod("default/" + step.Name)
	if pod == nil || pod.UID != info.Pod.UID {
		r.queue.Done(info.Pod.UID)
		return
	}
	info.PodInfo, _ = framework.NewPodInfo(pod.DeepCopy())
	r.queue.AddUnschedulableIfNotPresent(logger, info, r.queue.SchedulingCycle())
}

func (r *queueReplay) move(logger klog.Logger, step *queueStep) error {
	var old, changed runtime.Object
	var err error
	if step.Old != nil {
		if old, err = decoded(step.Old); err != nil {
			return err
		}
	}
	if step.New != nil {
		if changed, err = decoded(step.New); err != nil {
			return err
		}
	}
	event := fwk.ClusterEvent{
		Resource: fwk.EventResource(step.Resource), ActionType: actionOf(step.Action),
	}
	r.queue.MoveAllToActiveOrBackoffQueue(logger, event, anyOf(old), anyOf(changed), nil)
	return nil
}

func (r *queueReplay) pod(key string) *v1.Pod {
	found, exists, _ := r.pods.GetByKey(key)
	if !exists {
		return nil
	}
	return found.(*v1.Pod)
}

func podOf(raw json.RawMessage) (*v1.Pod, error) {
	object, err := decoded(raw)
	if err != nil {
		return nil, err
	}
	return object.(*v1.Pod), nil
}

func (r *queueReplay) state(now time.Time) document {
	queue := reflect.ValueOf(r.queue).Elem()
	active := field(field(queue, "activeQ").Elem().Elem(), "queue").Interface().(*heap.Heap[*framework.QueuedPodInfo])
	infos := popOrderOf(active)
	inActive := []string{}
	for _, info := range infos {
		inActive = append(inActive, info.Pod.Name)
	}
	unschedulable, gated := []string{}, []string{}
	waiting := field(field(queue, "unschedulablePods").Elem(), "podInfoMap").Interface()
	for _, info := range waiting.(map[string]*framework.QueuedPodInfo) {
		if info.Gated() {
			gated = append(gated, info.Pod.Name)
		} else {
			unschedulable = append(unschedulable, info.Pod.Name)
		}
	}
	sort.Strings(unschedulable)
	sort.Strings(gated)
	inFlight := []string{}
	for _, pod := range r.queue.InFlightPods() {
		inFlight = append(inFlight, pod.Name)
	}
	sort.Strings(inFlight)
	errors := r.ends("podErrorBackoffQ")
	sort.SliceStable(errors, func(i, j int) bool {
		if errors[i][1] != errors[j][1] {
			return errors[i][1].(int64) < errors[j][1].(int64)
		}
		return errors[i][0].(string) < errors[j][0].(string)
	})
	return document{
		"now": now.Sub(r.start).Nanoseconds(), "active": inActive, "backoff": r.ends("podBackoffQ"),
		"error_backoff": errors, "unschedulable": unschedulable, "gated": gated, "in_flight": inFlight,
		"nominated": r.nominated(),
	}
}

func (r *queueReplay) backoff(name string) *heap.Heap[*framework.QueuedPodInfo] {
	backoff := field(reflect.ValueOf(r.queue).Elem(), "backoffQ").Elem().Elem()
	return field(backoff, name).Interface().(*heap.Heap[*framework.QueuedPodInfo])
}

// ends returns names and ends of backoff in nanoseconds since the start, in the order of pops.
func (r *queueReplay) ends(name string) [][2]any {
	end := func(info *framework.QueuedPodInfo) time.Time {
		return backoffTime(backoffOf(r.queue), info)
	}
	found := [][2]any{}
	for _, info := range popOrderOf(r.backoff(name)) {
		found = append(found, [2]any{info.Pod.Name, end(info).Sub(r.start).Nanoseconds()})
	}
	return found
}

// popOrder is a copy of a heap of pods, in the same arrangement.
type popOrder struct {
	infos []*framework.QueuedPodInfo
	less  heap.LessFunc[*framework.QueuedPodInfo]
}

func (o *popOrder) Len() int           { return len(o.infos) }
func (o *popOrder) Less(i, j int) bool { return o.less(o.infos[i], o.infos[j]) }
func (o *popOrder) Swap(i, j int)      { o.infos[i], o.infos[j] = o.infos[j], o.infos[i] }
func (o *popOrder) Push(any)           { panic("nothing is added") }
func (o *popOrder) Pop() any {
	last := o.infos[len(o.infos)-1]
	o.infos = o.infos[:len(o.infos)-1]
	return last
}

// popOrderOf returns the pods in the order of pops, which follows from the heap if some are equal.
func popOrderOf(pods *heap.Heap[*framework.QueuedPodInfo]) []*framework.QueuedPodInfo {
	data := field(reflect.ValueOf(pods).Elem(), "data").Elem()
	order := &popOrder{less: field(data, "lessFunc").Interface().(heap.LessFunc[*framework.QueuedPodInfo])}
	for _, key := range field(data, "queue").Interface().([]string) {
		info, _ := pods.GetByKey(key)
		order.infos = append(order.infos, info)
	}
	found := []*framework.QueuedPodInfo{}
	for order.Len() > 0 {
		found = append(found, containerheap.Pop(order).(*framework.QueuedPodInfo))
	}
	return found
}

func (r *queueReplay) nominated() map[string][]string {
	found := map[string][]string{}
	nominator := field(reflect.ValueOf(r.queue).Elem(), "nominator").Elem()
	nodes := field(nominator, "nominatedPodToNode").Interface().(map[types.UID]string)
	for uid, node := range nodes {
		if node != "" {
			name, ok := r.names[uid]
			if !ok {
				name = strings.TrimPrefix(string(uid), "u-")
			}
			found[node] = append(found[node], name)
		}
	}
	for node := range found {
		sort.Strings(found[node])
	}
	return found
}
