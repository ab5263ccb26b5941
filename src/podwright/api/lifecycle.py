"""What a write makes of an object: the metadata that belongs to the server, and deletion.

Every function takes the object as it is and returns the object as it will be; nothing here
is stored. Who writes what:

- `uid`, `creationTimestamp`, `generation`, `resourceVersion` and `deletion*` are the server's.
  A body that has them has them for nothing; `resourceVersion` and `uid` are preconditions.
- A write of the object leaves `status` as it is where status is a subresource, and a write of
  the status leaves all but status and metadata.
- Deletion marks what somebody still holds: a finalizer, or for a bound pod its grace period.
  The mark is a change of its own. What nobody holds goes at once; a pod is marked first even
  then, so watchers see it terminating.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, BeforeDelete;
pkg/registry/generic/registry/store.go, Delete and Update; pkg/registry/core/pod/strategy.go,
CheckGracefulDelete; pkg/registry/core/namespace/storage/storage.go
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from podwright.api.kind_strategies import KindStrategy
from podwright.objects import (
    Condition,
    Document,
    KubernetesObject,
    Pod,
    PodStatus,
    timestamp_ns,
    timestamp_text,
    with_condition,
    with_nominated_node_name,
)
from podwright.store import METADATA_KEYS, NAMESPACE, GroupKind, at_version, with_metadata

T = TypeVar("T", bound=KubernetesObject)

Scope: TypeAlias = Literal["main", "status", "whole"]
"""What a write changes: the object without its status, its status, or both at once."""

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
"""What becomes of the objects that it owns; a controller does it, a finalizer asks for it."""

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

DEFAULT_GRACE_SECONDS = 30
"""The grace of a pod that says nothing (`corev1.DefaultTerminationGracePeriodSeconds`)."""

_replace = msgspec.structs.replace
_SECOND_NS = 1_000_000_000
_KEPT = tuple(key for key in METADATA_KEYS.values() if key != "finalizers")
"""What no update changes, whatever its body says."""

_NOT_OF_NEW = ("generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""What somebody may have written and no new object has."""


def created(obj: T, *, rules: KindStrategy, name: str, uid: str, version: int, now_ns: int) -> T:
    """Return a new object with what the server gives it."""
    text, generation, now = str(version), 1 if rules.has_generation else 0, timestamp_text(now_ns)
    metadata = _replace(
        obj.metadata,
        name=name,
        uid=uid,
        resource_version=text,
        generation=generation,
        creation_timestamp=now,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
    )
    document: dict[str, Any] = (obj.raw.get("metadata") or {}).copy()
    for key in _NOT_OF_NEW:
        document.pop(key, None)
    document["name"] = name
    document["uid"] = uid
    document["resourceVersion"] = text
    document["creationTimestamp"] = now
    if generation:
        document["generation"] = generation
    raw = obj.raw.copy()
    raw["metadata"] = document
    return _replace(obj, metadata=metadata, raw=raw)


def updated(current: T, new: T, *, scope: Scope, rules: KindStrategy, version: int) -> T | None:
    """Return the object after a write, None when the write changes nothing."""
    if scope == "status" and _shares_metadata(current, new):
        return _with_new_status(current, new, version)
    was, there = current.metadata, current.raw["metadata"]
    document: dict[str, Any] = (new.raw.get("metadata") or {}).copy()
    for key in _KEPT:
        kept = there.get(key)
        if kept is not None:
            document[key] = kept
        elif key in document:
            del document[key]
    changes: dict[str, Any] = {}
    body, status_of = (current, new) if scope == "status" else (new, current)
    if scope == "status":
        # Upstream: old kubelets corrupt owner references through the status.
        changes["owner_references"] = was.owner_references
        if there.get("ownerReferences"):
            document["ownerReferences"] = there["ownerReferences"]
        else:
            document.pop("ownerReferences", None)
    raw = body.raw | {"metadata": document}
    has_other_status = scope == "status" or (scope == "main" and rules.has_status)
    if has_other_status:
        raw.pop("status", None)
        if "status" in status_of.raw:
            raw["status"] = status_of.raw["status"]
    if raw == current.raw:
        return None
    raw = _as_before(raw, current.raw)
    document = raw["metadata"] = raw["metadata"].copy()
    generation = was.generation
    if rules.has_generation and scope != "status" and _is_other_spec(current, new, rules):
        generation += 1
        document["generation"] = generation
    text = document["resourceVersion"] = str(version)
    metadata = _replace(
        new.metadata,
        name=was.name,
        namespace=was.namespace,
        uid=was.uid,
        resource_version=text,
        generation=generation,
        creation_timestamp=was.creation_timestamp,
        deletion_timestamp=was.deletion_timestamp,
        deletion_grace_period_seconds=was.deletion_grace_period_seconds,
        **changes,
    )
    if has_other_status and "status" in body.__struct_fields__:
        return _replace(body, metadata=metadata, raw=raw, status=getattr(status_of, "status"))  # noqa: B009 - not all kinds have it
    return _replace(body, metadata=metadata, raw=raw)


