"""Resizes of running pods in place: what is allocated, what is actual, and what has to wait.

A resize that fits the node is allocated and actuated in one sync. One that does not fit is deferred
and tried again.

Upstream: pkg/kubelet/allocation/allocation_manager.go, handlePodResourcesResize;
pkg/kubelet/events/resize.go
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, Pod
from podwright.cluster.kubelets.kubelet.kubelet_node import KubeletNode
from podwright.cluster.kubelets.kubelet.pod_records import PodRecord

RETRY_NS: Final = 10_000_000_000

_RESIZED: Final = ("requests", "limits")


class Resize(msgspec.Struct, frozen=True):
    """The outcome of a resize.

    Attributes
    ----------
    event : tuple of str
        Type, reason and note of its Event.
    restarts : list of str
        The containers that have to restart.
    """

    events: list[tuple[str, str, str]]
    restarts: list[str]


def resize(pod: Pod, record: PodRecord, node: KubeletNode) -> Resize | None:
    """Allocate and actuate the resources of a pod's spec; None if nothing changes.

    A resize that has to wait is in `record.resize` afterwards.
    """
    spec = pod.raw.get("spec") or {}
    changed = []
    for container in chain(spec.get("initContainers") or (), spec.get("containers") or ()):
        resources = _resources(container)
        allocated = record.allocated.setdefault(container["name"], resources)
        if allocated is not resources and _parts(allocated) != _parts(resources):
            changed.append((container, allocated))
    if not changed:
        record.resize = None
        return None
    generation = int(pod.raw["metadata"].get("generation") or 0)
    rejection = node.admit(pod)
    if rejection is not None:
        before, record.resize = record.resize, ("Deferred", rejection.message, generation)
        if before is not None and (before[0], before[2]) == ("Deferred", generation):
            return None
        note = f"Pod resize Deferred: {_summary(spec, generation, rejection.message)}"
        return Resize([("Warning", "ResizeDeferred", note)], [])
    record.resize = None
    restarts = []
    for container, allocated in changed:
        if _needs_restart(container, allocated, _resources(container)):
            restarts.append(container["name"])
        record.allocated[container["name"]] = _resources(container)
    text = _summary(spec, generation)
    events = [
        ("Normal", "ResizeStarted", f"Pod resize started: {text}"),
        ("Normal", "ResizeCompleted", f"Pod resize completed: {text}"),
    ]
    return Resize(events, restarts)


def _resources(container: Document) -> Document:
    found: Document = container.get("resources") or {}
    return found


def _parts(resources: Document) -> list[Any]:
    return [resources.get(part) or {} for part in _RESIZED]


def _needs_restart(container: Document, before: Document, after: Document) -> bool:
    """Whether a resource changes whose resize policy restarts the container."""
    policies = {
        policy["resourceName"]: policy.get("restartPolicy")
        for policy in container.get("resizePolicy") or ()
    }
    return any(
        policies.get(name) == "RestartContainer"
        and any(
            (before.get(part) or {}).get(name) != (after.get(part) or {}).get(name)
            for part in _RESIZED
        )
        for name in ("cpu", "memory")
    )


def _summary(spec: Document, generation: int, error: str = "") -> str:
    parts: Document = {}
    for field in ("initContainers", "containers"):
        entries = [
            {"name": container["name"], "resources": _resources(container)}
            for container in spec.get(field) or ()
        ]
        if entries:
            parts[field] = entries
    parts["generation"] = generation
    if error:
        parts["error"] = error
    return msgspec.json.encode(parts).decode()
