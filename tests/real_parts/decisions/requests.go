package main

import (
	"encoding/json"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// parseQuantities answers texts with the field `expect` of family quantities, in a document.
func parseQuantities(line []byte) (any, error) {
	var given struct {
		Quantities []string `json:"quantities"`
	}
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	found := []document{}
	for _, text := range given.Quantities {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			found = append(found, document{"error": true})
			continue
		}
		found = append(found, document{
			"value": strconv.FormatInt(quantity.Value(), 10), "milli": strconv.FormatInt(quantity.MilliValue(), 10),
		})
	}
	return document{"quantities": found}, nil
}

// sumRequests answers a pod with the field `expect` of family pod_requests.
func sumRequests(line []byte) (any, error) {
	var given struct {
		Pod json.RawMessage `json:"pod"`
	}
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	pod, err := podOf(given.Pod)
	if err != nil {
		return nil, err
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, err
	}
	assigned := info.CalculateResource()
	onNode := assigned.Resource.(*framework.Resource)
	// As computePodResourceRequest of NodeResourcesFit.
	pending := &framework.Resource{}
	pending.SetMaxResource(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}))
	// As calculatePodResourceRequest of the scores.
	options := resourcehelper.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}
	balanced := resourcehelper.PodRequests(pod, options)
	options.NonMissingContainerRequests = v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(schedutil.DefaultMilliCPURequest, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(schedutil.DefaultMemoryRequest, resource.DecimalSI),
	}
	fit := resourcehelper.PodRequests(pod, options)
	return document{
		"assigned": amountsOf(onNode), "filter": amountsOf(pending),
		"non_zero":       document{"cpu": assigned.Non0CPU, "memory": assigned.Non0Mem},
		"score_balanced": document{"cpu": balanced.Cpu().MilliValue(), "memory": balanced.Memory().Value()},
		"score_fit":      document{"cpu": fit.Cpu().MilliValue(), "memory": fit.Memory().Value()},
	}, nil
}

func amountsOf(amounts *framework.Resource) document {
	found := document{}
	add := func(name v1.ResourceName, amount int64) {
		if amount != 0 {
			found[string(name)] = amount
		}
	}
	add(v1.ResourceCPU, amounts.MilliCPU)
	add(v1.ResourceMemory, amounts.Memory)
	add(v1.ResourceEphemeralStorage, amounts.EphemeralStorage)
	for name, amount := range amounts.ScalarResources {
		add(name, amount)
	}
	return found
}
