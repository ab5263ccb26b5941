import pytest

from podwright.apimachinery.objects import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.config import set_gates
from podwright.scheduler.config.schema import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatio,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from podwright.scheduler.framework import Code, shape_table
from podwright.scheduler.kernels.pair_scores import FEWEST
from podwright.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podwright.scheduler.plugins.tests.one_node_at_a_time import (
    cycle_of,
    filtered,
    node,
    pod,
    scored,
)

CPU_AND_MEMORY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


def verdict(incoming, *objects, args=None):
    plugin = NodeResourcesFit(args)
    cycle = cycle_of(incoming, *objects)
    plugin.pre_filter(cycle)
    return filtered(plugin, cycle)["n"]


@pytest.mark.parametrize(
    ("requests", "code", "reasons"),
    [
        pytest.param({"cpu": "3"}, Code.SUCCESS, (), id="exactly what is left"),
        pytest.param({"cpu": "3001m"}, Code.UNSCHEDULABLE, ("Insufficient cpu",), id="one short"),
        pytest.param(
            {"cpu": "5"},
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            ("Insufficient cpu",),
            id="more than the node has at all",
        ),
        pytest.param(
            {
                "example.com/b": "1",
                "a.com/a": "1",
                "ephemeral-storage": "1",
                "memory": "8Gi",
                "cpu": "4",
            },
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            (
                "Insufficient cpu",
                "Insufficient memory",
                "Insufficient ephemeral-storage",
                "Insufficient a.com/a",
                "Insufficient example.com/b",
            ),
            id="all reasons, scalars sorted by name at the end",
        ),
    ],
)
def test_the_reasons_name_the_missing_resources(requests, code, reasons):
    there = pod("there", {"cpu": "1", "memory": "1Gi"}, nodeName="n")
    found = verdict(pod(requests=requests), node("n"), there)
    assert (found.code, found.reasons) == (code, reasons)


def test_a_node_that_takes_no_pods_rejects_pods_without_requests():
    full = node("n", status={"allocatable": {"cpu": "4"}})
    found = verdict(pod(), full)
    assert (found.code, found.reasons) == (Code.UNSCHEDULABLE, ("Too many pods",))


@pytest.mark.parametrize(
    ("args", "passes"),
    [
        pytest.param(NodeResourcesFitArgs(), False, id="checked by default"),
        pytest.param(NodeResourcesFitArgs(ignored_resources=("example.com/gpu",)), True, id="name"),
        pytest.param(
            NodeResourcesFitArgs(ignored_resource_groups=("example.com",)), True, id="group"
        ),
        pytest.param(NodeResourcesFitArgs(ignored_resources=("cpu",)), False, id="not this one"),
    ],
)
def test_extended_resources_can_be_ignored(args, passes):
    found = verdict(pod(requests={"example.com/gpu": "1"}), node("n"), args=args)
    assert found.is_success == passes


@pytest.mark.parametrize(
    ("resource", "ignored"),
    [
        pytest.param("cpu", {"ignored_resources": ("cpu",)}, id="a fixed one"),
        pytest.param(
            "hugepages-2Mi", {"ignored_resources": ("hugepages-2Mi",)}, id="pages of a size"
        ),
        pytest.param(
            "attachable-volumes-csi",
            {"ignored_resources": ("attachable-volumes-csi",)},
            id="volumes of a driver",
        ),
        pytest.param(
            "kubernetes.io/batch",
            {"ignored_resource_groups": ("kubernetes.io",)},
            id="one of a group of Kubernetes",
        ),
    ],
)
def test_only_extended_resources_can_be_ignored(resource, ignored):
    args = NodeResourcesFitArgs(**ignored)
    found = verdict(pod(requests={resource: "5"}), node("n"), args=args)
    assert found.reasons == (f"Insufficient {resource}",)


def test_a_resource_that_the_scheduler_does_not_count_is_not_checked():
    """Upstream: pkg/scheduler/util/utils.go, IsScalarResourceName"""
    assert verdict(pod(requests={"storage": "1"}), node("n")).is_success


