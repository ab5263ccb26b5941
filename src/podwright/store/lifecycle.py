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

from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from podwright.objects import (
    Condition,
    KubernetesObject,
    Pod,
    decode,
    encode,
    with_condition,
    with_node_name,
    with_nominated_node_name,
)
from podwright.objects.timestamps import timestamp_ns, timestamp_text
from podwright.store.kinds import NAMESPACE, GroupKind, KindRules

T = TypeVar("T", bound=KubernetesObject)

Scope: TypeAlias = Literal["main", "status", "whole"]
"""What a write changes: the object without its status, its status, or both at once."""

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
"""What becomes of the objects that it owns; a controller does it, a finalizer asks for it."""

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

DEFAULT_GRACE_SECONDS = 30
"""The grace of a pod that says nothing (`corev1.DefaultTerminationGracePeriodSeconds`)."""

_SECOND_NS = 1_000_000_000
_KEY = {
    "name": "name",
    "namespace": "namespace",
    "uid": "uid",
    "resource_version": "resourceVersion",
    "generation": "generation",
    "creation_timestamp": "creationTimestamp",
    "deletion_timestamp": "deletionTimestamp",
    "deletion_grace_period_seconds": "deletionGracePeriodSeconds",
    "finalizers": "finalizers",
}


_NOT_OF_NEW = ("generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""What somebody may have written and no new object has."""


def with_document(obj: KubernetesObject) -> KubernetesObject:
    """Return the object with its document, made from the structs if it came without.

    What a store keeps is read back from documents; so it keeps nothing that has none.
    """
    if obj.raw:
        return obj
    return decode(encode(obj), source=f"{obj.kind} {obj.key}")


def with_metadata(obj: T, **changes: Any) -> T:
    """Return a copy with other metadata, in the struct and in the document.

    None, an empty text, an empty tuple and generation 0 remove the field.
    """
    metadata = msgspec.structs.replace(obj.metadata, **changes)
    document: dict[str, Any] = dict(obj.raw.get("metadata") or {})
    for name, value in changes.items():
        if value is None or value in ("", ()) or (name == "generation" and not value):
            document.pop(_KEY[name], None)
        else:
            document[_KEY[name]] = list(value) if isinstance(value, tuple) else value
    return msgspec.structs.replace(obj, metadata=metadata, raw=obj.raw | {"metadata": document})


def at_version(obj: T, version: int) -> T:
    """Return a copy with another `resourceVersion`."""
    return with_metadata(obj, resource_version=str(version))


def created(obj: T, *, rules: KindRules, name: str, uid: str, version: int, now_ns: int) -> T:
    """Return a new object with what the server gives it."""
    text, generation, now = str(version), 1 if rules.has_generation else 0, timestamp_text(now_ns)
    metadata = msgspec.structs.replace(
        obj.metadata,
        name=name,
        uid=uid,
        resource_version=text,
        generation=generation,
        creation_timestamp=now,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
    )
    document: dict[str, Any] = dict(obj.raw.get("metadata") or {})
    for key in _NOT_OF_NEW:
        document.pop(key, None)
    document |= {"name": name, "uid": uid, "resourceVersion": text, "creationTimestamp": now}
    if generation:
        document["generation"] = generation
    return msgspec.structs.replace(obj, metadata=metadata, raw=obj.raw | {"metadata": document})


def updated(current: T, new: T, *, scope: Scope, rules: KindRules, version: int) -> T | None:
    """Return the object after a write, None when the write changes nothing."""
    if scope == "status" and _shares_metadata(current, new):
        return _with_new_status(current, new, version)
    if scope == "status":
        body = _with_status_of(current, new, metadata_of=new)
        owners = (current.raw.get("metadata") or {}).get("ownerReferences")
        body = _with_owners(body, current, owners)
    elif scope == "main" and rules.has_status:
        body = _with_status_of(new, current, metadata_of=new)
    else:
        body = new
    was = current.metadata
    kept = with_metadata(
        body,
        name=was.name,
        namespace=was.namespace,
        uid=was.uid,
        resource_version=was.resource_version,
        generation=was.generation,
        creation_timestamp=was.creation_timestamp,
        deletion_timestamp=was.deletion_timestamp,
        deletion_grace_period_seconds=was.deletion_grace_period_seconds,
    )
    if kept.raw == current.raw:
        return None
    counts = rules.has_generation and scope != "status" and _is_other_spec(current, kept, rules)
    return with_metadata(
        kept, resource_version=str(version), generation=was.generation + (1 if counts else 0)
    )


def _shares_metadata(current: T, new: T) -> bool:
    """Whether an object was made from the one that is there by changing something else."""
    return (
        new.metadata is current.metadata
        and new.raw.get("metadata") is current.raw.get("metadata")
        and "status" in new.raw
    )


def _with_new_status(current: T, new: T, version: int) -> T | None:
    """Return what `updated` does where it has nothing to look at but the status."""
    status = new.raw["status"]
    if current.raw.get("status") == status and "status" in current.raw:
        return None
    text = str(version)
    changes: dict[str, Any] = {
        "metadata": msgspec.structs.replace(current.metadata, resource_version=text),
        "raw": current.raw
        | {"metadata": current.raw["metadata"] | {"resourceVersion": text}, "status": status},
    }
    if "status" in current.__struct_fields__:
        changes["status"] = getattr(new, "status")  # noqa: B009 - not all kinds have it
    return msgspec.structs.replace(current, **changes)


def _with_status_of(body: T, source: T, *, metadata_of: T) -> T:
    """Return `body` with the status of `source`, in the struct and in the document."""
    raw = {key: value for key, value in body.raw.items() if key != "status"}
    if "status" in source.raw:
        raw["status"] = source.raw["status"]
    raw["metadata"] = metadata_of.raw.get("metadata") or {}
    changes: dict[str, Any] = {"metadata": metadata_of.metadata, "raw": raw}
    if "status" in body.__struct_fields__:
        changes["status"] = getattr(source, "status")  # noqa: B009 - not all kinds have it
    return msgspec.structs.replace(body, **changes)


def _with_owners(body: T, current: T, owners: Any) -> T:
    # Upstream: old kubelets corrupt owner references through the status.
    metadata = dict(body.raw["metadata"])
    metadata.pop("ownerReferences", None)
    if owners:
        metadata["ownerReferences"] = owners
    return msgspec.structs.replace(
        body,
        metadata=msgspec.structs.replace(
            body.metadata, owner_references=current.metadata.owner_references
        ),
        raw=body.raw | {"metadata": metadata},
    )


def _is_other_spec(current: KubernetesObject, new: KubernetesObject, rules: KindRules) -> bool:
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
        The object as terminating, if that is a change; its version is not yet the new one.
    is_removed : bool
        Whether the object goes, after the mark if there is one.
    """

    marked: KubernetesObject | None = None
    is_removed: bool = False


def deletion(
    kind: GroupKind,
    current: KubernetesObject,
    *,
    rules: KindRules,
    now_ns: int,
    grace_seconds: int | None,
    propagation: Propagation | None,
) -> Deletion:
    """Return what deleting an object means.

    Parameters
    ----------
    kind, current, rules
        The object.
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
        return _graceful(current, now_ns, grace_seconds, finalizers)
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
        marked = msgspec.structs.replace(marked, raw=marked.raw | {"status": status})
    return Deletion(marked=marked if marked.raw != current.raw else None)


def _is_deleted_without_grace(current: KubernetesObject) -> bool:
    metadata = current.metadata
    return (
        metadata.deletion_timestamp is not None and metadata.deletion_grace_period_seconds is None
    )


def _graceful(
    current: KubernetesObject,
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
    marked = with_metadata(
        current,
        deletion_timestamp=timestamp_text(ends_ns),
        deletion_grace_period_seconds=period,
        generation=generation,
        finalizers=finalizers,
    )
    return Deletion(marked=marked, is_removed=period == 0 and not finalizers)


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


def binding_refusal(pod: Pod) -> str:
    """Return why a pod cannot be bound, in upstream's words; empty if it can.

    Notes
    -----
    Upstream: pkg/registry/core/pod/storage/storage.go, setPodNodeAndMetadata
    """
    if pod.is_terminating:
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
    condition, written = _scheduled_at(timestamp_text(now_ns))
    present = pod.raw.get("status") or {}
    if (
        not pod.raw.get("spec")
        or present.get("nominatedNodeName")
        or any(entry.type == condition.type for entry in pod.status.conditions)
    ):
        assigned = with_nominated_node_name(with_node_name(pod, node), "")
        return at_version(with_condition(assigned, condition), version)
    # Nothing has to be looked for; the same pod in one copy.
    replace, text = msgspec.structs.replace, str(version)
    conditions = [*(present.get("conditions") or ()), written]
    return replace(
        pod,
        metadata=replace(pod.metadata, resource_version=text),
        spec=replace(pod.spec, node_name=node),
        status=replace(pod.status, conditions=(*pod.status.conditions, condition)),
        raw=pod.raw
        | {
            "metadata": pod.raw["metadata"] | {"resourceVersion": text},
            "spec": pod.raw["spec"] | {"nodeName": node},
            "status": present | {"conditions": conditions},
        },
    )


@lru_cache(maxsize=1_024)
def _scheduled_at(time: str) -> tuple[Condition, dict[str, str]]:
    """Return the condition of pods that were bound at a time, which they share."""
    condition = Condition(type="PodScheduled", status="True", last_transition_time=time)
    return condition, {"type": "PodScheduled", "status": "True", "lastTransitionTime": time}
