"""Deletion: which objects are removed at once, and which are marked as terminating first.

A delete request marks an object that has finalizers, and a bound pod with a grace period; the
mark is a separate change. Any other object is removed at once. A pod is marked even then, so
that watchers observe it as terminating.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, BeforeDelete;
staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, Delete;
pkg/registry/core/pod/strategy.go, CheckGracefulDelete;
pkg/registry/core/namespace/storage/storage.go
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    SECOND_NS,
    KubernetesObject,
    Pod,
    timestamp_ns,
    timestamp_text,
)
from podwright.apimachinery.schema import KindRow
from podwright.cluster.api.strategies.kinds import strategy_of
from podwright.cluster.store import NAMESPACE, GroupKind, at_version, with_metadata

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
"""How dependents are deleted; the garbage collector does it, a finalizer requests it."""

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

DEFAULT_GRACE_SECONDS = 30
"""The default grace period of a pod (`corev1.DefaultTerminationGracePeriodSeconds`)."""

_replace = msgspec.structs.replace


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The options of a deletion.

    Attributes
    ----------
    grace_seconds : int or None
        The grace period of a pod; its own one by default.
    propagation : str or None
    orphans : bool or None
        The deprecated `orphanDependents`.
    uid, resource_version : str or None
        Preconditions.
    is_dry_run : bool
    document : dict
        The options as admission sees them.
    """

    grace_seconds: int | None = None
    propagation: Propagation | None = None
    orphans: bool | None = None
    uid: str | None = None
    resource_version: str | None = None
    is_dry_run: bool = False
    document: dict[str, Any] = {}


_WITHOUT_DEPENDENTS: Final = frozenset({("", "Event"), ("events.k8s.io", "Event")})
"""Kinds whose deletion ignores the propagation policy; upstream: `rest.Unsupported`."""


def propagation_of(
    kind: GroupKind, current: KubernetesObject, options: DeleteOptions
) -> Propagation | None:
    """Return what happens to the dependents of a deleted object; None for what its kind says.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go,
    shouldOrphanDependents
    """
    if kind in _WITHOUT_DEPENDENTS:
        return None
    if options.propagation is not None:
        return options.propagation
    if options.orphans is not None:
        return "Orphan" if options.orphans else "Background"
    if not strategy_of(kind).orphans_dependents:
        return None
    has_own = any(each in (ORPHAN, FOREGROUND) for each in current.metadata.finalizers)
    return None if has_own else "Orphan"


class Deletion(msgspec.Struct, frozen=True, gc=False):
    """The effect of a delete request.

    Attributes
    ----------
    marked : KubernetesObject or None
        The object marked as terminating, None if it was marked before.
    is_removed : bool
        Whether the object is removed, after the mark if there is one.
    """

    marked: KubernetesObject | None = None
    is_removed: bool = False


def deletion(
    kind: GroupKind,
    current: KubernetesObject,
    *,
    strategy: KindRow,
    version: int,
    now_ns: int,
    grace_seconds: int | None,
    propagation: Propagation | None,
) -> Deletion:
    """Return the effect of a delete request.

    Parameters
    ----------
    kind, current, strategy
        The kind, the current object, and the strategy of the kind.
    version : int
        The version of the next change.
    now_ns : int
        The time of the request.
    grace_seconds : int, optional
        The grace period of a pod; its own one by default. A second request can shorten the
        grace period, but not extend it.
    propagation : str, optional
        Adds or removes the finalizers that control the deletion of dependents.
    """
    finalizers = _finalizers_for(current, propagation)
    if strategy.is_graceful and not _is_deleted_without_grace(current):
        return _graceful(current, version, now_ns, grace_seconds, finalizers)
    # The first request marks any namespace; another one removes it once it has no finalizers.
    is_held_namespace = kind == NAMESPACE and bool(
        _namespace_finalizers(current) or not current.metadata.deletion_timestamp
    )
    held = bool(finalizers) or is_held_namespace
    if not held:
        return Deletion(is_removed=True)
    metadata = current.metadata
    if kind == NAMESPACE and metadata.deletion_timestamp and _namespace_finalizers(current):
        return Deletion()
    # Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, markAsDeleting:
    # the first mark increments the generation, because controllers treat the object differently
    # from then on.
    marked_at = metadata.deletion_timestamp
    is_first = marked_at is None and metadata.generation > 0
    if marked_at is None or (timestamp_ns(marked_at) or 0) > now_ns:
        marked_at = timestamp_text(now_ns)
    marked = with_metadata(
        current,
        deletion_timestamp=marked_at,
        deletion_grace_period_seconds=0 if kind != NAMESPACE else None,
        generation=metadata.generation + (1 if is_first else 0),
        finalizers=finalizers,
    )
    if kind == NAMESPACE:
        status = (current.raw.get("status") or {}) | {"phase": "Terminating"}
        marked = _replace(marked, raw=marked.raw | {"status": status})
    return Deletion(marked=at_version(marked, version) if marked.raw != current.raw else None)


def _is_deleted_without_grace(current: KubernetesObject) -> bool:
    """Whether the object is terminating, and waits for its finalizers only."""
    metadata = current.metadata
    return metadata.deletion_timestamp is not None and not metadata.deletion_grace_period_seconds


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
        if grace_seconds is None:
            return Deletion()
        period = grace_seconds if grace_seconds >= 0 else 1
        if period >= running:
            return Deletion()
        ended_ns = timestamp_ns(metadata.deletion_timestamp) or now_ns
        ends_ns = ended_ns + (period - running) * SECOND_NS
        if ends_ns < now_ns:
            # Not in the past: it ends now, as the shortest period that is still graceful.
            ends_ns, period = now_ns, min(period, 1)
        generation = metadata.generation
    else:
        period = _grace_of(current, grace_seconds)
        ends_ns = now_ns + period * SECOND_NS
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


def _grace_of(current: KubernetesObject, requested: int | None) -> int:
    assert isinstance(current, Pod), f"{current.kind} has no grace period"
    own = current.spec.termination_grace_period_seconds
    period = requested if requested is not None else DEFAULT_GRACE_SECONDS if own is None else own
    # No kubelet runs an unbound pod, and a terminated one has stopped: nothing to wait for.
    if not current.spec.node_name or current.is_terminal:
        return 0
    # Upstream: rest/delete.go, BeforeDelete: a negative grace period counts as one second.
    return period if period >= 0 else 1


def _finalizers_for(current: KubernetesObject, propagation: Propagation | None) -> tuple[str, ...]:
    present = current.metadata.finalizers
    if propagation is None:
        return present
    requested = {"Orphan": (ORPHAN,), "Foreground": (FOREGROUND,), "Background": ()}[propagation]
    if tuple(entry for entry in present if entry in {ORPHAN, FOREGROUND}) == requested:
        return present
    return (*(entry for entry in present if entry not in {ORPHAN, FOREGROUND}), *requested)


def _namespace_finalizers(namespace: KubernetesObject) -> list[str]:
    return list((namespace.raw.get("spec") or {}).get("finalizers") or ())


def is_released(kind: GroupKind, current: KubernetesObject, new: KubernetesObject) -> bool:
    """Whether an update removes the last finalizer of a terminating object."""
    if current.metadata.deletion_timestamp is None or new.metadata.finalizers:
        return False
    if kind == NAMESPACE:
        return not _namespace_finalizers(new)
    return not current.metadata.deletion_grace_period_seconds
