"""What controllers are told, what they want, and what each of them must offer.

Theory of operation
-------------------
A controller looks at the cluster as it is and at what an object asks for, and wants the
difference gone. It is told of every change of its kinds (`observe`), of pods only what it says
it reads, and says which of its objects have to be looked at again; later, one object after the
other, it looks (`sync`) and returns what is to be done. In between it keeps nothing that it
could not see again, but for what it remembers on purpose, such as how often a job has failed.

Whoever drives the controllers does the actions of one sync and tells them of the changes
before the next sync. So a sync always sees what every earlier one has done, and needs none of
the expectations and conflict retries by which upstream's controllers live with slow caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from enum import IntFlag
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from podwright.api import (
    CreateObject,
    DeleteObject,
    EvictPod,
    NodeDown,
    NodeUp,
    RecordEvent,
    UpdateObject,
)
from podwright.machine import ObjectDeleted, ObjectPut
from podwright.objects import KubernetesObject, NamespacedName
from podwright.store import GroupKind

__all__ = [
    "ALL_KINDS",
    "Controller",
    "ControllerAction",
    "ControllerEvent",
    "CreateObject",
    "CreateRejected",
    "CreateRejectedController",
    "DeleteObject",
    "DrainNode",
    "EvictPod",
    "GroupKind",
    "NodeController",
    "NodeDown",
    "NodeEvent",
    "NodeUp",
    "PendingWorkController",
    "PodChange",
    "PodOwnerController",
    "PodReader",
    "PodVolumeController",
    "SyncAt",
    "SyncDue",
    "SyncNext",
    "UpdateObject",
]

ALL_KINDS: Final[GroupKind] = ("*", "*")
"""Among the kinds of a controller: it is told of the changes of all."""


class PodChange(IntFlag):
    """What a change of a pod may be about: the parts in which two versions of it may differ.

    Attributes
    ----------
    METADATA, SPEC, STATUS
        All of it.
    TERMINAL, READY
        Of the status: whether the pod has ended; the condition Ready, or since when it is so.
    DISRUPTION_TARGET
        Of the status: conditions, among which there is a DisruptionTarget now.
    ADDED, DELETED
        The pod itself.
    """

    METADATA = 1
    SPEC = 2
    STATUS = 4
    TERMINAL = 8
    READY = 16
    DISRUPTION_TARGET = 32
    ADDED = 64
    DELETED = 128


# ------------------------------------------------------------------------------- events


class SyncNext(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The next object is to be looked at; nothing happens if there is none."""


class SyncDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The time of a `SyncAt` has come; harmless at any other time."""

    controller: str
    key: NamespacedName


class DrainNode(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Somebody drains a node: it is cordoned, and its pods are evicted as budgets allow."""

    node: str


NodeEvent: TypeAlias = NodeDown | NodeUp | DrainNode

# ------------------------------------------------------------------------------ actions


class CreateRejected(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The API server did not let in what a controller wanted.

    Attributes
    ----------
    wanted : CreateObject
    message : str
        Why.
    """

    wanted: CreateObject
    message: str


class SyncAt(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Send `SyncDue` at a time; an earlier wish for the same object still holds."""

    due_ns: int
    event: SyncDue


ControllerEvent: TypeAlias = (
    ObjectPut | ObjectDeleted | SyncNext | SyncDue | NodeEvent | CreateRejected
)

ControllerAction: TypeAlias = (
    CreateObject | UpdateObject | DeleteObject | EvictPod | RecordEvent | SyncAt
)

# --------------------------------------------------------------------------- controllers


class Controller(Protocol):
    """One controller: a pure machine that `ControllerLoop` runs with others.

    Its constructor takes the `Lister` that all of them share.

    Attributes
    ----------
    name : str
        As the source component of its Events is called upstream, such as
        `replicaset-controller`.
    kinds : sequence of GroupKind
        The kinds whose changes it is told of.
    """

    name: str
    kinds: Sequence[GroupKind]

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Return the keys that a change makes worth looking at; the view has it already.

        `old` is None for an object that appeared, `new` for one that is gone.
        """
        ...

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Look at one object, which may be gone, and return what is to be done."""
        ...

    def state(self) -> dict[str, Any]:
        """Return what it remembers that the view does not show, as JSON values."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what another one did; the view is filled already."""
        ...


@runtime_checkable
class PodOwnerController(Protocol):
    """A controller to which only pods of its own kind of owner matter, and pods of nobody.

    It is not told of the changes of a pod that an owner of another kind controls, before and
    after.

    Attributes
    ----------
    owner_kind : str
    """

    owner_kind: str


@runtime_checkable
class PodReader(Protocol):
    """A controller to which not all of a pod matters.

    It is only told of changes of a pod that are about one of these parts.

    Attributes
    ----------
    pod_changes : PodChange
    """

    pod_changes: PodChange


@runtime_checkable
class PodVolumeController(Protocol):
    """A controller to which only pods with volumes matter.

    Attributes
    ----------
    only_with_volumes : True
    """

    only_with_volumes: Literal[True]


@runtime_checkable
class PendingWorkController(Protocol):
    """A controller to which pods matter only while it has something in hand.

    Attributes
    ----------
    pending_work : sized
        While it is empty, the controller is not told of pods that come or change, only of those
        that go. Always the same collection, whatever is in it.
    """

    @property
    def pending_work(self) -> Sized:
        """What makes pods matter."""
        ...


@runtime_checkable
class NodeController(Protocol):
    """A controller that is also told what happens to nodes and cannot be seen in objects."""

    def on_node_event(self, event: NodeEvent, now_ns: int) -> Iterable[NamespacedName]:
        """Return the keys that an event makes worth looking at."""
        ...


@runtime_checkable
class CreateRejectedController(Protocol):
    """A controller that is also told if what it wants is refused, once for all of one look."""

    def on_create_rejected(self, owner: NamespacedName, message: str) -> Iterable[NamespacedName]:
        """Return the keys that are worth looking at now; not to try the same again at once."""
        ...
