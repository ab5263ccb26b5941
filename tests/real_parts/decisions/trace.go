package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"reflect"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/utils/clock"
)

// settled is longer than everything takes that a step starts, and shorter than a millisecond.
const settled = 900 * time.Microsecond

type traceCase struct {
	Config  json.RawMessage   `json:"config"`
	Script  traceScript       `json:"script"`
	Start   time.Time         `json:"start"`
	Objects []json.RawMessage `json:"objects"`
	Steps   []traceStep       `json:"steps"`
}

type traceScript struct {
	API          []*callRule                                `json:"api"`
	GraceSeconds *float64                                   `json:"grace_seconds"`
	StartsByName bool                                       `json:"starts_by_name"`
	Plugins      map[string]map[string]map[string][]outcome `json:"plugins"`
}

type traceStep struct {
	Op      string          `json:"op"`
	Seconds float64         `json:"dt"`
	Object  json.RawMessage `json:"object"`
	Kind    string          `json:"kind"`
	Name    string          `json:"name"`
	Plugin  string          `json:"plugin"`
	Message string          `json:"message"`
}

// trace is the whole scheduler with an API server in memory, in a bubble of virtual time.
type trace struct {
	ctx       context.Context
	server    *traceServer
	scheduler *scheduler.Scheduler
	queue     *internalqueue.PriorityQueue
	snapshot  *internalcache.Snapshot
	view      *queueReplay
	start     time.Time
	popped    document
	samples   bool

	mutex    sync.Mutex
	attempts []document
	calls    map[string][]document
	plugins  map[string][][]string
	events   map[string][]document
	flushed  []string
}

// inBubble runs a function in virtual time, which needs a test.
func inBubble(run func()) {
	synctest.Test(program, func(*testing.T) { run() })
}

// outsideBubbles starts what the process has once, and what would never end in a bubble.
var outsideBubbles = sync.OnceValue(func() error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	_, err := defaultScheduler()
	return err
})

// replayTrace answers the families of traces with the field `expect` of each step, in a list.
func replayTrace(line []byte) (any, error) {
	var given traceCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	if err := outsideBubbles(); err != nil {
		return nil, err
	}
	states, err := []document{}, errors.New("the trace has not ended")
	inBubble(func() {
		states, err = runTrace(&given)
	})
	return document{"steps": states}, err
}

func runTrace(given *traceCase) (states []document, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &trace{start: given.Start}
	t.forget()
	t.ctx = klog.NewContext(ctx, logr.New(&flushSink{trace: t}))
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
		t.forget()
		cancel()
		if t.queue != nil {
			t.queue.Close()
		}
		// Whatever waits at permit or in a call ends by itself.
		time.Sleep(24 * time.Hour)
	}()
	if err := t.begin(given); err != nil {
		return nil, err
	}
	now := given.Start
	for i := range given.Steps {
		now = now.Add(time.Duration(math.Round(given.Steps[i].Seconds*1e6)) * time.Microsecond)
		t.forget()
		time.Sleep(time.Until(now))
		if err := t.do(&given.Steps[i]); err != nil {
			return nil, err
		}
		synctest.Wait()
		time.Sleep(time.Until(now.Add(settled)))
		synctest.Wait()
		states = append(states, t.expect(now))
	}
	return states, nil
}