def score_of(incoming, strategy, *objects):
    plugin = NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=strategy))
    cycle = cycle_of(incoming, node("n"), *objects)
    plugin.pre_score(cycle)
    return scored(plugin, cycle)["n"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param("LeastAllocated", (75 + 50) // 2, id="what is left"),
        pytest.param("MostAllocated", (25 + 50) // 2, id="what is in use"),
    ],
)
def test_scores_follow_the_strategy(strategy, expected):
    incoming = pod(requests={"cpu": "1", "memory": "4Gi"})
    assert score_of(incoming, ScoringStrategy(type=strategy, resources=CPU_AND_MEMORY)) == expected


def test_a_pod_without_requests_counts_for_a_little():
    strategy = ScoringStrategy(
        type="MostAllocated", resources=(ResourceSpec(name="cpu", weight=1),)
    )
    assert score_of(pod(), strategy) == 2  # 100m of 4


def test_a_scalar_that_the_pod_does_not_request_is_not_scored():
    gpu = ScoringStrategy(
        type="LeastAllocated", resources=(ResourceSpec(name="example.com/gpu", weight=1),)
    )
    assert score_of(pod(requests={"cpu": "1"}), gpu) == 0


def test_scores_pass_over_requests_of_the_pod_as_a_whole():
    strategy = ScoringStrategy(
        type="MostAllocated", resources=(ResourceSpec(name="cpu", weight=1),)
    )
    incoming = pod(requests={"cpu": "1"}, resources={"requests": {"cpu": "2"}})
    assert score_of(incoming, strategy) == 25


def test_a_shape_scores_by_utilization():
    shape = (
        UtilizationShapePoint(utilization=0, score=0),
        UtilizationShapePoint(utilization=100, score=10),
    )
    strategy = ScoringStrategy(
        type="RequestedToCapacityRatio",
        resources=CPU_AND_MEMORY,
        requested_to_capacity_ratio=RequestedToCapacityRatio(shape=shape),
    )  # fmt: skip
    assert score_of(pod(requests={"cpu": "1", "memory": "4Gi"}), strategy) == 38  # 37.5


@pytest.mark.parametrize(
    ("points", "utilization", "expected"),
    [
        pytest.param([(20, 3), (80, 9)], 0, 30, id="before the first point"),
        pytest.param([(20, 3), (80, 9)], 50, 60, id="between"),
        pytest.param([(20, 3), (80, 9)], 100, 90, id="after the last"),
        pytest.param([(0, 10), (3, 0)], 1, 67, id="a falling line is cut towards its start"),
    ],
)
def test_shape_table(points, utilization, expected):
    shape = [UtilizationShapePoint(utilization=u, score=s) for u, s in points]
    assert shape_table(shape)[utilization] == expected


def test_pods_of_one_template_share_a_key():
    plugin = NodeResourcesFit()
    assert plugin.pod_key(pod("a", {"cpu": "1"})) == plugin.pod_key(pod("b", {"cpu": "1"}))
    assert plugin.pod_key(pod("a", {"cpu": "1"})) != plugin.pod_key(pod("b", {"cpu": "2"}))
    sidecar = {"name": "i", "resources": {"requests": {"cpu": "1"}}, "restartPolicy": "Always"}
    once = {"name": "i", "resources": {"requests": {"cpu": "1"}}}
    assert plugin.pod_key(pod(initContainers=[sidecar])) != plugin.pod_key(
        pod(initContainers=[once])
    )


GPU, NIC = "example.com/gpu", "example.com/nic"


def device_class(name, resource):
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"extendedResourceName": resource},
        }
    )


def devices(name, *devices):
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": name},
            "spec": {
                "driver": "d.example.com",
                "nodeName": name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": device} for device in devices],
            },
        }
    )


def owning(name, **amounts):
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    own = {f"example.com/{resource}": amount for resource, amount in amounts.items()}
    return node(name, status={"allocatable": allocatable | own})


BOTH_CLASSES = [device_class("gpus", GPU), device_class("nics", NIC)]


