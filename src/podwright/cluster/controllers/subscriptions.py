"""Which controllers observe which changes.

Nearly all changes are changes of pods, and most of them concern few controllers. The class
attributes of a controller (`interface.py`) say which changes it observes. The subscribers are
computed once for each kind of owner and each combination of `PodChange` flags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Condition, KubernetesObject, OwnerReference, Pod
from podwright.cluster.controllers.interface import ALL_KINDS, Controller, Keys, PodChange, Version
from podwright.cluster.store import POD, GroupKind

# As plain integers: they are combined for every change, and IntFlag arithmetic is slow.
_METADATA: Final = int(PodChange.METADATA)
_SPEC: Final = int(PodChange.SPEC)
_STATUS: Final = int(PodChange.STATUS)
_ENDED: Final = int(PodChange.TERMINAL)
_READY: Final = int(PodChange.READY)
_TARGET: Final = int(PodChange.DISRUPTION_TARGET)
_CAME: Final = int(PodChange.ADDED)
_GONE: Final = int(PodChange.DELETED)
_HAS_VOLUMES: Final = 1 << 16
_HAS_DEVICES: Final = 1 << 17

_ANY_OWNER: Final = "*"
"""Instead of an owner's kind: the pod's owners changed."""

_NO_OWNER: Final = ""
"""Instead of an owner's kind: the pod has no controlling owner, and had none."""

Subscriber: TypeAlias = tuple[
    str,
    Callable[[KubernetesObject | None, KubernetesObject | None], Keys],
    Sized | None,
]
"""The name of a controller, its `observe`, and what has to be there for a delivery, if anything."""


def differences(old: Pod, new: Pod) -> int:
    """Return the difference between two versions of a pod as `PodChange` flags.

    Sections are compared by identity, because a write shares what it does not change with the
    previous version; METADATA, SPEC and STATUS may thus be set for equal values. The
    resourceVersion is ignored.
    """
    parts = 0
    was, now = old.metadata, new.metadata
    if not (
        was.labels is now.labels
        and was.annotations is now.annotations
        and was.owner_references is now.owner_references
        and was.finalizers is now.finalizers
        and was.deletion_timestamp == now.deletion_timestamp
        and was.deletion_grace_period_seconds == now.deletion_grace_period_seconds
        and was.generation == now.generation
        and was.uid == now.uid
        and was.creation_timestamp == now.creation_timestamp
    ):
        parts |= _METADATA
    if old.spec is not new.spec:
        parts |= _SPEC
    before, after = old.status, new.status
    if before is not after:
        parts |= _STATUS
        if before.phase != after.phase and old.is_terminal != new.is_terminal:
            parts |= _ENDED
        if before.conditions is not after.conditions:
            parts |= _condition_differences(before.conditions, after.conditions)
    return parts


def _condition_differences(old: Sequence[Condition], new: Sequence[Condition]) -> int:
    parts = 0
    ready: Condition | None = None
    for condition in new:
        if condition.type == "Ready":
            ready = ready or condition
        elif condition.type == "DisruptionTarget":
            parts |= _TARGET
    for condition in old:
        if condition.type == "Ready":
            if (
                ready is None
                or ready.status != condition.status
                or ready.last_transition_time != condition.last_transition_time
            ):
                parts |= _READY
            return parts
    return parts if ready is None else parts | _READY


def _has_extended_claim(pod: Pod) -> bool:
    return "extendedResourceClaimStatus" in (pod.raw.get("status") or ())


class Subscriptions:
    """The subscriptions of controllers to changes.

    Parameters
    ----------
    controllers : iterable of Controller
        In the order of delivery.
    """

    def __init__(self, controllers: Iterable[Controller]) -> None:
        self._controllers = tuple(controllers)
        self._of_kinds: dict[GroupKind, tuple[Subscriber, ...]] = {}
        # By the kind of the owner, then by the change.
        self._of_pods: dict[str, dict[int, tuple[Subscriber, ...]]] = {}
        self._references: tuple[OwnerReference, ...] | None = None
        self._owner_kind = ""

    def of(self, kind: GroupKind, old: Version, new: Version) -> tuple[Subscriber, ...]:
        """Return the subscribers of a change."""
        pod = new if new is not None else old
        assert pod is not None, "neither an old nor a new object"
        if type(pod) is not Pod:
            return self._of_kind(kind)
        references = pod.metadata.owner_references
        if references is self._references:
            owner_kind = self._owner_kind
        else:
            # Pods of one owner share the reference and often change one after the other.
            owner = pod.metadata.controller
            owner_kind = _NO_OWNER if owner is None else owner.kind
            self._references, self._owner_kind = references, owner_kind
        if new is None:
            parts = _GONE
        elif type(old) is Pod:
            parts = differences(old, pod)
            were = old.metadata.owner_references
            if were is not references and were != references:
                owner_kind = _ANY_OWNER
        else:
            parts = _CAME
        if pod.spec.volumes:
            parts |= _HAS_VOLUMES
        if pod.spec.resource_claims or (parts & _ENDED and _has_extended_claim(pod)):
            parts |= _HAS_DEVICES
        of_owner = self._of_pods.get(owner_kind)
        if of_owner is None:
            of_owner = self._of_pods[owner_kind] = {}
        subscribers = of_owner.get(parts)
        if subscribers is None:
            subscribers = of_owner[parts] = self._pod_subscribers(owner_kind, parts)
        return subscribers

    def _of_kind(self, kind: GroupKind) -> tuple[Subscriber, ...]:
        subscribers = self._of_kinds.get(kind)
        if subscribers is None:
            subscribers = self._of_kinds[kind] = tuple(
                (each.name, each.observe, None) for each in self._subscribers_of(kind)
            )
        return subscribers

    def _subscribers_of(self, kind: GroupKind) -> list[Controller]:
        of_kind = [each for each in self._controllers if kind in each.kinds]
        return of_kind + [each for each in self._controllers if ALL_KINDS in each.kinds]

    def _pod_subscribers(self, owner_kind: str, parts: int) -> tuple[Subscriber, ...]:
        subscribers: list[Subscriber] = []
        for each in self._subscribers_of(POD):
            if (
                (each.owner_kind and owner_kind not in (each.owner_kind, _ANY_OWNER, _NO_OWNER))
                or (each.pod_changes is not None and not each.pod_changes & parts)
                or (each.only_with_volumes and not parts & _HAS_VOLUMES)
                or (each.only_with_devices and not parts & _HAS_DEVICES)
            ):
                continue
            condition = each.adopters if owner_kind == _NO_OWNER else None
            condition = each.pending_work if condition is None else condition
            subscribers.append((each.name, each.observe, None if parts & _GONE else condition))
        return tuple(subscribers)
