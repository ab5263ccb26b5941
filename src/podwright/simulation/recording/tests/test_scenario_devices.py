"""Devices of pods that are scheduled again."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Object, ResourceClaim, decode
from podwright.simulation.recording.comparison.scenario import Scenario, _rescheduled
from podwright.testing import make_node

GROUP = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"
USER = {"resource": "pods", "name": "p", "uid": "p"}


def obj(api_version: str, kind: str, metadata: Any, **sections: Any) -> Object:
    if isinstance(metadata, str):
        metadata = {"name": metadata}
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata} | sections)


def gpus_of(node: str) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": [{"name": "gpu-0"}]}
    return obj(GROUP, "ResourceSlice", f"{node}-gpus", spec=spec)


def claim(metadata: dict[str, Any], users: list[dict[str, str]], driver: str = DRIVER) -> Object:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    field = {"key": "metadata.name", "operator": "In", "values": ["n2"]}
    allocation = {
        "devices": {
            "results": [{"request": "r", "driver": driver, "pool": "n2", "device": "gpu-0"}]
        },
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    return obj(
        GROUP,
        "ResourceClaim",
        metadata,
        spec={"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        status={"allocation": allocation, "reservedFor": users},
    )


def pod(name: str, node: str, **spec: Any) -> Object:
    containers = [{"name": "c", "image": "app"}]
    spec = {"containers": containers, "nodeName": node} | spec
    return obj("v1", "Pod", {"name": name, "uid": name}, spec=spec)


NODES = (make_node("n1"), make_node("n2", unschedulable=True))
DEVICES = (obj(GROUP, "DeviceClass", "gpu", spec={}), gpus_of("n1"), gpus_of("n2"))
CLAIMS = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}]}


def test_a_pod_that_moves_gives_its_devices_back() -> None:
    held = claim({"name": "shared", "uid": "c"}, [USER])
    objects = (*NODES, *DEVICES, held, pod("p", "n2", **CLAIMS))
    scheduler = Scenario(objects, reschedule=True).scheduler()
    assert scheduler.schedule("default/p").node == "n1"


def test_devices_stay_allocated_for_a_pod_that_keeps_its_node() -> None:
    users = [USER, USER | {"name": "daemon", "uid": "daemon"}]
    held = claim({"name": "shared", "uid": "c"}, users)
    scheduler = Scenario((*NODES, *DEVICES, held, pod("p", "n2", **CLAIMS)), reschedule=True)
    (kept,) = scheduler.scheduler().cluster.devices.claims.values()
    assert [user.uid for user in kept.status.reserved_for] == ["daemon"]
    assert kept.status.allocation is not None


def test_a_claim_for_extended_resources_is_made_again() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    metadata = {
        "name": "p-extended-resources-x7k2p",
        "uid": "c",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
    }
    held = claim(metadata, [USER])
    assert isinstance(held, ResourceClaim)
    gpu_class = obj(GROUP, "DeviceClass", "gpu", spec={"extendedResourceName": "example.com/gpu"})
    limits = {"example.com/gpu": "1"}
    container = {"name": "c", "image": "app", "resources": {"requests": limits, "limits": limits}}
    given = pod("p", "n2", containers=[container])
    objects = (*NODES, gpu_class, *DEVICES[1:], held, given)
    scheduler = Scenario(objects, reschedule=True).scheduler()
    assert scheduler.schedule("default/p").node == "n1"


def test_a_pod_without_a_uid_takes_no_device_from_another_one_without() -> None:
    user = {"resource": "pods", "name": "other"}
    held = claim({"name": "shared", "uid": "c"}, [user])
    containers = [{"name": "c", "image": "app"}]
    moving = obj("v1", "Pod", "p", spec={"containers": containers, "nodeName": "n1"})
    (kept,) = (
        each
        for each in _rescheduled((held, moving), {"default-scheduler": None})
        if isinstance(each, ResourceClaim)
    )
    assert kept == held
