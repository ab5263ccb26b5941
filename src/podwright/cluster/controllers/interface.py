"""The events and actions of controllers, and the interface that each controller implements.

Theory of operation
-------------------
A controller compares the state of the cluster with the desired state of an object and returns
the writes that remove the difference. Every change of its kinds is delivered to it (`observe`);
of pods, only the changes that its class attributes select. It returns the keys of the objects
to sync. `ControllerLoop` then syncs one object at a time (`sync`). Between two syncs a
controller keeps only what the objects do not show, such as how often a job has failed.

The driver executes the actions of one sync and delivers the resulting changes before the next
sync. Each sync therefore sees the effects of all earlier ones, and controllers need none of the
expectations and conflict retries that upstream needs because its caches lag behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Sized
from enum import IntFlag
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    ObjectDeleted,
    ObjectPut,
    Pod,
)
from podwright.cluster.api import (
    CreateObject,
    DeleteObject,
    EvictPod,
    NodeDown,
    NodeUp,
    RecordEvent,
    UpdateObject,
)
from podwright.cluster.store import GroupKind, kind_of

__all__ = [
    "ALL_KINDS",
    "Controller",
    "ControllerAction",
    "ControllerEvent",
    "CreateObject",
    "CreateRejected",
    "CreateRejectedController",
    "CreationEvents",
    "DeleteObject",
    "DrainNode",
    "EvictPod",
    "GroupKind",
    "NodeController",
    "NodeDown",
    "NodeEvent",
    "NodeUp",
    "OrphanAdopter",
    "PendingWorkController",
    "PodChange",
    "PodDeviceController",
    "PodOwnerController",
    "PodReader",
    "PodVolumeController",
    "RejectionReporter",
    "StatelessController",
    "SyncAt",
    "SyncDue",
    "SyncNext",
    "UpdateObject",
    "WriteRejected",
]

ALL_KINDS: Final[GroupKind] = ("*", "*")
"""In `Controller.kinds`: the changes of all kinds are delivered."""


class PodChange(IntFlag):
    """What a change of a pod changes.

    Attributes
    ----------
    METADATA, SPEC, STATUS
        Any field of that section.
    TERMINAL, READY
        In the status: the pod terminated; the condition Ready or its transition time changed.
    DISRUPTION_TARGET
        In the status: the conditions changed and include DisruptionTarget.
    ADDED, DELETED
        The pod was created or removed.
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
    """Sync the next object of the workqueue; nothing happens if it is empty."""


class SyncDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The time of a `SyncAt` has come; ignored at any earlier time."""

    controller: str
    key: NamespacedName


class DrainNode(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Drain a node: cordon it, and evict its pods as their disruption budgets allow."""

    node: str


NodeEvent: TypeAlias = NodeDown | NodeUp | DrainNode

# ------------------------------------------------------------------------------ actions


