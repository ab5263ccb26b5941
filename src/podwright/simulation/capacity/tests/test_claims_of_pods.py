"""Pods with claims of devices and volumes: what exists stays theirs, what they leave is free."""

from __future__ import annotations

from typing import Any

import podwright as pw
from podwright.apimachinery.objects import Object, decode
from podwright.simulation.world.tests.test_devices import CLASS, DRIVER, TEMPLATE, obj, request
from podwright.testing import make_node

CLAIMED = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]


def cluster(*counts: int) -> list[Object]:
    """Return nodes with so many devices each."""
    found: list[Object] = [CLASS, TEMPLATE]
    for number, count in enumerate(counts):
        pool = {"name": f"n{number}", "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"gpu-{index}"} for index in range(count)]
        spec = {"driver": DRIVER, "nodeName": f"n{number}", "pool": pool, "devices": devices}
        found.append(make_node(f"n{number}", cpu="8"))
        found.append(obj("ResourceSlice", f"s{number}", spec))
    return found


def template(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container], **spec},
    }


def workload(kind: str, name: str, spec: dict[str, Any]) -> Object:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    metadata = {"name": name, "namespace": "default"}
    return decode({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def job(count: int, *, completion_mode: str = "Indexed") -> Object:
    counts = {"parallelism": count, "completions": count, "completionMode": completion_mode}
    pod = template("train", restartPolicy="Never", resourceClaims=CLAIMED)
    return workload("Job", "train", {**counts, "template": pod})


def pending_after(found: pw.Capacity) -> dict[str, list[str]]:
    return {loss.name: [each.pod for each in loss.pending] for loss in found.losses}


def test_headroom_and_losses_leave_the_devices_of_pods_as_they_are() -> None:
    # Three of four devices are in use: two on n0, one on n1 (or the reverse).
    objects = [*cluster(2, 2), job(3)]
    question = pw.CapacityQuestion(headroom=True, loss=("node", "node"))
    for mode in ("Indexed", "NonIndexed"):
        found = pw.capacity([*objects[:-1], job(3, completion_mode=mode)], question)
        assert [each.count for each in found.headroom] == [1], mode
        # Of the pods of a lost node one gets the device that is free.
        pending = pending_after(found)
        assert sorted(map(len, pending.values())) == [1, 1], mode
    alone = pw.capacity(objects, pw.CapacityQuestion(loss=("node",)))
    assert pending_after(alone) == pending_after(pw.capacity(objects, question))


def test_more_of_a_stateful_set_leave_the_volumes_of_its_pods_as_they_are() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "wait",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    spec = {
        "serviceName": "db",
        "replicas": 2,
        "selector": {"matchLabels": {"app": "db"}},
        "template": template("db"),
        "volumeClaimTemplates": [claim],
    }
    storage = decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "wait"},
            "provisioner": "csi.example.com",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    nodes = [make_node(name, cpu="4") for name in ("n0", "n1")]
    objects = [*nodes, storage, workload("StatefulSet", "db", spec)]
    question = pw.CapacityQuestion(headroom=True, loss=("node",))
    found = pw.capacity(objects, question)
    assert [each.count for each in found.headroom] == [6]
    # Their volumes can be made elsewhere as long as no controller made them.
    assert pending_after(found) == {"n0": [], "n1": []}


def allocated(name: str, device: str, priority: int) -> list[Object]:
    """Return a pod that runs on n0, and its claim with a device."""
    uid = f"uid-{name}"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}
    result = {"driver": DRIVER, "pool": "n0", "device": device, "request": "gpu"}
    claim = obj("ResourceClaim", f"{name}-gpu", request()).raw
    claim["metadata"] |= {"ownerReferences": [owner], "uid": f"claim-{name}"}
    claim["status"] = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
    }
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": uid},
        "spec": template("x", nodeName="n0", priority=priority, resourceClaims=claims)["spec"],
        "status": {
            "phase": "Running",
            "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}],
        },
    }
    return [decode(claim), decode(pod)]


def test_a_pod_that_is_evicted_gives_its_devices_back() -> None:
    objects = [*cluster(2), *allocated("low", "gpu-0", -5), *allocated("high", "gpu-1", 50)]

    def wanted(name: str, cpu: str, **spec: Any) -> Object:
        pod = template(name, priority=10, **spec)["spec"]
        pod["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        return decode({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod})

    # The first one evicts a pod for its room; the second one needs the device of that pod.
    pods = (wanted("large", "6500m"), wanted("claiming", "100m", resourceClaims=CLAIMED))
    found = pw.capacity(objects, pw.CapacityQuestion(pods=pods, preemption=True))
    assert [each.count for each in found.templates] == [1, 1]
    found = pw.capacity(objects, pw.CapacityQuestion(pods=pods[1:]))
    assert found.count == 0


def test_withdrawn_pods_get_their_own_devices_back() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(*cluster(2), *allocated("a", "gpu-1", 0), *allocated("b", "gpu-0", 0))
    devices = scheduler.cluster.devices
    before = {claim.key: claim for claim in map(devices.claim, devices.claims) if claim}
    state = scheduler.state()
    for name in ("a", "b"):
        scheduler.withdraw(f"default/{name}")
        claim = devices.claim(f"default/{name}-gpu")
        assert claim is not None
        assert (claim.status.allocation, claim.status.reserved_for) == (None, ())
    state.restore()
    assert {key: devices.claim(key) for key in devices.claims} == before
    assert sorted(scheduler.cluster.pods) == ["default/a", "default/b"]


def test_a_running_pod_is_explained_as_if_its_devices_were_free() -> None:
    scheduler = pw.Scheduler()
    scheduler.add(*cluster(1, 1), *allocated("a", "gpu-0", 0))
    devices = scheduler.cluster.devices
    before = devices.claim("default/a-gpu")
    found = scheduler.explain_again("default/a")
    assert sorted(found.feasible) == ["n0", "n1"]
    assert devices.claim("default/a-gpu") == before
    assert before is not None
    assert before.status.allocation is not None


def test_devices_of_extended_resources_and_shared_claims() -> None:
    claim, plain = allocated("a", "gpu-0", 0)
    pod: dict[str, Any] = plain.raw
    extended = {"requestMappings": [], "resourceClaimName": "a-gpu"}
    spec = {name: value for name, value in pod["spec"].items() if name != "resourceClaims"}
    status = {"phase": "Running", "extendedResourceClaimStatus": extended}
    scheduler = pw.Scheduler()
    scheduler.add(*cluster(2), claim, decode(pod | {"spec": spec, "status": status}))
    devices = scheduler.cluster.devices
    scheduler.withdraw("default/a")
    found = devices.claim("default/a-gpu")
    assert found is not None
    assert (found.status.allocation, found.status.reserved_for) == (None, ())
    # Another pod that uses the claim keeps its devices.
    scheduler = pw.Scheduler()
    users = [*claim.raw["status"]["reservedFor"], {"resource": "pods", "name": "b", "uid": "b"}]
    shared = decode(claim.raw | {"status": claim.raw["status"] | {"reservedFor": users}})
    scheduler.add(*cluster(2), shared, plain)
    scheduler.withdraw("default/a")
    left = scheduler.cluster.devices.claim("default/a-gpu")
    assert left is not None
    assert left.status.allocation is not None
    assert [user.uid for user in left.status.reserved_for] == ["b"]
