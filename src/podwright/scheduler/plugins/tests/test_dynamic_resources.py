"""Devices for the claims of a pod, and the CSI drivers of old kinds of volumes.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.assembly.tests.test_device_metrics import DrivenCluster
from podwright.scheduler.columns import Reads
from podwright.scheduler.config import DEFAULT_GATES, Gates, set_gates
from podwright.scheduler.config.schema import DynamicResourcesArgs
from podwright.scheduler.framework import Cycle, Status
from podwright.scheduler.framework.status import MissingStateError
from podwright.scheduler.machine import CycleDue, ObjectPut
from podwright.scheduler.plugins.dynamic_resources import DynamicResources
from podwright.scheduler.plugins.dynamic_resources.pod_devices import (
    STATE,
    NodeAllocation,
    PodDevices,
)
from podwright.scheduler.plugins.hints.objects import migrated_driver
from podwright.scheduler.plugins.tests.one_node_at_a_time import cycle_of, node, reasons, scored
from podwright.testing import make_node
from podwright.testing.parity.sequence import ClusterHandle

SECOND_NS = 1_000_000_000
DRIVER = "gpu.example.com"


def document(kind: str, name: str, spec: dict[str, Any], **more: Any) -> Object:
    metadata = {"name": name, "uid": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    head = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata}
    return decode(head | {"spec": spec} | more)


def devices(node: str, *names: str) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool}
    return document("ResourceSlice", node, spec | {"devices": [{"name": name} for name in names]})


def claim(name: str, count: int = 1, **more: Any) -> Object:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return document("ResourceClaim", name, spec, **more)


def pod(name: str, *claims: str, **spec: Any) -> Any:
    entries = [{"name": entry, "resourceClaimName": entry} for entry in claims]
    metadata = {"name": name, "namespace": "default", "uid": name}
    given = {"containers": [{"name": "c"}], "resourceClaims": entries} | spec
    return decode_pod(
        {"metadata": metadata, "spec": given | {"schedulerName": "default-scheduler"}}
    )


def scheduler_of(*objects: Object) -> Scheduler:
    scheduler = Scheduler(seed=1)
    scheduler.add(*(make_node(name, cpu="8") for name in ("n1", "n2")))
    scheduler.add(document("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"}))
    scheduler.add(*objects)
    return scheduler


def test_pods_go_where_devices_are_left() -> None:
    scheduler = scheduler_of(devices("n1", "a", "b"), claim("one"), claim("two"), claim("more"))
    assert scheduler.schedule(pod("p", "one")).node == "n1"
    # Another pod with the same claim shares its device.
    assert scheduler.schedule(pod("q", "one")).node == "n1"
    assert scheduler.schedule(pod("r", "two")).node == "n1"
    refused = scheduler.schedule(pod("s", "more"))
    assert refused.message.startswith("0/2 nodes are available: 2 cannot allocate all claims.")
    scheduler.add(devices("n2", "c"))
    assert scheduler.schedule(pod("t", "more")).node == "n2"


def test_a_claim_of_several_devices_needs_them_on_one_node() -> None:
    scheduler = scheduler_of(devices("n1", "a"), devices("n2", "b", "c"), claim("two", 2))
    assert scheduler.schedule(pod("p", "two")).node == "n2"


def test_an_allocated_claim_binds_its_pods_to_the_nodes_of_its_devices() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
    result = {"driver": DRIVER, "pool": "n2", "device": "a", "request": "r"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": terms}}
    allocated = claim("one", status={"allocation": allocation})
    scheduler = scheduler_of(devices("n1", "x"), devices("n2", "a"), allocated)
    assert scheduler.schedule(pod("p", "one")).node == "n2"
    scheduler.add(make_node("n2", cpu="8", unschedulable=True))
    refused = scheduler.schedule(pod("q", "one"))
    assert "1 resourceclaim not available on the node" in refused.message
    assert "1 node(s) were unschedulable" in refused.message


def requesting(name: str, amount: int) -> Any:
    resources = {"requests": {"example.com/gpu": str(amount)}}
    resources["limits"] = resources["requests"]
    return pod(name, containers=[{"name": "c", "resources": resources}])


def test_extended_resources_are_provided_by_device_classes() -> None:
    scheduler = scheduler_of(devices("n1", "a"), devices("n2", "b", "c"))
    assert scheduler.schedule(requesting("p", 2)).node == "n2"
    assert scheduler.schedule(requesting("q", 1)).node == "n1"
    assert not scheduler.schedule(requesting("r", 1)).node


AMOUNTS = {"example.com/gpu": "1", "example.com/own": "1"}
GPU_AND_OWN = {"requests": AMOUNTS, "limits": AMOUNTS}


def test_a_resource_that_no_class_backs_is_the_node_s_own() -> None:
    scheduler = scheduler_of(devices("n1", "a"), devices("n2", "b"))
    incoming = pod("p", containers=[{"name": "c", "resources": GPU_AND_OWN}])
    refused = scheduler.schedule(incoming)
    assert not refused.node
    scheduler.add(make_node("n2", cpu="8", resources={"example.com/own": 1}))
    found = scheduler.explain(incoming)
    assert found.feasible == ("n2",)
    (devices_of,) = [one for one in found.filters if one.plugin == "DynamicResources"]
    assert [status.message for status in devices_of.rejected.values()] == ["cannot fit resource"]


def test_the_claim_of_extended_resources_is_written_with_a_generated_name() -> None:
    cluster = DrivenCluster()
    resources = {"requests": {"a.com/gpu": "1"}, "limits": {"a.com/gpu": "1"}}
    incoming = pod("p", containers=[{"name": "c", "resources": resources}])
    cluster.send(ObjectPut(incoming))
    cluster.send(CycleDue())
    assert cluster.bound == ["n"]
    (written,) = cluster.machine.cluster.devices.claims.values()
    metadata = written.metadata
    # The API server of the test gives the claim its name.
    assert (metadata.name, metadata.uid, metadata.namespace) == ("made", "made", "default")
    assert metadata.generate_name == "p-extended-resources-"
    assert [owner.name for owner in metadata.owner_references] == ["p"]
    (request,) = written.spec.devices.requests
    assert request.exactly is not None
    assert (request.exactly.device_class_name, request.exactly.count) == ("gpu", 1)


@pytest.mark.parametrize(
    ("timeout_ns", "gates", "steps"),
    [
        pytest.param(None, {}, 1_000_000, id="ten seconds if nothing is said"),
        pytest.param(SECOND_NS, {}, 100_000, id="as the configuration says"),
        pytest.param(1, {}, 1, id="rounded up"),
        pytest.param(0, {}, 0, id="no limit"),
        pytest.param(SECOND_NS, {"DRASchedulerFilterTimeout": False}, 0, id="without the gate"),
    ],
)
def test_the_search_is_limited(timeout_ns: int | None, gates: dict[str, bool], steps: int) -> None:
    args = DynamicResourcesArgs(filter_timeout_ns=timeout_ns)
    given: Gates = set_gates(gates) if gates else DEFAULT_GATES
    assert DynamicResources(args, gates=given).settings.most_steps == steps


@pytest.mark.parametrize(
    ("timeout_ns", "expected_ns"), [(None, 600 * SECOND_NS), (0, 0), (5 * SECOND_NS, 5 * SECOND_NS)]
)
def test_devices_are_bound_within_ten_minutes_unless_the_configuration_says_otherwise(
    timeout_ns: int | None, expected_ns: int
) -> None:
    args = DynamicResourcesArgs(binding_timeout_ns=timeout_ns)
    assert DynamicResources(args)._binding_timeout_ns == expected_ns


def test_a_claim_of_a_class_that_does_not_exist_is_not_allocated() -> None:
    exactly = {"deviceClassName": "none", "allocationMode": "ExactCount", "count": 1}
    unknown = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    scheduler = scheduler_of(devices("n1", "a"), document("ResourceClaim", "one", unknown))
    assert "device class none does not exist" in scheduler.schedule(pod("p", "one")).message


ALTERNATIVES = [
    {
        "name": "r",
        "firstAvailable": [
            {"name": f"{n}", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": n}
            for n in (2, 1)
        ],
    }
]


def prepared(
    incoming: Any,
    *objects: Object,
    gates: Gates = DEFAULT_GATES,
    now_ns: int = 0,
    timeout_ns: int = 0,
) -> tuple[DynamicResources, Cycle, Any]:
    """Return the plugin, its cycle, and the status of PreFilter."""
    gpus = document("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"})
    cycle = cycle_of(incoming, gpus, *objects)
    args = DynamicResourcesArgs(filter_timeout_ns=timeout_ns, binding_timeout_ns=SECOND_NS)
    plugin = DynamicResources(args, gates=gates)
    plugin.handle = ClusterHandle(cycle.cluster, now_ns)
    return plugin, cycle, plugin.pre_filter(cycle)


def own(name: str, **resources: str) -> Any:
    amounts = {f"example.com/{resource}": amount for resource, amount in resources.items()}
    return node(name, status={"allocatable": {"cpu": "4", "pods": "110"} | amounts})


GONE = 'could not find ResourceClaim "default/one"'
BROKEN = {
    "devices": {"results": []},
    "nodeSelector": {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]
    },
}


@pytest.mark.parametrize(
    ("incoming", "objects", "status"),
    [
        pytest.param(pod("p"), (), Status.SKIPPED, id="no claims"),
        pytest.param(pod("p", "one"), (claim("one"),), Status.OK, id="a claim to allocate"),
        pytest.param(pod("p", "one"), (), Status.unresolvable(GONE), id="it does not exist"),
        pytest.param(
            pod("p", "one"),
            (claim("one", status={"allocation": BROKEN}),),
            Status.error(
                'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists":'
                ' supported values: "In", "NotIn"'
            ),
            id="an allocation with a selector that cannot be read",
        ),
    ],
)
def test_what_prefilter_finds(incoming: Any, objects: tuple[Object, ...], status: Status) -> None:
    """Upstream: dynamicresources.go, PreFilter, PreBindPreFlight, PreEnqueue."""
    plugin, cycle, found = prepared(incoming, own("x"), *objects)
    assert found == status
    # The state remains, also that of a rejected pod, and then has no claims.
    flight = plugin.pre_bind_pre_flight(cycle, "x")
    assert flight == (Status.OK if status == Status.OK else Status.SKIPPED)
    assert plugin.pre_enqueue(incoming) == (status if status.message == GONE else Status.OK)


def test_without_prefilter_the_state_is_missing() -> None:
    """Upstream: dynamicresources.go, getStateData."""
    cycle = cycle_of(pod("p", "one"), own("x"))
    plugin = DynamicResources()
    for call in (plugin.pre_bind, plugin.reserve, plugin.allocate_on):
        with pytest.raises(MissingStateError, match=r"^not found$"):
            call(cycle, "x")
    with pytest.raises(MissingStateError):
        scored(plugin, cycle)
    plugin.unreserve(cycle, "x")


@pytest.mark.parametrize(
    ("others", "is_shared"),
    [
        pytest.param([claim("one")], True, id="equal claims, to be allocated"),
        pytest.param([claim("one", 2)], False, id="another number of devices"),
        pytest.param([claim("one", status={"allocation": BROKEN})], None, id="an allocated claim"),
        pytest.param(
            [document("ResourceClaim", "one", {"devices": {"requests": ALTERNATIVES}})],
            None,
            id="alternatives, which have scores",
        ),
        pytest.param([], None, id="no claim"),
    ],
)
def test_pods_share_results_if_their_claims_need_the_same_of_each_node(
    others: list[Object], is_shared: bool | None
) -> None:
    plugin, cycle, _ = prepared(pod("p", "zero"), claim("zero"), own("x"), *others)
    first = plugin.key_in_cluster(cycle)
    second = plugin.key_in_cluster(Cycle(pod("q", "one"), cycle.cluster))
    assert (None if second is None else second == first) is is_shared
    reads = plugin.reads_for(second, cycle.cluster) if is_shared else None
    assert reads is None or (reads.filter, reads.score) == (Reads.NODE | Reads.PODS, Reads.NODE)


NO_DEVICES = ("cannot allocate all claims",)


def test_claims_of_the_user_and_extended_resources_need_devices_together() -> None:
    """Upstream: extendeddynamicresources.go, filterExtendedResources."""
    incoming = pod("p", "one", containers=[{"name": "c", "resources": GPU_AND_OWN}])
    plugin, cycle, status = prepared(
        incoming,
        claim("one"),
        own("both", own="1"),
        own("scarce", own="1"),
        own("itself", own="1", gpu="1"),
        own("none", own="1", gpu="1"),
        own("lacks"),
        devices("both", "a", "b"),
        devices("scarce", "c"),
        devices("itself", "d"),
        devices("lacks", "e", "f"),
    )
    assert status == Status.OK
    assert reasons(plugin, cycle) == {
        "scarce": NO_DEVICES,
        "none": NO_DEVICES,
        "lacks": ("cannot fit resource",),
    }


def test_each_node_has_the_error_of_its_own_search() -> None:
    selected = [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "a"'}}]
    exactly = {"deviceClassName": "gpu", "count": 1, "allocationMode": "ExactCount"}
    request = {"name": "r", "exactly": exactly | {"selectors": selected}}
    requested = document("ResourceClaim", "one", {"devices": {"requests": [request]}})
    # Without the attribute, the expression fails on the first device of each node.
    plugin, cycle, _ = prepared(
        pod("p", "one"), requested, *(own(n) for n in "xyz"), devices("x", "a"), devices("y", "b")
    )
    error = "claim default/one: selector #0: CEL runtime error: no such key: model"
    assert reasons(plugin, cycle) == {"x": (error,), "y": (error,), "z": NO_DEVICES}
    # Reserve searches again, and nothing has changed since.
    assert plugin.reserve(cycle, "y") == Status.error(error)
    assert plugin.reserve(cycle, "z") == Status.error("claim allocation not found for node")


RESULT = {"driver": DRIVER, "pool": "x", "device": "a", "request": "r"}
CONDITIONS = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
NOT_THERE = ("resourceclaim not available on the node",)


@pytest.mark.parametrize(
    ("seconds", "condition", "gates", "rejected"),
    [
        pytest.param(0, "", {}, {"y"}, id="its devices may still become ready"),
        pytest.param(1, "", {}, {"y"}, id="until the end of the timeout"),
        pytest.param(2, "", {}, {"x", "y"}, id="they are late"),
        pytest.param(2, "Ready", {}, {"y"}, id="they are ready"),
        pytest.param(0, "Failed", {}, {"x", "y"}, id="they have failed"),
        pytest.param(
            2, "", {"DRADeviceBindingConditions": False}, {"y"}, id="without the gate it is used"
        ),
    ],
)
def test_where_an_allocated_claim_can_be_used(
    seconds: int, condition: str, gates: dict[str, bool], rejected: set[str]
) -> None:
    """Upstream: dynamicresources.go, Filter, isClaimReady, isClaimTimeout."""
    only_x = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]}]
    status: dict[str, Any] = {
        "allocation": {
            "devices": {"results": [RESULT | CONDITIONS]},
            "nodeSelector": {"nodeSelectorTerms": only_x},
            "allocationTimestamp": "1970-01-01T00:00:00Z",
        }
    }
    if condition:
        known = [{"type": condition, "status": "True", "reason": "R", "message": "m"}]
        place = {"driver": DRIVER, "pool": "x", "device": "a"}
        status["devices"] = [place | {"conditions": known}]
    plugin, cycle, _ = prepared(
        pod("p", "one"),
        claim("one", status=status),
        own("x"),
        own("y"),
        gates=set_gates(gates) if gates else DEFAULT_GATES,
        now_ns=seconds * SECOND_NS,
    )
    assert reasons(plugin, cycle) == dict.fromkeys(rejected, NOT_THERE)


def test_earlier_alternatives_of_a_request_score_more() -> None:
    """Upstream: dynamicresources.go, Score, computeScore."""
    requested = document("ResourceClaim", "one", {"devices": {"requests": ALTERNATIVES}})
    objects = own("x"), own("y"), devices("x", "a", "b"), devices("y", "c")
    plugin, cycle, _ = prepared(pod("p", "one"), requested, *objects)
    assert scored(plugin, cycle) == {"x": 8, "y": 7}
    status = {"allocation": {"devices": {"results": [RESULT | {"request": "r/1", "pool": "z"}]}}}
    spec = {"devices": {"requests": ALTERNATIVES}}
    allocated = document("ResourceClaim", "two", spec, status=status)
    plugin, cycle, _ = prepared(pod("p", "one", "two"), requested, allocated, *objects)
    assert scored(plugin, cycle) == {"x": 8 + 7, "y": 7 + 7}
    without, cycle, _ = prepared(pod("p", "one"), claim("one"), own("x"), devices("x", "a"))
    assert scored(without, cycle) == {"x": 0}


@pytest.mark.parametrize("is_enabled", [True, False])
def test_alternatives_need_their_gate(is_enabled: bool) -> None:
    requested = document("ResourceClaim", "one", {"devices": {"requests": ALTERNATIVES}})
    gates = DEFAULT_GATES if is_enabled else set_gates({"DRAPrioritizedList": False})
    _, _, status = prepared(pod("p", "one"), requested, own("x"), gates=gates)
    text = (
        "resource claim default/one, request r: has subrequests, but the DRAPrioritizedList"
        " feature is disabled"
    )
    assert status == (Status.OK if is_enabled else Status.unresolvable(text))


def requests_of(*requests: dict[str, Any]) -> Object:
    return document("ResourceClaim", "one", {"devices": {"requests": list(requests)}})


@pytest.mark.parametrize(
    ("requested", "status"),
    [
        pytest.param(
            requests_of({"name": "r"}),
            Status.unresolvable("resource claim default/one, request r: unknown request type"),
            id="neither exact nor with alternatives",
        ),
        pytest.param(
            requests_of({"name": "r", "exactly": {"deviceClassName": ""}}),
            Status.error("request r: unsupported request type"),
            id="no class",
        ),
        pytest.param(
            requests_of(
                {
                    "name": "r",
                    "firstAvailable": [
                        {"name": "a", "deviceClassName": "gpu"},
                        {"name": "b", "deviceClassName": "none"},
                    ],
                }
            ),
            Status.unresolvable("request r/b: device class none does not exist"),
            id="an alternative of a class that does not exist",
        ),
        pytest.param(
            requests_of(
                {"name": "a", "exactly": {"deviceClassName": "gpu"}},
                {"name": "b", "exactly": {"deviceClassName": "none"}},
            ),
            Status.unresolvable("request b: device class none does not exist"),
            id="the second request",
        ),
    ],
)
def test_requests_that_cannot_be_allocated_anywhere(requested: Object, status: Status) -> None:
    """Upstream: dynamicresources.go, PreFilter, validateDeviceClass."""
    _, cycle, found = prepared(pod("p", "one"), requested, own("x"))
    assert found == status
    assert cycle.read(STATE).claims == []


UNUSED: Any = None
"""A failed cycle that is not read."""


REJECTED_BY_OTHERS: Any = SimpleNamespace(status_of=lambda _: Status.unschedulable("taken"))
"""A failed cycle whose nodes the plugin has not rejected."""


def test_without_its_gate_the_plugin_does_nothing() -> None:
    gates = Gates({"DynamicResourceAllocation": False})
    incoming = pod("p", "one")
    plugin, cycle, status = prepared(
        incoming, claim("one"), own("x"), devices("x", "a"), gates=gates
    )
    assert status == Status.SKIPPED
    assert plugin.events_to_register() == ()
    assert plugin.pod_key(incoming) == ()
    assert plugin.pre_enqueue(pod("q", "missing")) == Status.OK
    assert plugin.pre_bind_pre_flight(cycle, "x") == Status.SKIPPED
    cycle.write(STATE, PodDevices(incoming, [], None))
    assert plugin.pre_bind(cycle, "x") == Status.OK
    assert plugin.post_filter(cycle, UNUSED).status == Status.unschedulable("plugin disabled")


@pytest.mark.parametrize(
    ("state", "status"),
    [
        pytest.param(None, Status.error("not found"), id="no state"),
        pytest.param([], Status.unschedulable("no new claims to deallocate"), id="no claims"),
        pytest.param(
            [claim("one")], Status.unschedulable("still not schedulable"), id="one without devices"
        ),
    ],
)
def test_no_claim_is_deallocated_without_one(state: list[Any] | None, status: Status) -> None:
    """Upstream: dynamicresources.go, PostFilter."""
    incoming = pod("p", "one")
    cycle = cycle_of(incoming, own("x"))
    if state is not None:
        cycle.write(STATE, PodDevices(incoming, state, None))
    result = DynamicResources().post_filter(cycle, REJECTED_BY_OTHERS)
    assert (result.status, result.calls) == (status, ())


def test_a_request_for_no_device_needs_none() -> None:
    plugin, cycle, status = prepared(requesting("p", 0), own("x"))
    assert status == Status.SKIPPED
    assert cycle.read(STATE).claims == []
    assert reasons(plugin, cycle) == {}
    some, cycle, status = prepared(requesting("q", 1), own("x"), devices("x", "a"), own("y"))
    assert status == Status.OK
    assert reasons(some, cycle) == {"y": NO_DEVICES}


def test_a_pod_without_claims_passes_everywhere() -> None:
    plugin, cycle, status = prepared(pod("p"), own("x"))
    assert status == Status.SKIPPED
    assert reasons(plugin, cycle) == {}
    assert scored(plugin, cycle) == {"x": 0}
    assert plugin.reserve(cycle, "x") == Status.OK
    assert plugin.pre_bind(cycle, "x") == Status.OK
    plugin.unreserve(cycle, "x")


def test_devices_are_allocated_on_nodes_that_have_them() -> None:
    objects = claim("one"), own("x"), own("y"), devices("x", "a")
    plugin, cycle, _ = prepared(pod("p", "one"), *objects)
    found = plugin.allocate_on(cycle, "x")
    assert isinstance(found, NodeAllocation)
    assert [each.metadata.name for each in found.claims] == ["one"]
    (result,) = found.results[0].devices.results
    assert (result.pool, result.device) == ("x", "a")
    for name in ("y", "z"):
        none = plugin.allocate_on(cycle, name)
        assert isinstance(none, Status)
        assert not none.is_success
    given = claim("one", status={"allocation": {"devices": {"results": []}}})
    plugin, cycle, _ = prepared(pod("p", "one"), given, own("x"))
    assert plugin.allocate_on(cycle, "x") is None


def test_pods_with_claims_have_no_signature() -> None:
    plugin = DynamicResources()
    assert plugin.sign_pod(pod("p")) == {}
    assert plugin.sign_pod(pod("p", "one")) is None


@pytest.mark.parametrize(
    ("source", "driver"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, "pd.csi.storage.gke.io"),
        ({"awsElasticBlockStore": {"volumeID": "d"}}, "ebs.csi.aws.com"),
        ({"azureDisk": {"diskName": "d", "diskURI": "u"}}, "disk.csi.azure.com"),
        ({"azureFile": {"secretName": "s", "shareName": "d"}}, "file.csi.azure.com"),
        ({"cinder": {"volumeID": "d"}}, "cinder.csi.openstack.org"),
        ({"portworxVolume": {"volumeID": "d"}}, "pxd.portworx.com"),
        ({"vsphereVolume": {"volumePath": "d"}}, "csi.vsphere.vmware.com"),
        ({"emptyDir": {}}, None),
    ],
)
def test_volumes_of_old_kinds_are_served_by_csi_drivers(
    source: dict[str, Any], driver: str | None
) -> None:
    """Upstream: k8s.io/csi-translation-lib/plugins."""
    (volume,) = pod("p", volumes=[{"name": "v", **source}]).spec.volumes
    assert migrated_driver(volume) == driver


def test_a_claim_that_is_being_allocated_is_waited_for() -> None:
    """Upstream: dynamicresources.go, PreFilter."""
    plugin, cycle, status = prepared(pod("p", "one"), claim("one"), own("x"), devices("x", "a"))
    assert status == Status.OK
    assert plugin.reserve(cycle, "x") == Status.OK
    waiting = Cycle(pod("q", "one"), cycle.cluster)
    text = "resource claim default/one is in the process of being allocated"
    assert plugin.pre_filter(waiting) == Status.unresolvable(text)
    plugin.unreserve(cycle, "x")
    assert plugin.pre_filter(waiting) == Status.OK


@pytest.mark.parametrize("is_allocated", [False, True])
def test_devices_are_reserved_without_a_handle(is_allocated: bool) -> None:
    status: dict[str, Any] = {"allocation": {"devices": {"results": []}}} if is_allocated else {}
    plugin, cycle, _ = prepared(
        pod("p", "one"), claim("one", status=status), own("x"), devices("x", "a")
    )
    plugin.handle = None
    assert plugin.reserve(cycle, "x") == Status.OK
    assert (cycle.cluster.devices.pending("one") is None) is is_allocated
    plugin.unreserve(cycle, "x")
    assert cycle.cluster.devices.pending("one") is None


def test_nodes_with_a_resource_of_their_own_stand_beside_nodes_with_devices() -> None:
    """Upstream: extendeddynamicresources.go, filterExtendedResources."""
    nodes = own("y"), own("w", gpu="1"), own("x", gpu="1"), own("z")
    plugin, cycle, _ = prepared(requesting("p", 1), *nodes, devices("y", "a"))
    assert reasons(plugin, cycle) == {"z": NO_DEVICES}
    for name in ("w", "x"):
        assert plugin.allocate_on(cycle, name) is None
    assert isinstance(plugin.allocate_on(cycle, "y"), NodeAllocation)


def test_without_their_gate_extended_resources_make_no_difference() -> None:
    plugin = DynamicResources(gates=set_gates({"DRAExtendedResource": False}))
    assert plugin.pod_key(requesting("p", 1)) == plugin.pod_key(pod("q")) == ()
    assert DynamicResources().pod_key(requesting("p", 1)) != ()


def test_devices_of_nodes_that_two_terms_select_cannot_be_allocated() -> None:
    # Upstream: structured/internal/incubating/allocator_incubating.go, createNodeSelector
    terms = [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [n]}]}
        for n in ("x", "y")
    ]
    spec = {
        "driver": DRIVER,
        "nodeSelector": {"nodeSelectorTerms": terms},
        "pool": {"name": "shared", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "a"}],
    }
    named = node("x", labels={"kubernetes.io/hostname": "x"})
    plugin, cycle, _ = prepared(
        pod("p", "one"), claim("one"), named, document("ResourceSlice", "shared", spec)
    )
    assert reasons(plugin, cycle) == {}
    text = "create NodeSelector: unsupported ResourceSlice.NodeSelector with 2 terms"
    assert plugin.reserve(cycle, "x") == Status.error(text)
