package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type hintsCase struct {
	Objects []json.RawMessage `json:"objects"`
	Pod     json.RawMessage   `json:"pod"`
	Change  struct {
		Old json.RawMessage `json:"old"`
		New json.RawMessage `json:"new"`
	} `json:"change"`
}

// answerHints answers a change with the field `expect` of family hints.
func answerHints(line []byte) (any, error) {
	var given hintsCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	defer cancel()
	object, err := decoded(given.Pod)
	if err != nil {
		return nil, err
	}
	pod := object.(*v1.Pod)
	var old, changed runtime.Object
	if given.Change.Old != nil {
		if old, err = decoded(given.Change.Old); err != nil {
			return nil, err
		}
	}
	objects := given.Objects
	if given.Change.New != nil {
		if changed, err = decoded(given.Change.New); err != nil {
			return nil, err
		}
		// The informers have the new version before the hints run.
		objects = append(objects, given.Change.New)
	}
	if newer, ok := changed.(*v1.Pod); ok && newer.UID == pod.UID {
		pod = newer
	}
	built, err := startedScheduler(ctx, objects)
	if err != nil {
		return nil, err
	}
	hints := hintsOf(built)[pod.Spec.SchedulerName]
	found := []document{}
	for _, event := range eventsOf(old, changed) {
		answers := document{}
		for registered, functions := range hints {
			if !framework.MatchClusterEvents(registered, event) {
				continue
			}
			for _, function := range functions {
				answer := "Skip"
				// A nil object in an interface is not nil.
				hint, err := function.QueueingHintFn(klog.FromContext(ctx), pod, anyOf(old), anyOf(changed))
				if err != nil {
					answer = "Error"
				} else if hint == fwk.Queue {
					answer = "Queue"
				}
				if answers[function.PluginName] != "Queue" {
					answers[function.PluginName] = answer
				}
			}
		}
		found = append(found, document{
			"resource": string(event.Resource), "action": event.ActionType.String(), "hints": answers,
		})
	}
	return document{"events": found}, nil
}

func anyOf(object runtime.Object) any {
	if object == nil {
		return nil
	}
	return object
}

// startedScheduler returns a scheduler of the default configuration whose informers have objects.
func startedScheduler(ctx context.Context, raw []json.RawMessage) (*scheduler.Scheduler, error) {
	objects, err := storedObjects(raw)
	if err != nil {
		return nil, err
	}
	return informedScheduler(ctx, fake.NewSimpleClientset(objects...), &recorder{})
}

func hintsOf(built *scheduler.Scheduler) internalqueue.QueueingHintMapPerProfile {
	queue := reflect.ValueOf(built.SchedulingQueue).Elem()
	return field(queue, "queueingHintMap").Interface().(internalqueue.QueueingHintMapPerProfile)
}

// eventsOf returns the cluster events of a change, as the event handlers of the scheduler do.
func eventsOf(old, changed runtime.Object) []fwk.ClusterEvent {
	switch changed := changed.(type) {
	case *v1.Pod:
		before, _ := old.(*v1.Pod)
		switch {
		case before == nil && changed.Spec.NodeName == "":
			return nil
		case before == nil || before.Spec.NodeName == "" && changed.Spec.NodeName != "":
			return []fwk.ClusterEvent{framework.EventAssignedPodAdd}
		}
		return framework.PodSchedulingPropertiesChange(changed, before)
	case *v1.Node:
		if old != nil {
			return framework.NodeSchedulingPropertiesChange(changed, old.(*v1.Node))
		}
	}
	event := fwk.ClusterEvent{ActionType: fwk.Update}
	object := changed
	if changed == nil {
		object, event.ActionType = old, fwk.Delete
	} else if old == nil {
		event.ActionType = fwk.Add
	}
	if _, ok := object.(*v1.Pod); ok {
		return []fwk.ClusterEvent{framework.EventAssignedPodDelete}
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		panic(fmt.Sprintf("%T: %v", object, err))
	}
	event.Resource = fwk.EventResource(kinds[0].Kind)
	if kinds[0].Group != "" {
		event.Resource = fwk.EventResource(kinds[0].Group + "/" + kinds[0].Kind)
	}
	return []fwk.ClusterEvent{event}
}