def _as_before(document: Document, before: Document) -> Document:
    """Return a document with whatever is equal in it as it was before, its order included.

    Logs tell versions apart by what they say, so that is how it comes back from them.
    """
    kept = {
        name: before[name] if name in before and before[name] == value else value
        for name, value in document.items()
    }
    return {name: kept[name] for name in before} if kept.keys() == before.keys() else kept


def _shares_metadata(current: T, new: T) -> bool:
    """Whether an object was made from the one that is there by changing something else."""
    return (
        new.metadata is current.metadata
        and new.raw.get("metadata") is current.raw["metadata"]
        and "status" in new.raw
    )


def _with_new_status(current: T, new: T, version: int) -> T | None:
    """Return what `updated` does where it has nothing to look at but the status."""
    status = new.raw["status"]
    if current.raw.get("status") == status and "status" in current.raw:
        return None
    text = str(version)
    document = current.raw["metadata"].copy()
    document["resourceVersion"] = text
    raw = current.raw.copy()
    raw["metadata"] = document
    raw["status"] = status
    metadata = _replace(current.metadata, resource_version=text)
    if "status" not in current.__struct_fields__:
        return _replace(current, metadata=metadata, raw=raw)
    return _replace(current, metadata=metadata, raw=raw, status=getattr(new, "status"))  # noqa: B009 - not all kinds have it


def _is_other_spec(current: KubernetesObject, new: KubernetesObject, rules: KindStrategy) -> bool:
    """Whether anything but metadata and status differs; not all kinds call it `spec`."""
    if rules.counts_annotations and current.metadata.annotations != new.metadata.annotations:
        return True
    return _without_state(current.raw) != _without_state(new.raw)


def _without_state(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key not in {"metadata", "status"}}


def is_released(kind: GroupKind, current: KubernetesObject, new: KubernetesObject) -> bool:
    """Whether an update takes the last hold off an object that is being deleted."""
    if current.metadata.deletion_timestamp is None or new.metadata.finalizers:
        return False
    if kind == NAMESPACE:
        return not _namespace_finalizers(new)
    return current.metadata.deletion_grace_period_seconds == 0


# -------------------------------------------------------------------------- deletion


class Deletion(msgspec.Struct, frozen=True, gc=False):
    """What deleting an object means.

    Attributes
    ----------
    marked : KubernetesObject or None
        The object as terminating, if that is a change.
    is_removed : bool
        Whether the object goes, after the mark if there is one.
    """

    marked: KubernetesObject | None = None
    is_removed: bool = False


