package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// decideSingle answers with `expect` of the families of single decisions: the scheduler's own
// SchedulePod and PostFilter decide, and the plugins are run again for what it does not return.
// Of preemption it has the nominated node, and the candidates of all nodes.
func (c *cluster) decideSingle(ctx context.Context) (any, error) {
	if c.framework == nil {
		return document{"ignored": true, "feasible": []string{}, "winners": []string{}}, nil
	}
	expect := document{"feasible": []string{}, "winners": []string{}}
	for _, plugin := range c.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, c.pod); !status.IsSuccess() {
			expect["pre_enqueue"] = statusDocument(status, plugin.Name())
			return expect, nil
		}
	}
	podInfo, err := framework.NewPodInfo(c.pod)
	if err != nil {
		return nil, err
	}
	queued := &framework.QueuedPodInfo{PodInfo: podInfo}
	state := framework.NewCycleState()
	result, err := c.scheduler.SchedulePod(ctx, c.framework, state, queued)
	if errors.Is(err, scheduler.ErrNoNodesAvailable) {
		expect["message"] = err.Error()
		return expect, nil
	}
	a := c.filter(ctx, c.nodes)
	expect["prefilter"] = preFilterDocument(a)
	expect["skipped_filter"] = sets.List(a.state.GetSkipFilterPlugins())
	var unfit *framework.FitError
	if errors.As(err, &unfit) {
		c.rejectSingle(ctx, state, unfit, expect)
		return expect, nil
	}
	if err != nil && (!a.preFilter.IsSuccess() || len(a.failed) > 0) {
		expect["error"] = err.Error()
		texts := sets.New[string]()
		for _, status := range a.failed {
			texts.Insert(status.AsError().Error())
		}
		// The node that fails first is reported: any of them.
		expect["varies"] = texts.Len() > 1
		return expect, nil
	}
	c.preferNominated(ctx, a)
	expect["feasible"] = namesOf(a.feasible)
	if len(a.rejected) > 0 {
		expect["filter"] = rejectedDocument(a.rejected)
	}
	winners, scoreErr := c.score(ctx, a, expect)
	if scoreErr != nil {
		expect["error"] = scoreErr.Error()
		return expect, nil
	}
	if err != nil {
		return nil, fmt.Errorf("only the scheduler fails: %w", err)
	}
	expect["winners"] = winners
	if c.framework.HasScorePlugins() {
		if result.FeasibleNodes != len(a.feasible) || !slices.Contains(winners, result.SuggestedHost) {
			return nil, fmt.Errorf("%v is not one of %v", result, winners)
		}
	}
	return expect, nil
}

// preferNominated leaves the pod's nominated node alone if it is feasible.
func (c *cluster) preferNominated(ctx context.Context, a *attempt) {
	nominated, err := c.snapshot.Get(c.pod.Status.NominatedNodeName)
	if err != nil {
		return
	}
	if c.framework.RunFilterPluginsWithNominatedPods(ctx, a.state, c.pod, nominated).IsSuccess() {
		a.feasible = []fwk.NodeInfo{nominated}
		a.rejected = nil
	}
}

// fixedReasons come first in the reasons of NodeResourcesFit; the others are in map order.
var fixedReasons = []string{
	"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage",
}

func rejectedDocument(statuses map[string]*fwk.Status) document {
	found := document{}
	for name, status := range statuses {
		given := statusDocument(status, status.Plugin())
		if status.Plugin() == "" {
			// An extender has rejected the node.
			delete(given, "plugin")
		}
		if status.Plugin() == names.NodeResourcesFit {
			reasons := slices.Sorted(slices.Values(status.Reasons()))
			fixed := slices.DeleteFunc(slices.Clone(fixedReasons), func(each string) bool {
				return !slices.Contains(reasons, each)
			})
			reasons = slices.DeleteFunc(reasons, func(each string) bool {
				return slices.Contains(fixed, each)
			})
			given["reasons"] = slices.Concat(fixed, reasons)
		}
		found[name] = given
	}
	return found
}

// rejectSingle runs PostFilter as the scheduler does for a pod that fits nowhere.
func (c *cluster) rejectSingle(
	ctx context.Context, state fwk.CycleState, unfit *framework.FitError, expect document,
) {
	diagnosis := &unfit.Diagnosis
	rejected := map[string]*fwk.Status{}
	diagnosis.NodeToStatus.ForEachExplicitNode(func(name string, status *fwk.Status) {
		rejected[name] = status
	})
	if len(rejected) > 0 {
		expect["filter"] = rejectedDocument(rejected)
	}
	expect["unschedulable_plugins"] = sets.List(diagnosis.UnschedulablePlugins)
	if c.framework.HasPostFilterPlugins() {
		candidates := c.candidates(ctx, state, diagnosis.NodeToStatus)
		found, status := c.framework.RunPostFilterPlugins(ctx, state, c.pod, diagnosis.NodeToStatus)
		diagnosis.PostFilterMsg = status.Message()
		preemption := document{
			"status": status.Code().String(), "message": status.Message(), "nominated_node": nil,
		}
		if found != nil && found.Mode() == fwk.ModeOverride {
			preemption["nominated_node"] = found.NominatedNodeName
		}
		if status.IsSuccess() {
			preemption["candidates"] = candidates
		}
		expect["preemption"] = preemption
	}
	expect["message"] = unfit.Error()
}

// candidates runs the dry run of DefaultPreemption on every node that may help.
func (c *cluster) candidates(
	ctx context.Context, state fwk.CycleState, statuses *framework.NodeToStatus,
) document {
	found := document{}
	plugins := field(reflect.ValueOf(c.framework).Elem(), "postFilterPlugins")
	for _, plugin := range plugins.Interface().([]fwk.PostFilterPlugin) {
		preemption, ok := plugin.(*defaultpreemption.DefaultPreemption)
		if !ok {
			continue
		}
		nodes, err := statuses.NodesForStatusCode(c.snapshot, fwk.Unschedulable)
		if err != nil {
			continue
		}
		budgets, err := preemption.Evaluator.PdbLister.List(labels.Everything())
		if err != nil {
			continue
		}
		each, _, _ := preemption.Evaluator.DryRunPreemption(
			ctx, state, c.pod, nodes, budgets, 0, int32(len(nodes)))
		for _, candidate := range each {
			victims := candidate.Victims()
			found[candidate.Name()] = document{
				"victims": podKeysOf(victims.Pods), "pdb_violations": victims.NumPDBViolations,
			}
		}
	}
	return found
}

func podKeysOf(pods []*v1.Pod) []string {
	keys := []string{}
	for _, pod := range pods {
		keys = append(keys, pod.Namespace+"/"+pod.Name)
	}
	return keys
}