class CreateRejected(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The API server rejected an object that a controller creates.

    Attributes
    ----------
    request : CreateObject
    message : str
        The reason.
    """

    request: CreateObject
    message: str


class WriteRejected(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The API server rejected another write of a controller, such as an update.

    Attributes
    ----------
    controller : str
    message : str
        The reason.
    """

    controller: str
    message: str


class SyncAt(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Send `SyncDue` at a time; an earlier time for the same object remains valid."""

    due_ns: int
    event: SyncDue


ControllerEvent: TypeAlias = (
    ObjectPut | ObjectDeleted | SyncNext | SyncDue | NodeEvent | CreateRejected | WriteRejected
)

ControllerAction: TypeAlias = (
    CreateObject | UpdateObject | DeleteObject | EvictPod | RecordEvent | SyncAt
)

# --------------------------------------------------------------------------- controllers


class Controller(Protocol):
    """A controller: a deterministic state machine that `ControllerLoop` runs.

    The constructor takes the `Lister` that all controllers share.

    Attributes
    ----------
    name : str
        The source component of its Events upstream, such as `replicaset-controller`.
    kinds : sequence of GroupKind
        The kinds whose changes are delivered to it.
    """

    name: str
    kinds: Sequence[GroupKind]

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Return the keys of the objects to sync after a change, which the lister has already.

        `old` is None for an added object, `new` for a removed one.
        """
        ...

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Sync one object, which may no longer exist, and return the actions."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the state that the lister does not show, as JSON values."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `state`; the lister has all objects already."""
        ...


@runtime_checkable
class PodOwnerController(Protocol):
    """A controller that observes only the pods of its own kind of owner, and orphans.

    The changes of a pod that an owner of another kind controls, before and after the change, are
    not delivered to it.

    Attributes
    ----------
    owner_kind : str
    """

    owner_kind: str


@runtime_checkable
class OrphanAdopter(Protocol):
    """A `PodOwnerController` to which orphans matter only while there is an owner.

    Attributes
    ----------
    adopters : sized
        While it is empty, the changes of pods that had and have no controlling owner are not
        delivered, except removals. The property always returns the same collection.
    """

    @property
    def adopters(self) -> Sized:
        """The owners that may adopt orphans."""
        ...


@runtime_checkable
class PodReader(Protocol):
    """A controller that observes only some changes of pods.

    Only the changes of a pod that include one of these are delivered to it.

    Attributes
    ----------
    pod_changes : PodChange
    """

    pod_changes: PodChange


@runtime_checkable
class PodVolumeController(Protocol):
    """A controller that observes only pods with volumes.

    Attributes
    ----------
    only_with_volumes : True
    """

    only_with_volumes: Literal[True]


@runtime_checkable
class PodDeviceController(Protocol):
    """A controller that observes only pods with resource claims.

    A pod whose claim is for extended resources is delivered when it terminates.

    Attributes
    ----------
    only_with_devices : True
    """

    only_with_devices: Literal[True]


@runtime_checkable
class PendingWorkController(Protocol):
    """A controller that observes pods only while it has pending work.

    Attributes
    ----------
    pending_work : sized
        While it is empty, only removals of pods are delivered. The property always returns the
        same collection, so that subscriptions can keep it.
    """

    @property
    def pending_work(self) -> Sized:
        """The pending work, such as the nodes that are being drained."""
        ...


@runtime_checkable
class DrainingController(Protocol):
    """A controller that drains nodes."""

    @property
    def draining_nodes(self) -> Collection[str]:
        """The nodes whose drains are in progress."""
        ...


@runtime_checkable
class NodeController(Protocol):
    """A controller that also receives node events, which no object shows."""

    def on_node_event(self, event: NodeEvent, now_ns: int) -> Iterable[NamespacedName]:
        """Return the keys to sync after an event."""
        ...


@runtime_checkable
class CreateRejectedController(Protocol):
    """A controller that is also notified of rejected objects, once per owner and sync."""

    def on_create_rejected(self, owner: NamespacedName, message: str) -> Iterable[NamespacedName]:
        """Return the keys to sync; the controller must not retry the same create at once."""
        ...


@runtime_checkable
class RejectionReporter(Protocol):
    """A controller with its own Events about rejected objects that have no controlling owner."""

    def report_rejected(self, obj: KubernetesObject, message: str) -> list[ControllerAction]:
        """Return the actions that report the rejection of an object to users."""
        ...


# What controllers have in common whose whole state the objects show.


class StatelessController(Checkpointed):
    """A controller of which checkpoints save nothing: it observes all objects again."""


# SuccessfulCreate Events about pods whose names the API server generates.
#
# A controller that creates a pod does not know its name yet. It expects a number of pods, observes
# their additions, and records the Events with their names at its next sync.


class CreationEvents(Checkpointed):
    """The number of pods that each owner expects, and the pods created so far."""

    _expected: Saved[dict[NamespacedName, int]]
    _created: Saved[dict[NamespacedName, list[str]]]

    def __init__(self) -> None:
        self._expected = {}
        self._created = {}

    def expect(self, owner: NamespacedName, count: int) -> None:
        """Expect a number of new pods."""
        self._expected[owner] = count

    def observe(self, owner: NamespacedName, pod: Pod) -> None:
        """Keep the name of an added pod, if its owner expects one."""
        expected = self._expected.get(owner, 0)
        if expected:
            self._expected[owner] = expected - 1
            created = self._created.get(owner)
            if created is None:
                created = self._created[owner] = []
            created.append(pod.metadata.name)

    def events(self, owner: KubernetesObject, source: str) -> list[ControllerAction]:
        """Return the Events about the pods created since the last sync, and expect no more.

        Notes
        -----
        Upstream: controller_utils.go, createPods
        """
        key, (group, kind), uid = owner.key, kind_of(owner), owner.uid
        self._expected.pop(key, None)
        return [
            RecordEvent(
                group, kind, key, uid, "Normal", "SuccessfulCreate", f"Created pod: {name}", source
            )
            for name in self._created.pop(key, ())
        ]

    def forget(self, owner: NamespacedName) -> None:
        """Forget an owner that was removed."""
        self._expected.pop(owner, None)
        self._created.pop(owner, None)
