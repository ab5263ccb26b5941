// Numbers of replicas by the horizontal autoscaler of kube-controller-manager.
//
// The program reads a JSON document a line and writes one for each. A document with a `spec` is
// about its limits: how far the proposed number of replicas may be followed. All others are about
// what a resource metric asks for. The times of a document are relative to its `now`.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"time"
	"unsafe"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

type question struct {
	Now     metav1.Time `json:"now"`
	Current int32       `json:"current"`

	Pods        []*v1.Pod        `json:"pods"`
	Metrics     map[string]int64 `json:"metrics"`
	Resource    v1.ResourceName  `json:"resource"`
	Container   string           `json:"container"`
	Utilization *int32           `json:"utilization"`
	Average     int64            `json:"average"`
	Tolerances  [2]float64       `json:"tolerances"`

	Spec            *autoscalingv2.HorizontalPodAutoscalerSpec `json:"spec"`
	Proposed        int32                                      `json:"proposed"`
	Recommendations [][2]int32                                 `json:"recommendations"`
	Changes         [][2]int32                                 `json:"changes"`
}

type answer struct {
	Replicas    int32     `json:"replicas"`
	Average     int64     `json:"average,omitempty"`
	Utilization *int32    `json:"utilization,omitempty"`
	Reasons     [3]string `json:"reasons,omitzero"`
	Error       string    `json:"error,omitempty"`
}

const key = "default/web"

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<24)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var given question
		if err := json.Unmarshal(input.Bytes(), &given); err != nil {
			panic(err)
		}
		found := proposed(given)
		if given.Spec != nil {
			found = limited(given)
		}
		if err := output.Encode(found); err != nil {
			panic(err)
		}
	}
}

// measured has the metrics of resources, and no others.
type measured struct {
	metrics.MetricsClient
	values map[string]int64
}

func (m measured) GetResourceMetric(_ context.Context, _ v1.ResourceName, _ string, _ labels.Selector, _ string) (metrics.PodMetricsInfo, time.Time, error) {
	found := metrics.PodMetricsInfo{}
	now := time.Now()
	for name, value := range m.values {
		found[name] = metrics.PodMetric{Timestamp: now, Window: 15 * time.Second, Value: value}
	}
	return found, now, nil
}

func proposed(given question) answer {
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	shift := time.Since(given.Now.Time)
	for _, pod := range given.Pods {
		if pod.Status.StartTime != nil {
			pod.Status.StartTime.Time = pod.Status.StartTime.Add(shift)
		}
		for i := range pod.Status.Conditions {
			since := &pod.Status.Conditions[i].LastTransitionTime
			since.Time = since.Add(shift)
		}
		if err := pods.Add(pod); err != nil {
			panic(err)
		}
	}
	calculator := podautoscaler.NewReplicaCalculator(measured{values: given.Metrics}, corelisters.NewPodLister(pods), 5*time.Minute, 30*time.Second)
	// Its fields are private: for scaling down and up.
	tolerances := *(*podautoscaler.Tolerances)(unsafe.Pointer(&given.Tolerances))
	var found answer
	var err error
	if given.Utilization == nil {
		found.Replicas, found.Average, _, err = calculator.GetRawResourceReplicas(context.Background(), given.Current, given.Average, given.Resource, tolerances, "default", labels.Everything(), given.Container)
	} else {
		var utilization int32
		found.Replicas, utilization, found.Average, _, err = calculator.GetResourceReplicas(context.Background(), given.Current, *given.Utilization, given.Resource, tolerances, "default", labels.Everything(), given.Container)
		found.Utilization = &utilization
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return found
}

//go:linkname withoutBehavior k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).normalizeDesiredReplicas
func withoutBehavior(controller *podautoscaler.HorizontalController, hpa *autoscalingv2.HorizontalPodAutoscaler, key string, current, proposed, least int32) int32

//go:linkname withBehavior k8s.io/kubernetes/pkg/controller/podautoscaler.(*HorizontalController).normalizeDesiredReplicasWithBehaviors
func withBehavior(controller *podautoscaler.HorizontalController, hpa *autoscalingv2.HorizontalPodAutoscaler, key string, current, proposed, least int32) int32

func limited(given question) answer {
	controller := &podautoscaler.HorizontalController{}
	fields := reflect.ValueOf(controller).Elem()
	writable(fields.FieldByName("downscaleStabilisationWindow")).SetInt(int64(5 * time.Minute))
	var ups, downs [][2]int32
	for _, change := range given.Changes {
		if change[1] > 0 {
			ups = append(ups, change)
		} else {
			downs = append(downs, [2]int32{change[0], -change[1]})
		}
	}
	set(fields.FieldByName("recommendations"), given.Recommendations)
	set(fields.FieldByName("scaleUpEvents"), ups)
	set(fields.FieldByName("scaleDownEvents"), downs)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{Spec: *given.Spec}
	normalized := withoutBehavior
	if given.Spec.Behavior != nil {
		normalized = withBehavior
	}
	least := int32(1)
	if given.Spec.MinReplicas != nil {
		least = *given.Spec.MinReplicas
	}
	found := answer{Replicas: normalized(controller, hpa, key, given.Current, given.Proposed, least)}
	for _, condition := range hpa.Status.Conditions {
		if condition.Type == autoscalingv2.ScalingLimited {
			found.Reasons[1], found.Reasons[2] = string(condition.Status), condition.Reason
		} else {
			found.Reasons[0] = condition.Reason
		}
	}
	return found
}

func writable(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
}

// set writes a private map: for the key a list of structs of a number and the time some seconds ago.
func set(field reflect.Value, entries [][2]int32) {
	list := reflect.MakeSlice(field.Type().Elem(), len(entries), len(entries))
	for i, entry := range entries {
		writable(list.Index(i).Field(0)).SetInt(int64(entry[1]))
		at := time.Now().Add(-time.Duration(entry[0]) * time.Second)
		writable(list.Index(i).Field(1)).Set(reflect.ValueOf(at))
	}
	found := reflect.MakeMap(field.Type())
	found.SetMapIndex(reflect.ValueOf(key), list)
	writable(field).Set(found)
}
