"""Devices for the claims of a pod, and the CSI drivers of old kinds of volumes.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Object, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.assembly.tests.test_device_metrics import DrivenCluster
from podwright.scheduler.config import DEFAULT_GATES, Gates, set_gates
from podwright.scheduler.config.schema import DynamicResourcesArgs
from podwright.scheduler.machine import CycleDue, ObjectPut
from podwright.scheduler.plugins.dynamic_resources import DynamicResources
from podwright.scheduler.plugins.hints.objects import migrated_driver
from podwright.testing import make_node

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


def test_a_resource_that_no_class_backs_is_the_node_s_own() -> None:
    scheduler = scheduler_of(devices("n1", "a"), devices("n2", "b"))
    own = {"example.com/gpu": "1", "example.com/own": "1"}
    incoming = pod("p", containers=[{"name": "c", "resources": {"requests": own, "limits": own}}])
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
