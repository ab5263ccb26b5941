"""Binding: a pod as `pods/binding` stores it.

Upstream: pkg/registry/core/pod/storage/storage.go
"""

from __future__ import annotations

import msgspec

from podwright.objects import (
    Condition,
    Document,
    Pod,
    PodStatus,
    timestamp_text,
    with_condition,
    with_nominated_node_name,
)

_replace = msgspec.structs.replace


def binding_error(pod: Pod) -> str:
    """Return the reason why a pod cannot be bound, with upstream's text; empty if it can.

    Notes
    -----
    Upstream: pkg/registry/core/pod/storage/storage.go, setPodNodeAndMetadata
    """
    if pod.metadata.deletion_timestamp is not None:
        return f"pod {pod.name} is being deleted, cannot be assigned to a host"
    if pod.spec.node_name:
        return f'pod {pod.name} is already assigned to node "{pod.spec.node_name}"'
    if pod.spec.scheduling_gates:
        return f"pod {pod.name} has non-empty .spec.schedulingGates"
    return ""


def bound(pod: Pod, node: str, *, now_ns: int, version: int) -> Pod:
    """Return a pod bound to a node; its generation does not change.

    Notes
    -----
    Upstream: pkg/registry/core/pod/storage/storage.go, setPodNodeAndMetadata
    """
    now = timestamp_text(now_ns)
    present = pod.raw.get("status")
    scheduled = _scheduled.get(id(present))
    if scheduled is None or scheduled.time != now or scheduled.before is not pod.status:
        if len(_scheduled) >= _SCHEDULED_MAX:
            _scheduled.clear()
        scheduled = _scheduled[id(present)] = _Scheduled.of(pod, now)
    text = str(version)
    metadata = pod.raw["metadata"].copy()
    metadata["resourceVersion"] = text
    spec = (pod.raw.get("spec") or {}).copy()
    spec["nodeName"] = node
    raw = pod.raw.copy()
    raw["metadata"] = metadata
    raw["spec"] = spec
    raw["status"] = scheduled.document
    return _replace(
        pod,
        metadata=_replace(pod.metadata, resource_version=text),
        spec=_replace(pod.spec, node_name=node),
        status=scheduled.status,
        raw=raw,
    )


class _Scheduled(msgspec.Struct, frozen=True, gc=False):
    """The status of a pod before and after its binding.

    Pods of one template share one status before the binding, and so share one after it.
    """

    before: PodStatus
    present: Document | None
    time: str
    status: PodStatus
    document: Document

    @classmethod
    def of(cls, pod: Pod, time: str) -> _Scheduled:
        condition = Condition(type="PodScheduled", status="True", last_transition_time=time)
        new = with_condition(with_nominated_node_name(pod, ""), condition)
        return cls(pod.status, pod.raw.get("status"), time, new.status, new.raw["status"])


_SCHEDULED_MAX = 1_024
_scheduled: dict[int, _Scheduled] = {}
"""By the id() of a status document; the value keeps the document alive."""