func (t *trace) begin(given *traceCase) error {
	t.server = newTraceServer(t, &given.Script)
	options, err := optionsOf(given.Config)
	if err != nil {
		return err
	}
	times := &strictClock{}
	options = append(options, scheduler.WithParallelism(1), scheduler.WithClock(times),
		scheduler.WithFrameworkOutOfTreeRegistry(t.stubs(given.Script.Plugins)))
	percentage := int32(100)
	sampled, err := percentageOf(given.Config)
	if err != nil {
		return err
	}
	if t.samples = sampled != nil; t.samples {
		percentage = *sampled
	}
	options = append(options, scheduler.WithPercentageOfNodesToScore(&percentage))
	informers := scheduler.NewInformerFactory(t.server, 0)
	recorders := func(string) events.EventRecorderLogger { return &traceRecorder{trace: t} }
	t.scheduler, err = scheduler.New(t.ctx, t.server, informers, nil, recorders, options...)
	if err != nil {
		return err
	}
	informers.Start(t.ctx.Done())
	informers.WaitForCacheSync(t.ctx.Done())
	if err := t.scheduler.WaitForHandlersSync(t.ctx); err != nil {
		return err
	}
	t.queue = t.scheduler.SchedulingQueue.(*internalqueue.PriorityQueue)
	t.scheduler.SchedulingQueue = &queueByName{PriorityQueue: t.queue, trace: t}
	var anyProfile framework.Framework
	for _, each := range t.scheduler.Profiles {
		anyProfile = each
	}
	t.snapshot = anyProfile.SnapshotSharedLister().(*internalcache.Snapshot)
	t.view = &queueReplay{start: t.start, queue: t.queue, less: anyProfile.QueueSortFunc(), names: t.server.names}
	t.observe()
	fail := t.scheduler.FailureHandler
	t.scheduler.FailureHandler = func(
		ctx context.Context, profile framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time,
	) {
		times.add(1)
		defer times.add(-1)
		fail(ctx, profile, info, status, nominating, start)
	}
	for _, raw := range given.Objects {
		object, err := decoded(raw)
		if err != nil {
			return err
		}
		t.server.put(object)
		synctest.Wait()
	}
	time.Sleep(time.Until(t.start))
	synctest.Wait()
	t.forget()
	return nil
}

// strictClock does not show one time twice while pods come back to the queue: of those that fail
// at one instant the first is first.
type strictClock struct {
	clock.RealClock
	mutex  sync.Mutex
	strict int
	last   time.Time
}

func (c *strictClock) add(strict int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.strict += strict
}

func (c *strictClock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := time.Now()
	if c.strict == 0 {
		return now
	}
	if !now.After(c.last) {
		now = c.last.Add(time.Nanosecond)
	}
	c.last = now
	return now
}

// percentageOf returns the share of nodes that a configuration samples; nil if it does not.
func percentageOf(raw json.RawMessage) (*int32, error) {
	var config struct {
		Percentage *int32 `json:"percentageOfNodesToScore"`
	}
	if len(raw) == 0 {
		return nil, nil
	}
	err := json.Unmarshal(raw, &config)
	return config.Percentage, err
}

// observe records what the scheduler pops and decides.
func (t *trace) observe() {
	next := t.scheduler.NextPod
	t.scheduler.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		info, err := next(logger)
		if info != nil {
			t.popped = poppedDocument(info)
		}
		return info, err
	}
	decide := t.scheduler.SchedulePod
	t.scheduler.SchedulePod = func(
		ctx context.Context, profile framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo,
	) (scheduler.ScheduleResult, error) {
		attempt := document{"pod": objectKey(info.Pod)}
		if !t.samples {
			attempt = t.evaluate(profile, info.Pod)
		}
		batching := &observedBatching{Framework: profile}
		t.flushed = nil
		result, err := decide(ctx, batching, state, info)
		if t.samples {
			attempt["feasible"] = result.FeasibleNodes
			attempt["next_start"] = field(reflect.ValueOf(t.scheduler).Elem(), "nextStartNodeIndex").Int()
		}
		attempt["chosen"] = nil
		var unfit *framework.FitError
		switch {
		case err == nil:
			attempt["chosen"] = result.SuggestedHost
		case !errors.As(err, &unfit) && !errors.Is(err, scheduler.ErrNoNodesAvailable):
			attempt["error"] = err.Error()
		}
		batch := document{}
		if batching.hint != "" {
			batch["hint"], batch["used"] = batching.hint, batching.hint == result.SuggestedHost
		}
		if len(t.flushed) > 0 {
			batch["flush"] = t.flushed
		}
		attempt["batch"] = batch
		t.attempts = append(t.attempts, attempt)
		return result, err
	}
}

