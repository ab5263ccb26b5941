"""Resource claims in a world: created, allocated, shared, and freed."""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object, ResourceClaim
from podwright.apimachinery.schema import decode
from podwright.simulation.recording.log.replay import replay

GROUP = "resource.k8s.io/v1"


def obj(kind: str, name: str, spec: dict[str, Any], api_version: str = GROUP) -> Object:
    metadata = {"name": name}
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


def request(**fields: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1} | fields
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}


DRIVER = "gpu.example.com"
CLASS = obj(
    "DeviceClass", "gpu", {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}
)
TEMPLATE = obj("ResourceClaimTemplate", "one-gpu", {"spec": request()})


def devices(*names: str) -> Object:
    return obj(
        "ResourceSlice",
        "n-gpus",
        {
            "driver": DRIVER,
            "nodeName": "n",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": name} for name in names],
        },
    )


def pod(name: str, **claim: str) -> Object:
    claims = [{"name": "gpu", **claim}]
    containers = [{"name": "c", "image": "app", "resources": {"claims": [{"name": "gpu"}]}}]
    return obj("Pod", name, {"containers": containers, "resourceClaims": claims}, "v1")


def world_of(*objects: Object) -> pw.World:
    world = pw.World(seed=1)
    world.add(pw.testing.make_node("n", cpu="8"), CLASS, *objects)
    return world


def claims_in(world: pw.World) -> dict[str, ResourceClaim]:
    claims = world.store.list((GROUP.partition("/")[0], "ResourceClaim")).objects
    return {each.key: each for each in claims if isinstance(each, ResourceClaim)}


def pods_in(world: pw.World) -> list[pw.Pod]:
    return [each for each in world.store.list(("", "Pod")).objects if isinstance(each, pw.Pod)]


def test_pods_of_a_template_get_claims_of_their_own_and_one_waits() -> None:
    pods = [pod(name, resourceClaimTemplateName="one-gpu") for name in ("a", "b", "c")]
    world = world_of(TEMPLATE, devices("gpu-0", "gpu-1"), *pods)
    run = world.run()
    assert sum(1 for node in run.node_of.values() if node) == 2
    claims = claims_in(world).values()
    allocated = [claim.status.allocation for claim in claims if claim.status.allocation]
    used = [result.device for each in allocated for result in each.devices.results]
    assert sorted(used) == ["gpu-0", "gpu-1"]
    assert len(claims) == 3


def test_a_deleted_pod_frees_its_device_for_the_next_one() -> None:
    pods = [pod(name, resourceClaimTemplateName="one-gpu") for name in ("a", "b")]
    world = world_of(TEMPLATE, devices("gpu-0"), *pods)
    world.run()
    (first,) = [each for each in pods_in(world) if each.spec.node_name]
    world.remove(first)
    world.run("10m")
    (left,) = pods_in(world)
    assert left.spec.node_name == "n"
    (claim,) = claims_in(world).values()
    assert claim.status.reserved_for[0].uid == left.uid


def test_pods_share_a_claim_which_is_freed_with_the_last_of_them() -> None:
    shared = obj("ResourceClaim", "shared", request())
    pods = [pod(name, resourceClaimName="shared") for name in ("a", "b")]
    world = world_of(shared, devices("gpu-0"), *pods)
    run = world.run()
    assert set(run.node_of.values()) == {"n"}
    assert len(claims_in(world)["default/shared"].status.reserved_for) == 2
    world.remove(*pods_in(world))
    world.run("10m")
    freed = claims_in(world)["default/shared"]
    assert freed.status.allocation is None
    assert freed.metadata.finalizers == ()


def test_an_extended_resource_gets_a_claim_that_goes_with_its_pod() -> None:
    backed = obj("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"})
    requests = {"limits": {"example.com/gpu": "1"}}
    containers = [{"name": "c", "image": "app", "resources": requests}]
    world = world_of(backed, devices("gpu-0"), obj("Pod", "p", {"containers": containers}, "v1"))
    assert world.run().node_of["default/p"] == "n"
    (claim,) = claims_in(world).values()
    (placed,) = pods_in(world)
    mapped = placed.raw["status"]["extendedResourceClaimStatus"]
    assert mapped["resourceClaimName"] == claim.name
    assert claim.status.allocation is not None
    world.remove(placed)
    world.run("10m")
    assert claims_in(world) == {}


