package main

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/topologyaware"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// outcome is what a scripted plugin returns once.
type outcome struct {
	Status  string  `json:"status"`
	Message string  `json:"message"`
	Timeout float64 `json:"timeout"`
	Delay   float64 `json:"delay"`
}

// scripted is a plugin whose results are in the trace, by extension point and pod.
type scripted struct {
	name     string
	trace    *trace
	outcomes map[string]map[string][]outcome
}

type stub struct{ scripted }

type stubBind struct{ scripted }

func (t *trace) stubs(given map[string]map[string]map[string][]outcome) frameworkruntime.Registry {
	registry := frameworkruntime.Registry{}
	for _, name := range []string{"StubA", "StubB", "StubBind"} {
		played := scripted{name: name, trace: t, outcomes: given[name]}
		registry[name] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			if name == "StubBind" {
				return &stubBind{played}, nil
			}
			return &stub{played}, nil
		}
	}
	registry[placementsByName] = func(
		ctx context.Context, arguments runtime.Object, handle fwk.Handle,
	) (fwk.Plugin, error) {
		plugin, err := topologyaware.New(ctx, arguments, handle, feature.Features{})
		return &orderedPlacements{plugin}, err
	}
	return registry
}

const placementsByName = "PlacementsByName"

// orderedPlacements returns the placements of upstream's plugin, which has them in the order of a
// map, in the order of their names.
type orderedPlacements struct{ *topologyaware.TopologyPlacement }

func (o *orderedPlacements) Name() string { return placementsByName }

func (o *orderedPlacements) GeneratePlacements(
	ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, parent *fwk.Placement,
) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	result, status := o.TopologyPlacement.GeneratePlacements(ctx, state, group, parent)
	if result != nil {
		slices.SortFunc(result.Placements, func(one, other *fwk.Placement) int {
			return strings.Compare(one.Name, other.Name)
		})
	}
	return result, status
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) note(pod *v1.Pod, point, node string) {
	s.trace.mutex.Lock()
	defer s.trace.mutex.Unlock()
	key := objectKey(pod)
	s.trace.plugins[key] = append(s.trace.plugins[key], []string{s.name, point, node})
}

func (s *scripted) play(pod *v1.Pod, point, node, atEnd string) outcome {
	s.note(pod, point, node)
	s.trace.mutex.Lock()
	defer s.trace.mutex.Unlock()
	byPod := s.outcomes[point]
	left, ok := byPod[objectKey(pod)]
	if !ok {
		left = byPod["*"]
	}
	if byPod == nil || len(left) == 0 {
		return outcome{Status: atEnd}
	}
	byPod[objectKey(pod)] = left[1:]
	return left[0]
}

func (o outcome) status() *fwk.Status {
	for code := fwk.Success; code <= fwk.Pending; code++ {
		if code.String() == o.Status {
			if o.Message == "" {
				return fwk.NewStatus(code)
			}
			return fwk.NewStatus(code, o.Message)
		}
	}
	panic("unknown status " + o.Status)
}

func seconds(amount float64) time.Duration {
	return time.Duration(math.Round(amount*1e6)) * time.Microsecond
}

// after waits as long as the outcome takes.
func (o outcome) after(ctx context.Context) *fwk.Status {
	if o.Delay > 0 {
		select {
		case <-time.After(seconds(o.Delay)):
		case <-ctx.Done():
			return fwk.AsStatus(context.Cause(ctx))
		}
	}
	return o.status()
}

func (s *stub) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	return s.play(pod, "reserve", node, "Success").status()
}

func (s *stub) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) {
	s.note(pod, "unreserve", node)
}

func (s *stub) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) (*fwk.Status, time.Duration) {
	played := s.play(pod, "permit", node, "Success")
	return played.status(), seconds(played.Timeout)
}

func (s *stub) PreBindPreFlight(
	_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string,
) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return nil, s.play(pod, "pre_bind_pre_flight", node, "Success").status()
}

func (s *stub) PreBind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	return s.play(pod, "pre_bind", node, "Success").after(ctx)
}

func (s *stub) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) {
	s.note(pod, "post_bind", node)
}

func (s *stubBind) Bind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	return s.play(pod, "bind", node, "Skip").after(ctx)
}
