"""Fields and kinds of devices among the input whose feature gate is off.

A kube-apiserver with the gate off drops such a field when an object is written, and does not serve
such a kind. From files, both reach the scheduler, which ignores most of them and rejects pods for
the others, as kube-scheduler does.

Upstream: pkg/registry/resource/{deviceclass,resourceclaim,resourceslice}/strategy.go and
pkg/api/resourceclaimspec, `DropDisabledFields`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from podwright.config import Gates
from podwright.files.object_reader import Sourced
from podwright.objects import encode

_GROUP: Final = "resource.k8s.io"


class _Gated(NamedTuple):
    """A field, as a path in which `*` is each element of a list or each value of a map."""

    gates: tuple[str, ...]
    path: str


_CAPACITY: Final = ("DRAConsumableCapacity",)
_PARTITIONS: Final = ("DRAPartitionableDevices",)
_BINDING: Final = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
_TAINTS: Final = ("DRADeviceTaints",)
_LISTS: Final = ("DRAListTypeAttributes",)

_OF_CLAIM: Final = (
    _Gated(("DRAPrioritizedList",), "devices.requests.*.firstAvailable"),
    _Gated(_TAINTS, "devices.requests.*.exactly.tolerations"),
    _Gated(_TAINTS, "devices.requests.*.firstAvailable.*.tolerations"),
    _Gated(_CAPACITY, "devices.requests.*.exactly.capacity"),
    _Gated(_CAPACITY, "devices.requests.*.firstAvailable.*.capacity"),
    _Gated(_CAPACITY, "devices.constraints.*.distinctAttribute"),
)

_FIELDS: Final[dict[str, tuple[_Gated, ...]]] = {
    "DeviceClass": (_Gated(("DRAExtendedResource",), "spec.extendedResourceName"),),
    "ResourceClaim": tuple(_Gated(each.gates, f"spec.{each.path}") for each in _OF_CLAIM),
    "ResourceClaimTemplate": tuple(
        _Gated(each.gates, f"spec.spec.{each.path}") for each in _OF_CLAIM
    ),
    "ResourceSlice": (
        _Gated(_TAINTS, "spec.devices.*.taints"),
        _Gated(_PARTITIONS, "spec.sharedCounters"),
        _Gated(_PARTITIONS, "spec.perDeviceNodeSelection"),
        _Gated(_PARTITIONS, "spec.devices.*.consumesCounters"),
        _Gated(_PARTITIONS, "spec.devices.*.nodeName"),
        _Gated(_PARTITIONS, "spec.devices.*.nodeSelector"),
        _Gated(_PARTITIONS, "spec.devices.*.allNodes"),
        _Gated(_BINDING, "spec.devices.*.bindsToNode"),
        _Gated(_BINDING, "spec.devices.*.bindingConditions"),
        _Gated(_BINDING, "spec.devices.*.bindingFailureConditions"),
        _Gated(_CAPACITY, "spec.devices.*.allowMultipleAllocations"),
        _Gated(_CAPACITY, "spec.devices.*.capacity.*.requestPolicy"),
        _Gated(("DRANodeAllocatableResources",), "spec.devices.*.nodeAllocatableResourceMappings"),
        _Gated(_LISTS, "spec.devices.*.attributes.*.bools"),
        _Gated(_LISTS, "spec.devices.*.attributes.*.ints"),
        _Gated(_LISTS, "spec.devices.*.attributes.*.strings"),
        _Gated(_LISTS, "spec.devices.*.attributes.*.versions"),
    ),
}
_KINDS: Final = {"DeviceTaintRule": ("DRADeviceTaintRules",)}


def disabled_fields(sourced: Iterable[Sourced], gates: Gates) -> Iterator[str]:
    """Return a warning for each field or kind whose gate is off; the first object is named."""
    fields = {
        kind: [gated for gated in each if _off(gated.gates, gates)]
        for kind, each in _FIELDS.items()
    }
    found: dict[tuple[str, str, str], list[Sourced]] = {}
    for entry in sourced:
        obj = entry.object
        if obj.api_version.partition("/")[0] != _GROUP:
            continue
        if obj.kind in _KINDS:
            for gate in _off(_KINDS[obj.kind], gates):
                found.setdefault((obj.kind, "", gate), []).append(entry)
        looked_for = fields.get(obj.kind)
        if not looked_for:
            continue
        document = encode(obj)
        for gated in looked_for:
            if _has(document, gated.path.split(".")):
                for gate in _off(gated.gates, gates):
                    found.setdefault((obj.kind, gated.path, gate), []).append(entry)
    for (kind, path, gate), entries in found.items():
        first, others = entries[0], len(entries) - 1
        more = f" (and {others} more)" if others else ""
        what = f"{path} needs" if path else "needs"
        yield (
            f"{first.source}: {kind} {first.object.name}{more}: {what} the feature gate {gate},"
            " which is off"
        )


def _off(names: tuple[str, ...], gates: Gates) -> list[str]:
    return [name for name in names if name not in gates]


def _has(value: Any, path: list[str]) -> bool:
    """Return whether a field is set; an empty list or map is not."""
    if not path:
        return value is not None and value not in ([], {})
    name, *rest = path
    if name == "*":
        values = value.values() if isinstance(value, dict) else value or ()
        return any(_has(each, rest) for each in values)
    return isinstance(value, dict) and _has(value.get(name), rest)
