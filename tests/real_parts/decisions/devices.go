package main

import (
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"sort"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// nameGenerated gives a created claim the name and UID that an API server would.
func nameGenerated(action clienttesting.Action) (bool, runtime.Object, error) {
	claim := action.(clienttesting.CreateAction).GetObject().(*resourceapi.ResourceClaim)
	if claim.Name == "" {
		claim.Name = claim.GenerateName + "00001"
		claim.UID = types.UID(claim.Name)
	}
	return false, nil, nil
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

func keyOf(claim *resourceapi.ResourceClaim) string { return claim.Namespace + "/" + claim.Name }