@pytest.mark.parametrize(
    ("classes", "passing"),
    [
        pytest.param([], ["both"], id="no class backs them"),
        pytest.param(BOTH_CLASSES[:1], ["both", "nic"], id="a class backs the first"),
        pytest.param(BOTH_CLASSES[1:], ["both", "gpu"], id="a class backs the second"),
        pytest.param(BOTH_CLASSES, ["both", "gpu", "nic", "none"], id="classes back both"),
    ],
)
def test_resources_that_a_node_lacks_are_left_to_the_classes_that_back_them(classes, passing):
    """Upstream: fit.go, shouldDelegateResourceToDRA."""
    nodes = [
        owning("both", gpu="2", nic="1"),
        owning("gpu", gpu="2"),
        owning("nic", nic="1"),
        owning("none"),
        owning("few", gpu="1", nic="1"),
    ]
    plugin, incoming = NodeResourcesFit(), pod(requests={NIC: "1", GPU: "2"})
    cycle = cycle_of(incoming, *nodes, *classes)
    assert plugin.pre_filter(cycle).is_success
    found = filtered(plugin, cycle)
    assert sorted(name for name, answer in found.items() if answer.is_success) == passing
    assert found["few"].reasons == ("Insufficient example.com/gpu",)
    assert (plugin.filter_as_sums(cycle) is None) is bool(classes)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_a_class_provides_is_not_limited_by_the_pods_that_have_it_already(count):
    """Upstream: fit.go, shouldDelegateResourceToDRA."""
    there = [pod(f"p{i}", nodeName="none", requests={GPU: "2"}) for i in range(count)]
    owners = [pod(f"o{i}", nodeName="own", requests={GPU: "1"}) for i in range(count)]
    plugin = NodeResourcesFit()
    cycle = cycle_of(
        pod(requests={GPU: "2"}),
        owning("none"),
        owning("own", gpu="4"),
        BOTH_CLASSES[0],
        *there,
        *owners,
    )
    assert plugin.pre_filter(cycle).is_success
    found = filtered(plugin, cycle)
    assert found["none"].is_success
    assert found["own"].is_success is (count < 3)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param(
            "LeastAllocated", {"own": 75, "devices": 50, "bare": 0, "full": 0}, id="least"
        ),
        pytest.param(
            "MostAllocated", {"own": 25, "devices": 50, "bare": 0, "full": 100}, id="most"
        ),
    ],
)
def test_devices_are_scored_where_a_node_has_none_of_the_resource(strategy, expected):
    """Upstream: resource_allocation.go, calculateResourceAllocatableRequest."""
    scoring = ScoringStrategy(type=strategy, resources=(ResourceSpec(name=GPU, weight=1),))
    plugin = NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=scoring))
    objects = [
        owning("own", gpu="4"),
        devices("own", "x"),
        owning("devices"),
        devices("devices", "a", "b"),
        owning("bare"),
        owning("full"),
        devices("full", "f"),
    ]
    cycle = cycle_of(pod(requests={GPU: "1"}), *objects, BOTH_CLASSES[0])
    assert plugin.pre_score(cycle).is_success
    assert scored(plugin, cycle) == expected
    assert plugin.score_as_requests(cycle) is None
    # One of two devices is in use, and the pod gets the other one.
    result = DeviceRequestAllocationResult(
        request="r", driver="d.example.com", pool="devices", device="a"
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    cycle.cluster.devices.set_pending("other", allocation)
    full = expected["full"]
    assert scored(plugin, cycle) == expected | {"devices": full}
    # Of a resource that the pod does not request, no devices count.
    other = cycle_of(pod(requests={"cpu": "1"}), *objects, BOTH_CLASSES[0])
    assert plugin.pre_score(other).is_success
    assert set(scored(plugin, other).values()) == {0}
    assert plugin.score_as_requests(other) is not None


def test_pods_without_requests_count_in_scores_with_the_defaults():
    """Upstream: pkg/scheduler/util/pod_resources.go, GetNonzeroRequests."""
    there = [pod(f"there-{i}", nodeName="n") for i in range(4)]
    plugin = NodeResourcesFit()
    cycle = cycle_of(pod(requests={"cpu": "1"}), owning("n"), *there)
    assert plugin.pre_score(cycle).is_success
    cpu, memory = 100 * (4_000 - 4 * 100 - 1_000) // 4_000, 100 * (8_192 - 5 * 200) // 8_192
    assert scored(plugin, cycle) == {"n": (cpu + memory) // 2}


def test_without_its_gate_no_class_backs_a_resource():
    plugin = NodeResourcesFit(gates=set_gates({"DRAExtendedResource": False}))
    cycle = cycle_of(pod(requests={GPU: "1"}), owning("n"), *BOTH_CLASSES)
    assert plugin.pre_filter(cycle).is_success
    assert filtered(plugin, cycle)["n"].reasons == ("Insufficient example.com/gpu",)


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
@pytest.mark.parametrize(
    "names",
    [
        ("cpu", "memory"),
        ("memory", "cpu"),
        ("cpu", GPU),
        (GPU, NIC),
        (GPU,),
        ("cpu", "memory", GPU),
    ],
    ids=" ".join,
)
def test_the_number_of_nodes_changes_no_score(names, strategy):
    resources = tuple(
        ResourceSpec(name=name, weight=weight) for weight, name in enumerate(names, 1)
    )
    scoring = ScoringStrategy(type=strategy, resources=resources)
    plugin = NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=scoring))
    incoming = pod(requests={"cpu": "1", "memory": "1Gi", GPU: "1", NIC: "2"})
    scores = []
    for count in (FEWEST - 1, FEWEST):
        nodes = [owning(f"n{i}", gpu="4", nic="8") for i in range(count)]
        there = pod("there", {"memory": "3Gi", GPU: "2", NIC: "1"}, nodeName="n0")
        cycle = cycle_of(incoming, *nodes, there)
        assert plugin.pre_score(cycle).is_success
        found = scored(plugin, cycle)
        assert len({score for name, score in found.items() if name != "n0"}) == 1
        scores.append((found["n0"], found["n1"]))
    assert scores[0] == scores[1]