// evaluate runs the filters on all nodes and the scores, beside the scheduler.
func (t *trace) evaluate(profile framework.Framework, pod *v1.Pod) document {
	attempt := document{"pod": pod.Namespace + "/" + pod.Name, "feasible": 0, "winners": []string{}}
	nodes, err := t.snapshot.ListNodesInPlacement()
	if err != nil {
		return attempt
	}
	ctx := klog.NewContext(t.ctx, klog.Logger{})
	c := &cluster{framework: profile, pod: pod, nodes: nodes, snapshot: t.snapshot}
	a := c.filter(ctx, nodes)
	if pod.Status.NominatedNodeName != "" && a.preFilter.IsSuccess() {
		c.preferNominated(ctx, a)
	}
	attempt["feasible"] = len(a.feasible)
	if len(a.feasible) == 0 {
		return attempt
	}
	found := document{}
	winners, err := c.score(ctx, a, found)
	if err != nil {
		return attempt
	}
	attempt["winners"] = winners
	if totals, ok := found["total"].(map[string]int64); ok {
		attempt["max_score"] = totals[winners[0]]
	}
	return attempt
}

// observedBatching remembers the hint.
type observedBatching struct {
	framework.Framework
	hint string
}

func (o *observedBatching) GetNodeHint(
	ctx context.Context, pod *v1.Pod, signature fwk.PodSignature, state fwk.CycleState, cycle int64,
) string {
	o.hint = o.Framework.GetNodeHint(ctx, pod, signature, state, cycle)
	return o.hint
}

// flushSink is a logger for the reasons why results of batching are not usable.
type flushSink struct{ trace *trace }

func (s *flushSink) Init(logr.RuntimeInfo)          {}
func (s *flushSink) Enabled(level int) bool         { return level <= 4 }
func (s *flushSink) Error(error, string, ...any)    {}
func (s *flushSink) WithValues(...any) logr.LogSink { return s }
func (s *flushSink) WithName(string) logr.LogSink   { return s }
func (s *flushSink) Info(_ int, text string, kv ...any) {
	if text != "OpportunisticBatch found unusable state" {
		return
	}
	for i := 0; i+1 < len(kv); i += 2 {
		if kv[i] == "reason" {
			s.trace.flushed = append(s.trace.flushed, fmt.Sprint(kv[i+1]))
		}
	}
}

// queueByName pops the other pods of a group by name, where upstream has the order of a map.
type queueByName struct {
	*internalqueue.PriorityQueue
	trace *trace
	group types.UID
	left  []*v1.Pod
}

func (q *queueByName) PopSpecificPod(logger klog.Logger, pod *v1.Pod) *framework.QueuedPodInfo {
	if len(q.left) == 0 {
		state, err := q.trace.scheduler.Cache.PodGroupStates().Get(
			pod.Namespace, *pod.Spec.SchedulingGroup.PodGroupName)
		if err != nil {
			return q.PriorityQueue.PopSpecificPod(logger, pod)
		}
		for _, each := range state.UnscheduledPods() {
			if each.Name != q.trace.popped["name"] {
				q.left = append(q.left, each)
			}
		}
		sort.Slice(q.left, func(i, j int) bool { return q.left[i].Name < q.left[j].Name })
	}
	next := q.left[0]
	q.left = q.left[1:]
	return q.PriorityQueue.PopSpecificPod(logger, next)
}

// traceRecorder notes Events.
type traceRecorder struct {
	events.FakeRecorder
	trace *trace
}

func (r *traceRecorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

func (r *traceRecorder) Eventf(about, related runtime.Object, kind, reason, action, note string, args ...any) {
	event := document{"type": kind, "reason": reason, "action": action, "note": fmt.Sprintf(note, args...)}
	if related != nil && !reflect.ValueOf(related).IsNil() {
		event["related"] = objectKey(related)
	}
	r.trace.mutex.Lock()
	defer r.trace.mutex.Unlock()
	key := objectKey(about)
	r.trace.events[key] = append(r.trace.events[key], event)
}

func objectKey(object runtime.Object) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	if accessor.GetNamespace() == "" {
		return accessor.GetName()
	}
	return accessor.GetNamespace() + "/" + accessor.GetName()
}

func (t *trace) forget() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.popped, t.attempts = nil, nil
	t.calls, t.plugins = map[string][]document{}, map[string][][]string{}
	t.events = map[string][]document{}
}