def deletion(
    kind: GroupKind,
    current: KubernetesObject,
    *,
    rules: KindStrategy,
    version: int,
    now_ns: int,
    grace_seconds: int | None,
    propagation: Propagation | None,
) -> Deletion:
    """Return what deleting an object means.

    Parameters
    ----------
    kind, current, rules
        The object.
    version : int
        Of the next change.
    now_ns : int
        When.
    grace_seconds : int, optional
        How long a pod has to stop; its own grace period without it. A deletion that has begun
        can be shortened, not lengthened.
    propagation : str, optional
        Sets or takes away the finalizers for the objects that it owns.
    """
    finalizers = _finalizers_for(current, propagation)
    if rules.is_graceful and not _is_deleted_without_grace(current):
        return _graceful(current, version, now_ns, grace_seconds, finalizers)
    held = bool(finalizers) or (kind == NAMESPACE and bool(_namespace_finalizers(current)))
    if not held:
        return Deletion(is_removed=True)
    metadata = current.metadata
    is_first = metadata.deletion_grace_period_seconds is None and metadata.generation > 0
    marked = with_metadata(
        current,
        deletion_timestamp=metadata.deletion_timestamp or timestamp_text(now_ns),
        deletion_grace_period_seconds=0 if kind != NAMESPACE else None,
        generation=metadata.generation + (1 if is_first else 0),
        finalizers=finalizers,
    )
    if kind == NAMESPACE:
        status = (current.raw.get("status") or {}) | {"phase": "Terminating"}
        marked = _replace(marked, raw=marked.raw | {"status": status})
    return Deletion(marked=at_version(marked, version) if marked.raw != current.raw else None)


def _is_deleted_without_grace(current: KubernetesObject) -> bool:
    metadata = current.metadata
    return (
        metadata.deletion_timestamp is not None and metadata.deletion_grace_period_seconds is None
    )


def _graceful(
    current: KubernetesObject,
    version: int,
    now_ns: int,
    grace_seconds: int | None,
    finalizers: tuple[str, ...],
) -> Deletion:
    metadata = current.metadata
    running = metadata.deletion_grace_period_seconds
    if running is not None:
        if grace_seconds is None or max(grace_seconds, 0) >= running:
            return Deletion()
        period = grace_seconds if grace_seconds >= 0 else 1
        begun_ns = timestamp_ns(metadata.deletion_timestamp) or now_ns
        # Never into the past: a pod that took most of its time ends now.
        ends_ns = max(begun_ns + (period - running) * _SECOND_NS, now_ns)
        generation = metadata.generation
    else:
        period = _grace_of(current, grace_seconds)
        ends_ns = now_ns + period * _SECOND_NS
        generation = metadata.generation + (1 if metadata.generation else 0)
    if finalizers != metadata.finalizers:
        current = with_metadata(current, finalizers=finalizers)
    text, ends = str(version), timestamp_text(ends_ns)
    document = current.raw["metadata"].copy()
    document["resourceVersion"] = text
    document["deletionTimestamp"] = ends
    document["deletionGracePeriodSeconds"] = period
    if generation:
        document["generation"] = generation
    raw = current.raw.copy()
    raw["metadata"] = document
    metadata = _replace(
        current.metadata,
        resource_version=text,
        deletion_timestamp=ends,
        deletion_grace_period_seconds=period,
        generation=generation,
    )
    marked = _replace(current, metadata=metadata, raw=raw)
    return Deletion(marked, is_removed=period == 0 and not finalizers)


def _grace_of(current: KubernetesObject, asked: int | None) -> int:
    assert isinstance(current, Pod), f"{current.kind} has no grace period"
    own = current.spec.termination_grace_period_seconds
    period = asked if asked is not None else DEFAULT_GRACE_SECONDS if own is None else own
    if not current.spec.node_name or current.is_terminal:
        return 0
    return period if period >= 0 else 1


def _finalizers_for(current: KubernetesObject, propagation: Propagation | None) -> tuple[str, ...]:
    present = current.metadata.finalizers
    if propagation is None:
        return present
    wanted = {"Orphan": (ORPHAN,), "Foreground": (FOREGROUND,), "Background": ()}[propagation]
    if tuple(entry for entry in present if entry in {ORPHAN, FOREGROUND}) == wanted:
        return present
    return (*(entry for entry in present if entry not in {ORPHAN, FOREGROUND}), *wanted)


def _namespace_finalizers(namespace: KubernetesObject) -> list[str]:
    return list((namespace.raw.get("spec") or {}).get("finalizers") or ())


# --------------------------------------------------------------------------- binding


def binding_error(pod: Pod) -> str:
    """Return why a pod cannot be bound, in upstream's words; empty if it can.

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
    """Return the pod on a node; its generation stays.

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
    """What becomes of a status when its pod is bound.

    Pods of one template have one status until then, and have one after it, too.
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
"""By the address of a status as a document, which is kept alive."""
