"""Plans for the claims of a pod: labels of its volumes, namespaces, ports and devices of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import decode, decode_pod, encode, with_fields
from podwright.scheduler.advice.claim_fixes import ClaimFixes
from podwright.scheduler.advice.device_fixes import DeviceFixes, DeviceNames
from podwright.scheduler.advice.device_refusals import DeviceRefusals
from podwright.scheduler.advice.tests.test_device_advice import (
    _FAILED,
    _allocated,
    _claim,
    _devices,
    _explained,
    _holder,
    _in,
    _object,
    _pod_with_claim,
    _refusals,
    _request,
)
from podwright.scheduler.advice.tests.test_plans import fixes, shown, storage_class
from podwright.scheduler.advice.tests.test_remedies import (
    bound_claim,
    claim,
    claims_of,
    pending,
    placed,
)
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import DEFAULT_GATES
from podwright.testing import make_node, make_pod


def term(**labels: str) -> dict[str, Any]:
    return {
        "matchExpressions": [
            {"key": key, "operator": "In", "values": [value]} for key, value in labels.items()
        ]
    }


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([term(rack="1")], {"rack": "1"}, id="one term"),
        pytest.param([term(rack="1"), term(rack="2")], {"rack": "1"}, id="the first of two"),
        pytest.param([term(rack="1"), term(row="2")], {"rack": "1"}, id="and no other one"),
        pytest.param(
            [term(rack="1", row="2"), term(row="3")], {"rack": "1", "row": "2"}, id="all its labels"
        ),
        pytest.param([{}, term(rack="1")], {}, id="the first has no labels"),
        pytest.param([], {}, id="no terms"),
        pytest.param(None, {}, id="no affinity"),
    ],
)
def test_a_node_gets_the_labels_of_the_first_term(
    terms: list[dict[str, Any]] | None, expected: dict[str, str]
) -> None:
    bound, volume = bound_claim("a")
    affinity = {} if terms is None else {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    scheduler = Scheduler()
    scheduler.add(bound, decode(volume.raw | {"spec": volume.raw["spec"] | affinity}))
    found = ClaimFixes(pending(volumes=claims_of("a")), scheduler.cluster)
    assert found.volume_labels(make_node("n")) == expected


def test_a_node_gets_the_labels_of_all_volumes() -> None:
    scheduler = Scheduler()
    for name, key in (("a", "rack"), ("b", "row")):
        bound, volume = bound_claim(name)
        required = {"nodeSelectorTerms": [term(**{key: name})]}
        spec = volume.raw["spec"] | {"nodeAffinity": {"required": required}}
        scheduler.add(bound, decode(volume.raw | {"spec": spec}))
    found = ClaimFixes(pending(volumes=claims_of("a", "gone", "b")), scheduler.cluster)
    assert found.volume_labels(make_node("n", labels={"row": "b"})) == {"rack": "a"}
    assert found.volume_labels(make_node("n")) == {"rack": "a", "row": "b"}


def test_claims_belong_to_the_namespace_of_the_pod() -> None:
    scheduler = Scheduler()
    pod = with_fields(pending(volumes=claims_of("a", "b")), "metadata", namespace="team")
    # A claim of the same name in another namespace is not the pod's.
    scheduler.add(make_node("n"), claim("a", "s"), storage_class("s"), pod)
    (plan,) = ClaimFixes(pod, scheduler.cluster).plans()
    made = [obj for edit in plan for obj in edit.put]
    assert [obj.key for obj in made] == ["team/a", "team/b"]


@pytest.mark.parametrize(
    ("ports", "used", "plans"),
    [
        pytest.param([65_533], [65_533], ["use hostPort 65534 instead of 65533"], id="the next"),
        pytest.param([65_534], [65_534], ["use hostPort 65535 instead of 65534"], id="the last"),
        pytest.param([65_535], [65_535], [], id="none is behind the last"),
        pytest.param(
            [80], [80, 81, 83], ["use hostPort 82 instead of 80"], id="the first that is free"
        ),
        pytest.param([80, 81], [80], ["use hostPort 82 instead of 80"], id="none of the pod's own"),
        pytest.param([65_534, 65_535], [65_534], [], id="all behind it are in use"),
    ],
)
def test_a_host_port_moves_to_the_next_free_one(
    ports: list[int], used: list[int], plans: list[str]
) -> None:
    def with_ports(numbers: list[int]) -> list[dict[str, Any]]:
        return [
            {"name": "c", "ports": [{"containerPort": 1, "hostPort": each} for each in numbers]}
        ]

    node = make_node("n")
    found = fixes(
        pending(containers=with_ports(ports)), node, placed("o", "n", containers=with_ports(used))
    )
    moved = [text for plan in shown(found.of_node("n")) for text, _ in plan if "use" in text]
    assert moved == plans


@pytest.mark.parametrize(
    ("expressions", "texts"),
    [
        pytest.param([("rack", "In", "1")], [], id="a label of the node"),
        pytest.param([("rack", "In", "2")], ["other nodes"], id="another value"),
        pytest.param([("row", "In", "1")], ["other nodes"], id="a label that it lacks"),
        pytest.param([("row", "NotIn", "1")], [], id="without a label"),
        pytest.param([("rack", "NotIn", "1")], ["other nodes"], id="without its label"),
    ],
)
def test_devices_are_unavailable_by_the_labels_of_a_node(
    expressions: list[tuple[str, str, str]], texts: list[str]
) -> None:
    pod = pending(resourceClaims=[{"name": "c", "resourceClaimName": "c"}])
    written = [{"key": key, "operator": op, "values": [value]} for key, op, value in expressions]
    allocation = {
        "devices": {"results": []},
        "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": written}]},
    }
    scheduler = Scheduler()
    scheduler.add(make_node("n", labels={"rack": "1"}), pod)
    scheduler.add(
        _object(
            "ResourceClaim",
            "c",
            {"devices": {"requests": [_request()]}},
            status={"allocation": allocation},
        )
    )
    found = DeviceRefusals(pod, scheduler.cluster, DEFAULT_GATES).unavailable("n")
    assert found == [f"claim default/c has devices for {text}" for text in texts]


def test_claims_that_are_not_generated_yet_have_no_plans() -> None:
    entries = [
        {"name": "made", "resourceClaimTemplateName": "t"},
        {"name": "later", "resourceClaimTemplateName": "t"},
        {"name": "own", "resourceClaimName": "c"},
    ]
    pod = pending(resourceClaims=entries)
    statuses = [{"name": "made", "resourceClaimName": "pod-made"}]
    pod = decode_pod(pod.raw | {"status": {"resourceClaimStatuses": statuses}})
    node = make_node("n")
    scheduler = Scheduler()
    scheduler.add(node, pod)
    refusals = DeviceRefusals(pod, scheduler.cluster, DEFAULT_GATES)
    assert DeviceFixes(pod, scheduler.cluster, refusals).of_node(node) == []


def test_devices_for_a_resource_are_searched_on_nodes_that_do_not_have_it_themselves() -> None:
    backing = _object("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"})
    scheduler = Scheduler()
    pod = make_pod("web", resources={"example.com/gpu": "2"})
    nodes = [
        make_node(name, resources={"example.com/gpu": amount})
        for name, amount in (("own", "1"), ("none", "0"))
    ]
    scheduler.add(backing, *nodes, make_node("other"), pod)
    refusals = DeviceRefusals(pod, scheduler.cluster, DEFAULT_GATES)
    found = {name: len(refusals.of_node(name).requests) for name in ("own", "none", "other")}
    assert found == {"own": 0, "none": 1, "other": 1}


def test_a_new_node_has_the_devices_of_the_one_that_it_is_like() -> None:
    found, _, _ = _explained(_devices("new"), _claim(_request()), *_holder("a"))
    assert [remedy.text for remedy in found] == ["delete pod default/a", "add a node like n"]
    _, published = found[1].put
    assert (published.kind, encode(published)["spec"]["nodeName"]) == ("ResourceSlice", "n-new-1")


@pytest.mark.parametrize(
    ("member", "meant"),
    [("mem", "memory"), ("memry", "memory"), ("memory", None), ("colour", None)],
)
def test_the_name_of_a_capacity_is_compared_without_what_is_before_it(
    member: str, meant: str | None
) -> None:
    devices: Any = _devices("new", capacity={"memory": {"value": "1Gi"}})
    expression = f'device.capacity["gpu.example.com"].{member}.isLessThan(quantity("2Gi"))'
    found = DeviceNames.of([devices]).corrections(expression)
    assert found == ({} if meant is None else {f"].{member}": f"].{meant}"})


def test_a_claim_without_devices_yet_keeps_the_pod_from_no_node() -> None:
    refusals = _refusals(_pod_with_claim(), _claim(_request()))
    assert refusals.unavailable("n") == []


@pytest.mark.parametrize("is_enabled", [True, False])
def test_a_failed_binding_counts_if_devices_have_binding_conditions(is_enabled: bool) -> None:
    gates = f"DRADeviceBindingConditions={str(is_enabled).lower()}"
    claim = _allocated({"matchFields": [_in("metadata.name", "n")]}, devices=[_FAILED])
    found = _refusals(_pod_with_claim(), claim, gates=gates).unavailable("n")
    assert ["binding failed" in text for text in found] == [True] * is_enabled