func (t *trace) do(step *traceStep) error {
	logger := klog.FromContext(t.ctx)
	switch step.Op {
	case "create", "update":
		object, err := decoded(step.Object)
		if err != nil {
			return err
		}
		if step.Op == "update" {
			t.server.replace(object)
		} else {
			t.server.put(object)
		}
	case "delete":
		kind := step.Kind
		if kind == "" {
			kind = "Pod"
		}
		t.server.remove(kind, step.Name)
	case "terminate":
		t.server.terminate(step.Name)
	case "reap":
		t.server.reap()
	case "cycle":
		t.popped = document{"name": nil}
		if len(t.queue.PodsInActiveQ()) > 0 || t.view.backoff("podBackoffQ").Len() > 0 {
			t.scheduler.ScheduleOne(t.ctx)
			t.scheduler.SchedulingQueue.(*queueByName).left = nil
		}
	case "flush_backoff":
		flushBackoff(t.queue, logger)
	case "flush_unschedulable":
		flushUnschedulable(t.queue, logger)
	case "allow", "reject":
		t.decideWaiting(step)
	case "tick":
	default:
		return fmt.Errorf("unknown step %q", step.Op)
	}
	return nil
}

func (t *trace) decideWaiting(step *traceStep) {
	t.eachWaiting(func(pod fwk.WaitingPod) {
		if objectKey(pod.GetPod()) != step.Name {
			return
		}
		if step.Op == "allow" {
			pod.Allow(step.Plugin)
		} else {
			pod.Reject(step.Plugin, step.Message)
		}
	})
}

func (t *trace) eachWaiting(do func(fwk.WaitingPod)) {
	for _, profile := range t.scheduler.Profiles {
		// All profiles share the waiting pods.
		profile.IterateOverWaitingPods(do)
		return
	}
}

func (t *trace) expect(now time.Time) document {
	found := t.view.state(now)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.popped != nil {
		found["pop"] = t.popped
	}
	for field, happened := range map[string]int{
		"attempts": len(t.attempts), "calls": len(t.calls), "events": len(t.events), "plugin_calls": len(t.plugins),
	} {
		if happened == 0 {
			continue
		}
		found[field] = map[string]any{
			"attempts": t.attempts, "calls": t.calls, "events": t.events, "plugin_calls": t.plugins,
		}[field]
	}
	waiting := map[string][]string{}
	t.eachWaiting(func(pod fwk.WaitingPod) {
		pending := pod.GetPendingPlugins()
		sort.Strings(pending)
		waiting[objectKey(pod.GetPod())] = pending
	})
	found["waiting"] = waiting
	dump := t.scheduler.Cache.Dump()
	assumed := map[string]string{}
	for node, info := range dump.Nodes {
		for _, each := range info.GetPods() {
			if dump.AssumedPods.Has(string(each.GetPod().UID)) {
				assumed[objectKey(each.GetPod())] = node
			}
		}
	}
	found["assumed"], found["preempting"] = assumed, t.preempting()
	return found
}

func (t *trace) preempting() []string {
	found := sets.New[string]()
	for _, profile := range t.scheduler.Profiles {
		plugins := field(reflect.ValueOf(profile).Elem(), "postFilterPlugins")
		for _, plugin := range plugins.Interface().([]fwk.PostFilterPlugin) {
			preemption, ok := plugin.(*defaultpreemption.DefaultPreemption)
			if !ok {
				continue
			}
			executor := reflect.ValueOf(preemption.Executor).Elem()
			for uid := range field(executor, "preempting").Interface().(sets.Set[types.UID]) {
				found.Insert(t.server.keyOf(uid))
			}
		}
	}
	return sets.List(found)
}

func poppedDocument(info *framework.QueuedPodInfo) document {
	found := document{"name": info.Pod.Name}
	for field, count := range map[string]int{
		"attempts": info.Attempts, "unschedulable_count": info.UnschedulableCount,
		"consecutive_errors": info.ConsecutiveErrorsCount,
	} {
		if count != 0 {
			found[field] = count
		}
	}
	if info.WasFlushedFromUnschedulable {
		found["was_flushed"] = true
	}
	return found
}

// digitsOf returns the number that the digits of a name form.
func digitsOf(name string) int {
	number := 0
	for _, each := range name[strings.LastIndex(name, "/")+1:] {
		if each >= '0' && each <= '9' {
			number = number*10 + int(each-'0')
		}
	}
	return number
}