def test_a_missing_template_is_reported_and_its_arrival_continues() -> None:
    world = world_of(devices("gpu-0"), pod("a", resourceClaimTemplateName="one-gpu"))
    world.run()
    assert not pods_in(world)[0].spec.node_name
    world.add(TEMPLATE)
    world.run("10m")
    assert pods_in(world)[0].spec.node_name == "n"


def test_a_run_with_claims_is_replayed_to_the_same_decisions() -> None:
    pods = [pod(name, resourceClaimTemplateName="one-gpu") for name in ("a", "b", "c")]
    run = world_of(TEMPLATE, devices("gpu-0", "gpu-1"), *pods).run()
    machine = replay(run.log)
    nodes = machine.cluster.nodes.names
    placed = {key: nodes[each.slot] for key, each in machine.cluster.pods.items()}
    assert placed == {key: node for key, node in run.node_of.items() if node}
    assert len(machine.cluster.devices.allocated.dedicated) == 2
    for key in run.node_of:
        explained = run.explain(key).decision
        assert (explained.node or None) == (run.node_of[key] or None)


class Refusing(pw.Plugin):
    """Fails every binding."""

    name = "Refusing"

    def pre_bind(self, cycle: pw.Cycle, node_name: str) -> pw.Status:
        """Fail after the devices were allocated."""
        return pw.Status.error("no license")


def test_a_binding_that_fails_releases_the_claim() -> None:
    claim = obj("ResourceClaim", "shared", request())
    world = pw.World(seed=1, plugins=[Refusing])
    world.add(pw.testing.make_node("n", cpu="8"), CLASS, claim, devices("gpu-0"))
    world.add(pod("web", resourceClaimName="shared"))
    world.run_until_ns(world.now_ns + 500_000_000)
    (found,) = claims_in(world).values()
    assert not found.status.reserved_for


@pytest.mark.parametrize(
    ("gates", "remaining"),
    [
        pytest.param("", 0, id="by default"),
        pytest.param("DRADeviceTaints=false", 1, id="without device taints"),
    ],
)
def test_pods_with_tainted_devices_are_evicted_if_the_gate_is_on(
    gates: str, remaining: int
) -> None:
    world = pw.World(seed=1, gates=pw.parse_gates(gates))
    # The claim tolerates the taint for some time only.
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    template = obj("ResourceClaimTemplate", "one-gpu", {"spec": request(tolerations=[toleration])})
    document = devices("gpu-0").raw
    tainted = {"name": "gpu-0", "taints": [{"key": "broken", "effect": "NoExecute"}]}
    published = decode(document | {"spec": document["spec"] | {"devices": [tainted]}})
    lone = pod("a", resourceClaimTemplateName="one-gpu")
    world.add(pw.testing.make_node("n", cpu="8"), CLASS, template, published, lone)
    world.run()
    assert len(pods_in(world)) == remaining


def attaching(binding: dict[str, str]) -> Object:
    document = devices("gpu-0").raw
    device = {
        "name": "gpu-0",
        "bindsToNode": True,
        "bindingConditions": ["Attached"],
        "bindingFailureConditions": ["AttachFailed"],
    }
    annotations = {f"podwright.dev/binding-{key}": text for key, text in binding.items()}
    metadata = document["metadata"] | {"annotations": annotations}
    return decode(
        document | {"metadata": metadata, "spec": document["spec"] | {"devices": [device]}}
    )


