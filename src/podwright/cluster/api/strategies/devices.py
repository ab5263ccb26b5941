"""How the objects of resource.k8s.io are prepared for a write.

Upstream: pkg/registry/resource/*/strategy.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document, timestamp_text
from podwright.cluster.api.strategies.parts import with_part, without


def without_deallocated(status: Document, before: Document) -> Document:
    """Return the status of a claim without what drivers say about devices that it loses.

    Upstream: pkg/registry/resource/resourceclaim/strategy.go, dropDeallocatedStatusDevices
    """
    devices = status.get("devices")
    if not devices:
        return status
    lost = _allocated(before) - _allocated(status)
    kept = [each for each in devices if device_key(each) not in lost]
    return with_part(status, "devices", kept or None)


def _allocated(status: Document) -> set[tuple[str | None, ...]]:
    devices: Document = (status.get("allocation") or {}).get("devices") or {}
    return {device_key(each) for each in devices.get("results") or ()}


def device_key(entry: Document) -> tuple[str | None, ...]:
    """Return what names a device in a claim: driver, pool, device and share."""
    return tuple(entry.get(name) for name in ("driver", "pool", "device", "shareID"))


def new_slice(resource_slice: Document, now_ns: int) -> Document:
    """Return a slice whose device taints have a time.

    Upstream: pkg/apis/resource/v1/defaults.go, SetDefaults_DeviceTaint
    """
    spec: Document = resource_slice.get("spec") or {}
    devices = spec.get("devices")
    if not devices or not any(device.get("taints") for device in devices):
        return resource_slice
    time = {"timeAdded": timestamp_text(now_ns)}
    changed = [
        device | {"taints": [time | taint for taint in device["taints"]]}
        if device.get("taints")
        else device
        for device in devices
    ]
    return resource_slice | {"spec": spec | {"devices": changed}}


def changed_slice(new: Document, _old: Document, now_ns: int) -> Document:
    """Return a changed slice, whose device taints have a time."""
    return new_slice(new, now_ns)


def new_taint_rule(rule: Document, now_ns: int) -> Document:
    """Return a rule without status, whose taint has a time.

    Upstream: pkg/registry/resource/devicetaintrule/strategy.go
    """
    spec: Document = rule.get("spec") or {}
    taint = {"timeAdded": timestamp_text(now_ns)} | (spec.get("taint") or {})
    return without(rule, "status") | {"spec": spec | {"taint": taint}}


def changed_taint_rule(new: Document, old: Document, now_ns: int) -> Document:
    """Return a changed rule: another effect is added now, unless the client sets another time."""
    taints = [(each.get("spec") or {}).get("taint") or {} for each in (new, old)]
    effects, times = ({taint.get(name) for taint in taints} for name in ("effect", "timeAdded"))
    if len(effects) == 2 and len(times) == 1:
        new = new | {"spec": new["spec"] | {"taint": without(taints[0], "timeAdded")}}
    return with_part(new_taint_rule(new, now_ns), "status", old.get("status"))
