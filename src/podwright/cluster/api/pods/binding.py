"""Binding: a pod as `pods/binding` stores it.

Upstream: pkg/registry/core/pod/storage/storage.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Condition,
    Document,
    Pod,
    PodStatus,
    timestamp_text,
    with_condition,
    with_nominated_node_name,
)
from podwright.cluster.api.preconditions import other_value
from podwright.cluster.api.rejections import Rejection, conflict
from podwright.cluster.store import POD, ObjectStore

NODE: Final = ("", "Node")
_replace = msgspec.structs.replace

NO_LABELS: Final[Mapping[str, str]] = {}


class Binding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a binding sets.

    Attributes
    ----------
    node : str
    uid, version : str
        Preconditions; empty for none.
    labels, annotations : mapping of str to str
        What the pod gets.
    """

    node: str
    uid: str = ""
    version: str = ""
    labels: Mapping[str, str] = NO_LABELS
    annotations: Mapping[str, str] = NO_LABELS


TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def topology_labels(store: ObjectStore, node: str) -> Mapping[str, str]:
    """Return the labels of a node that its pods get.

    Notes
    -----
    Upstream: plugin/pkg/admission/podtopologylabels/admission.go
    """
    found = store.get(NODE, node)
    if found is None:
        return NO_LABELS
    labels = found.metadata.labels
    values = tuple([labels.get(name) for name in TOPOLOGY_LABELS])
    place = _places.get(values)
    if place is None:
        if len(_places) >= _PLACES_MAX:
            _places.clear()
        place = _places[values] = {
            name: value
            for name, value in zip(TOPOLOGY_LABELS, values, strict=True)
            if value is not None
        }
    return place


def binding_problem(pod: Pod, binding: Binding, *, is_dry_run: bool = False) -> Rejection | None:
    """Return why a binding is rejected; None if it is not."""
    metadata = pod.metadata
    if (binding.uid or metadata.uid) != metadata.uid:
        found = "UID", binding.uid, metadata.uid
    elif (binding.version or metadata.resource_version) != metadata.resource_version:
        found = "ResourceVersion", binding.version, metadata.resource_version
    else:
        error = _state_problem(pod)
        return conflict("", "pods/binding", pod.name, error) if error else None
    return other_value(POD, pod.key, *found, is_dry_run=is_dry_run)


def _state_problem(pod: Pod) -> str:
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


def bound(
    pod: Pod, binding: Binding, *, now_ns: int, version: int, in_go_form: bool = False
) -> Pod:
    """Return a pod bound to a node; its generation does not change.

    Parameters
    ----------
    pod : Pod
    binding : Binding
    now_ns, version : int
        Of the binding.
    in_go_form : bool
        Whether the condition is written in Go's form.

    Notes
    -----
    Upstream: pkg/registry/core/pod/storage/storage.go, setPodNodeAndMetadata
    """
    now = timestamp_text(now_ns)
    present = pod.raw.get("status")
    scheduled = _scheduled.get(id(present))
    if (
        scheduled is None
        or scheduled.time != now
        or scheduled.before is not pod.status
        or scheduled.in_go_form is not in_go_form
    ):
        if len(_scheduled) >= _SCHEDULED_MAX:
            _scheduled.clear()
        scheduled = _scheduled[id(present)] = _Scheduled.of(pod, now, in_go_form=in_go_form)
    text = str(version)
    metadata = pod.raw["metadata"].copy()
    metadata["resourceVersion"] = text
    if binding.annotations:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **binding.annotations}
    if binding.labels:
        metadata["labels"] = merged = _merged(pod.metadata.labels, binding.labels)
        typed = _replace(pod.metadata, resource_version=text, labels=merged)
    else:
        typed = _replace(pod.metadata, resource_version=text)
    spec = (pod.raw.get("spec") or {}).copy()
    spec["nodeName"] = node = binding.node
    raw = pod.raw.copy()
    raw["metadata"] = metadata
    raw["spec"] = spec
    raw["status"] = scheduled.document
    return _replace(
        pod,
        metadata=typed,
        spec=_replace(pod.spec, node_name=node),
        status=scheduled.status,
        raw=raw,
    )


def _merged(labels: Mapping[str, str], place: Mapping[str, str]) -> Mapping[str, str]:
    """Return labels with those of a place; pods of one template share them.

    Components compare the labels of pods that share them by their address.
    """
    key = id(labels), id(place)
    known = _labels.get(key)
    if known is None:
        if len(_labels) >= _LABELS_MAX:
            _labels.clear()
        known = _labels[key] = labels, place, {**labels, **place}
    return known[2]


_PLACES_MAX: Final = 1_024
_places: dict[tuple[str | None, ...], Mapping[str, str]] = {}
"""The labels of places, by their values."""

_LABELS_MAX: Final = 1_024
_labels: dict[tuple[int, int], tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]] = {}
"""By the id() of the labels of a pod and of a place; the value keeps both alive."""


_CONDITION_FIELDS: Final = (
    "type", "observedGeneration", "status", "lastProbeTime", "lastTransitionTime", "reason",
    "message",
)  # fmt: skip
"""In the order in which Go writes them."""


def with_probe_times(pod: Pod) -> Pod:
    """Return a pod whose conditions have a `lastProbeTime`, which Go writes also if it is null."""
    present = (pod.raw.get("status") or {}).get("conditions") or ()
    if all("lastProbeTime" in each for each in present):
        return pod
    conditions = [
        {
            name: each.get(name)
            for name in _CONDITION_FIELDS
            if name in each or name == "lastProbeTime"
        }
        for each in present
    ]
    return _replace(pod, raw=pod.raw | {"status": pod.raw["status"] | {"conditions": conditions}})


class _Scheduled(msgspec.Struct, frozen=True, gc=False):
    """The status of a pod before and after its binding.

    Pods of one template share one status before the binding, and so share one after it.
    """

    before: PodStatus
    present: Document | None
    time: str
    status: PodStatus
    document: Document
    in_go_form: bool

    @classmethod
    def of(cls, pod: Pod, time: str, *, in_go_form: bool) -> _Scheduled:
        condition = Condition(type="PodScheduled", status="True", last_transition_time=time)
        new = with_condition(with_nominated_node_name(pod, ""), condition)
        if in_go_form:
            new = with_probe_times(new)
        document = new.raw["status"]
        return _Scheduled(pod.status, pod.raw.get("status"), time, new.status, document, in_go_form)


_SCHEDULED_MAX = 1_024
_scheduled: dict[int, _Scheduled] = {}
"""By the id() of a status document; the value keeps the document alive."""