def test_a_pod_is_bound_when_the_driver_has_attached_its_device() -> None:
    lone = pod("a", resourceClaimTemplateName="one-gpu")
    world = world_of(TEMPLATE, attaching({"delay": "12s"}), lone)
    world.run(until="11s")
    assert not pods_in(world)[0].spec.node_name
    world.run()
    assert pods_in(world)[0].spec.node_name == "n"
    (claim,) = claims_in(world).values()
    (device,) = claim.raw["status"]["devices"]
    condition, ready = device["conditions"]
    assert (condition["type"], condition["status"]) == ("Attached", "True")
    assert (ready["type"], ready["status"]) == ("Ready", "True")
    assert condition["lastTransitionTime"] == "2026-01-01T00:00:12Z"


def test_a_run_ends_although_a_device_can_never_be_attached() -> None:
    lone = pod("a", resourceClaimTemplateName="one-gpu")
    world = world_of(TEMPLATE, attaching({"failure": "no cable"}), lone)
    run = world.run()
    assert run.node_of == {}
    (claim,) = claims_in(world).values()
    assert claim.status.allocation is None


def test_a_pod_waits_until_the_rule_that_taints_its_device_is_deleted() -> None:
    spec = {"deviceSelector": {"pool": "n"}, "taint": {"key": "k", "effect": "NoSchedule"}}
    rule = obj("DeviceTaintRule", "broken", spec, f"{GROUP}beta2")
    world = pw.World(seed=1, gates=pw.parse_gates("DRADeviceTaintRules=true"))
    lone = pod("a", resourceClaimTemplateName="one-gpu")
    node = pw.testing.make_node("n", cpu="8")
    world.add(node, CLASS, TEMPLATE, devices("gpu-0"), rule, lone)
    world.run(until="10s")
    assert not pods_in(world)[0].spec.node_name
    world.remove(rule)
    # Without the event of the slice the pod would wait for five minutes.
    world.run(until="30s")
    assert pods_in(world)[0].spec.node_name == "n"


def slow_to_prepare(delay: str) -> Object:
    document = devices("gpu-0").raw
    metadata = {
        "name": f"n-{DRIVER}-0",
        "annotations": {"podwright.dev/prepare-delay": delay},
    }
    return decode(document | {"metadata": metadata})


def test_a_pod_runs_when_its_devices_are_prepared_and_they_are_cleaned_up_with_it() -> None:
    world = world_of(TEMPLATE, slow_to_prepare("7s"), pod("a", resourceClaimTemplateName="one-gpu"))
    world.run_until("6s")
    (first,) = pods_in(world)
    assert (first.spec.node_name, first.status.phase) == ("n", "Pending")
    (claim,) = claims_in(world).values()
    assert "devices" not in claim.raw["status"]
    world.run_until("7s")
    assert pods_in(world)[0].status.phase == "Running"
    (claim,) = claims_in(world).values()
    (device,) = claim.raw["status"]["devices"]
    (condition,) = device["conditions"]
    assert (condition["type"], condition["lastTransitionTime"]) == ("Ready", "2026-01-01T00:00:07Z")
    world.remove(first)
    world.run_until("1m")
    assert claims_in(world) == {}


def test_a_shared_claim_is_prepared_once_and_cleaned_up_with_its_last_pod() -> None:
    shared = obj("ResourceClaim", "shared", request())
    world = world_of(shared, slow_to_prepare("7s"), pod("a", resourceClaimName="shared"))
    world.add(pod("b", resourceClaimName="shared"), at="10s")
    world.run_until("10s")
    assert [each.status.phase for each in pods_in(world)] == ["Running", "Running"]
    world.remove(*pods_in(world))
    world.run_until("1m")
    (claim,) = claims_in(world).values()
    assert not claim.raw["status"].get("devices")
    assert claim.status.allocation is None


def test_a_pod_whose_claim_cannot_be_prepared_does_not_start_and_the_run_ends() -> None:
    document = obj("ResourceClaim", "broken", request()).raw
    annotations = {"podwright.dev/prepare-error": "no firmware"}
    claim = decode(document | {"metadata": {"name": "broken", "annotations": annotations}})
    world = world_of(claim, devices("gpu-0"), pod("a", resourceClaimName="broken"))
    run = world.run()
    assert run.node_of == {"default/a": "n"}
    assert pods_in(world)[0].status.phase == "Pending"
