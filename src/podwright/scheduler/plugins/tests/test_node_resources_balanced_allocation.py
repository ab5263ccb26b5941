import pytest

from podwright.scheduler.config.schema import NodeResourcesBalancedAllocationArgs, ResourceSpec
from podwright.scheduler.kernels.pair_scores import FEWEST
from podwright.scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from podwright.scheduler.plugins.tests.one_node_at_a_time import cycle_of, node, pod, scored

GPU = "example.com/gpu"


def test_a_pod_without_requests_is_not_scored():
    plugin = NodeResourcesBalancedAllocation()
    assert plugin.pre_score(cycle_of(pod(), node("n"))).is_skip


def test_a_pod_that_requests_none_of_the_resources_is_not_scored():
    args = NodeResourcesBalancedAllocationArgs(
        resources=(ResourceSpec(name="example.com/gpu", weight=1),)
    )
    plugin = NodeResourcesBalancedAllocation(args)
    assert plugin.pre_score(cycle_of(pod(requests={"cpu": "1"}), node("n"))).is_skip


@pytest.mark.parametrize(
    ("there", "requests", "expected"),
    [
        pytest.param({}, {"cpu": "2", "memory": "4Gi"}, 75, id="as even as before"),
        pytest.param({"cpu": "2"}, {"memory": "4Gi"}, 87, id="better with the pod"),
        pytest.param({}, {"memory": "4Gi"}, 62, id="worse with the pod"),
    ],
)
def test_the_change_is_scored(there, requests, expected):
    plugin = NodeResourcesBalancedAllocation()
    cycle = cycle_of(pod(requests=requests), node("n"), pod("there", there, nodeName="n"))
    assert plugin.pre_score(cycle).is_success
    assert scored(plugin, cycle) == {"n": expected}


def test_a_resource_that_the_pod_does_not_request_stays_as_it_is():
    tiny = node("n", status={"allocatable": {"cpu": "2m", "memory": "8Gi", "pods": "110"}})
    there = pod("there", {"cpu": "1m", "memory": "4Gi"}, nodeName="n")
    plugin = NodeResourcesBalancedAllocation()
    cycle = cycle_of(pod(requests={"memory": "1"}), tiny, there)
    assert plugin.pre_score(cycle).is_success
    assert scored(plugin, cycle) == {"n": 74}


def test_storage_that_the_pod_does_not_request_counts_as_cpu_and_memory_do():
    names = ("cpu", "ephemeral-storage")
    args = NodeResourcesBalancedAllocationArgs(
        resources=tuple(ResourceSpec(name=name, weight=1) for name in names)
    )
    allocatable = {"cpu": "4", "ephemeral-storage": "8Gi", "pods": "110"}
    plugin = NodeResourcesBalancedAllocation(args)
    cycle = cycle_of(pod(requests={"cpu": "2"}), node("n", status={"allocatable": allocatable}))
    assert plugin.pre_score(cycle).is_success
    # As for half of the memory above.
    assert scored(plugin, cycle) == {"n": 62}


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param({}, 0, id="none of the resources"),
        pytest.param({"memory": "4Gi"}, 62, id="one of them"),
    ],
)
def test_without_its_pre_score_the_plan_is_made_for_each_call(requests, expected):
    """Upstream: balanced_allocation.go, Score."""
    cycle = cycle_of(pod(requests=requests), node("n"))
    assert scored(NodeResourcesBalancedAllocation(), cycle) == {"n": expected}


@pytest.mark.parametrize(
    ("requests", "is_other"),
    [
        pytest.param({"cpu": "2"}, False, id="a device that is not requested does not count"),
        pytest.param({"cpu": "2", GPU: "0"}, False, id="nor one of which none is requested"),
        pytest.param({"cpu": "2", GPU: "1"}, True, id="one that is requested does"),
    ],
)
def test_devices_count_if_they_are_requested(requests, is_other):
    """Upstream: resource_allocation.go, calculateResourceAllocatableRequest."""
    found = []
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", GPU: "8"}
    there = pod("there", {"cpu": "1", GPU: "7"}, nodeName="n")
    for names in (("cpu", "memory"), ("cpu", "memory", GPU)):
        resources = tuple(ResourceSpec(name=name, weight=1) for name in names)
        plugin = NodeResourcesBalancedAllocation(
            NodeResourcesBalancedAllocationArgs(resources=resources)
        )
        cycle = cycle_of(pod(requests=requests), node("n", status={"allocatable": amounts}), there)
        assert plugin.pre_score(cycle).is_success
        found.append(scored(plugin, cycle)["n"])
    assert (found[0] != found[1]) is is_other


@pytest.mark.parametrize("count", [FEWEST - 1, FEWEST])
@pytest.mark.parametrize("requests", [{"cpu": "2", "memory": "4Gi"}, {"cpu": "2", GPU: "1"}])
def test_the_number_of_nodes_changes_no_score(count, requests):
    resources = tuple(ResourceSpec(name=name, weight=1) for name in ("cpu", "memory", GPU))
    plugin = NodeResourcesBalancedAllocation(
        NodeResourcesBalancedAllocationArgs(resources=resources)
    )
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", GPU: "8"}
    nodes = [node(f"n{i}", status={"allocatable": amounts}) for i in range(count)]
    cycle = cycle_of(pod(requests=requests), *nodes)
    alone = cycle_of(pod(requests=requests), nodes[0])
    found = []
    for one in (cycle, alone):
        assert plugin.pre_score(one).is_success
        found.append(scored(plugin, one))
    assert set(found[0].values()) == set(found[1].values())
