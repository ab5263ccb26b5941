"""Fields and kinds of devices that need a feature gate which is off are reported."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.scheduler.config import DEFAULT_GATES, parse_gates
from podwright.simulation.files import Sourced, disabled_fields

DEVICE: dict[str, Any] = {
    "name": "d0",
    "taints": [{"key": "k", "effect": "NoSchedule"}],
    "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
    "nodeName": "n",
    "bindsToNode": True,
    "bindingConditions": ["Ready"],
    "bindingFailureConditions": ["Failed"],
    "allowMultipleAllocations": True,
    "capacity": {"memory": {"value": "8Gi", "requestPolicy": {"default": "1Gi"}}},
}
EXACTLY: dict[str, Any] = {
    "deviceClassName": "gpu",
    "allocationMode": "ExactCount",
    "count": 1,
    "tolerations": [{"operator": "Exists"}],
    "capacity": {"requests": {"memory": "1Gi"}},
}
SUBREQUEST = EXACTLY | {"name": "a"}
CLAIM: dict[str, Any] = {
    "devices": {
        "requests": [
            {"name": "one", "exactly": EXACTLY},
            {"name": "two", "firstAvailable": [SUBREQUEST]},
        ],
        "constraints": [{"distinctAttribute": "x/y"}],
    }
}
SLICE: dict[str, Any] = {
    "driver": "gpu.example.com",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "perDeviceNodeSelection": True,
    "devices": [{"name": "plain"}, DEVICE],
}
COUNTERS = {
    "driver": "gpu.example.com",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "nodeName": "n",
    "sharedCounters": [{"name": "s", "counters": {"c": {"value": "2"}}}],
}
LISTS = SLICE | {"devices": [{"name": "d", "attributes": {"a": {"strings": ["x"]}}}]}


def sourced(kind: str, spec: dict[str, Any], version: str = "v1", name: str = "x") -> Sourced:
    document = {"apiVersion": f"resource.k8s.io/{version}", "kind": kind}
    return Sourced("a.yaml", decode(document | {"metadata": {"name": name}, "spec": spec}))


INPUT = (
    sourced("ResourceSlice", SLICE),
    sourced("ResourceSlice", COUNTERS, name="counters"),
    sourced("ResourceClaim", CLAIM),
    sourced("ResourceClaimTemplate", {"spec": CLAIM}),
    sourced("DeviceClass", {"extendedResourceName": "a.com/gpu"}),
)
REQUESTS = "devices.requests.*"
DEVICES = "spec.devices.*"


def of_claims(*paths: str) -> set[str]:
    return {
        f"{kind} x: {prefix}.{path}"
        for kind, prefix in (("ResourceClaim", "spec"), ("ResourceClaimTemplate", "spec.spec"))
        for path in paths
    }


def of_slice(*paths: str) -> set[str]:
    return {f"ResourceSlice x: {path}" for path in paths}


BINDING = of_slice(
    f"{DEVICES}.bindsToNode",
    f"{DEVICES}.bindingConditions",
    f"{DEVICES}.bindingFailureConditions",
)


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("DRAExtendedResource", {"DeviceClass x: spec.extendedResourceName"}),
        ("DRAPrioritizedList", of_claims(f"{REQUESTS}.firstAvailable")),
        (
            "DRADeviceTaints",
            of_claims(f"{REQUESTS}.exactly.tolerations", f"{REQUESTS}.firstAvailable.*.tolerations")
            | of_slice(f"{DEVICES}.taints"),
        ),
        (
            "DRAPartitionableDevices",
            of_slice(
                "spec.perDeviceNodeSelection", f"{DEVICES}.consumesCounters", f"{DEVICES}.nodeName"
            )
            | {"ResourceSlice counters: spec.sharedCounters"},
        ),
        ("DRADeviceBindingConditions", BINDING),
        (
            "DRAConsumableCapacity",
            of_claims(
                f"{REQUESTS}.exactly.capacity",
                f"{REQUESTS}.firstAvailable.*.capacity",
                "devices.constraints.*.distinctAttribute",
            )
            | of_slice(
                f"{DEVICES}.allowMultipleAllocations", f"{DEVICES}.capacity.*.requestPolicy"
            ),
        ),
    ],
)
def test_each_field_of_a_disabled_gate_is_reported(gate: str, expected: set[str]) -> None:
    assert list(disabled_fields(INPUT, DEFAULT_GATES)) == []
    found = list(disabled_fields(INPUT, parse_gates(f"{gate}=false")))
    end = f" needs the feature gate {gate}, which is off"
    assert {text.removeprefix("a.yaml: ").removesuffix(end) for text in found} == expected
    assert all(text.endswith(end) for text in found)


def test_fields_of_alpha_gates_are_reported_once_for_all_objects() -> None:
    lists = [sourced("ResourceSlice", LISTS, name=name) for name in "abc"]
    assert list(disabled_fields(lists, DEFAULT_GATES)) == [
        "a.yaml: ResourceSlice a (and 2 more): spec.devices.*.attributes.*.strings needs the"
        " feature gate DRAListTypeAttributes, which is off"
    ]


def test_a_rule_that_taints_devices_is_reported_unless_its_gate_is_on() -> None:
    rule = sourced("DeviceTaintRule", {"taint": {"key": "k", "effect": "NoSchedule"}}, "v1beta2")
    assert list(disabled_fields([rule], DEFAULT_GATES)) == [
        "a.yaml: DeviceTaintRule x: needs the feature gate DRADeviceTaintRules, which is off"
    ]
    assert list(disabled_fields([rule], parse_gates("DRADeviceTaintRules=true"))) == []


def test_kinds_of_other_groups_have_no_gates() -> None:
    off = parse_gates("DRAConsumableCapacity=false")
    claim = {"apiVersion": "example.com/v1", "kind": "ResourceClaim", "metadata": {"name": "x"}}
    assert list(disabled_fields([Sourced("a.yaml", decode(claim | {"spec": CLAIM}))], off)) == []
