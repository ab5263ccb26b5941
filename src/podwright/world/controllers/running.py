"""All controllers as one machine: changes in, one object after the other looked at, writes out.

Objects that have to be looked at wait in one line, first come first served; one that waits
already is not entered twice, however many changes concern it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any, Final, TypeAlias

import msgspec

from podwright.machine import ObjectDeleted, ObjectPut
from podwright.objects import KubernetesObject, NamespacedName, ObjectMeta, Pod, api_group
from podwright.store.history import Change
from podwright.store.kinds import kind_of
from podwright.world.controllers.contract import (
    EVERY_KIND,
    Controller,
    ControllerAction,
    ControllerEvent,
    CreateRefused,
    DrainNode,
    GroupKind,
    NodeController,
    NodeDown,
    NodeUp,
    PodOwnerController,
    PodPart,
    PodReader,
    PodWaiter,
    RefusedController,
    SyncAt,
    SyncDue,
    SyncNext,
)
from podwright.world.controllers.documents import event_by
from podwright.world.controllers.view import View

_POD: Final[GroupKind] = ("", "Pod")

# As plain numbers, because they are added for every change.
_METADATA: Final = int(PodPart.METADATA)
_SPEC: Final = int(PodPart.SPEC)
_STATUS: Final = int(PodPart.STATUS)


class ControllersState(msgspec.Struct, frozen=True):
    """`Controllers` as plain values, for checkpoints; the objects are elsewhere.

    Attributes
    ----------
    line : tuple
        (controller, key) of what waits, first first.
    wakes : tuple
        (controller, key, due_ns) of what was asked for.
    memories : dict
        Per controller, what it remembers.
    """

    line: tuple[tuple[str, NamespacedName], ...]
    wakes: tuple[tuple[str, NamespacedName, int], ...]
    memories: dict[str, dict[str, Any]]


_Listener: TypeAlias = tuple[
    str,
    Callable[[KubernetesObject | None, KubernetesObject | None], Iterable[NamespacedName]],
    Sized | None,
]
"""The name of a controller, its `observe`, and what it has in hand if that matters."""


def differences(old: Pod, new: Pod) -> int:
    """Return the parts in which two versions of a pod may differ, as a `PodPart`.

    What a write leaves alone is the same object in both versions. The version itself does not
    count.
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
    if old.status is not new.status:
        parts |= _STATUS
    return parts


def _owner_kind(metadata: ObjectMeta) -> str:
    """Return the kind of what controls an object, empty for nothing."""
    for owner in metadata.owner_references:
        if owner.controller:
            return owner.kind
    return ""


def _owner_kind_of_both(old: KubernetesObject | None, new: KubernetesObject | None) -> str:
    """Return the kind of what controls an object, empty if that is not the same as before."""
    obj = new if new is not None else old
    assert obj is not None, "a change of nothing"
    metadata = obj.metadata
    if old is not None and old.metadata.owner_references != metadata.owner_references:
        return ""
    return _owner_kind(metadata)


class Controllers:
    """Runs controllers over one view.

    Parameters
    ----------
    makers : iterable of callable
        Each makes a controller for the view.

    Attributes
    ----------
    view : View
        The cluster as they see it; to read.
    """

    def __init__(self, makers: Iterable[Callable[[View], Controller]]) -> None:
        self.view = View()
        self._controllers: dict[str, Controller] = {}
        self._observers: dict[GroupKind, list[Controller]] = {}
        for make in makers:
            controller = make(self.view)
            assert controller.name not in self._controllers, f"two of {controller.name}"
            self._controllers[controller.name] = controller
            for kind in controller.kinds:
                self._observers.setdefault(kind, []).append(controller)
        # By the kind of the object, and of the owner if it is a pod.
        self._told: dict[tuple[GroupKind, str], list[_Listener]] = {}
        # By the kind of the owner, and the parts in which two versions of a pod differ.
        self._told_of_versions: dict[tuple[str, int], list[_Listener]] = {}
        self._line: dict[tuple[str, NamespacedName], None] = {}
        self._wakes: dict[tuple[str, NamespacedName], int] = {}
        self._refused_owners: list[str] = []

    @property
    def has_next(self) -> bool:
        """Whether `SyncNext` would look at an object now."""
        return bool(self._line)

    def handle(self, event: ControllerEvent, now_ns: int) -> list[ControllerAction]:
        """Take an event, and say what is to be done."""
        match event:
            case ObjectPut(obj):
                self._tell(kind_of(obj), self.view.put(obj), obj)
            case ObjectDeleted(obj):
                old = self.view.delete(obj)
                if old is not None:
                    self._tell(kind_of(obj), old, None)
            case SyncNext():
                return self._sync(now_ns)
            case SyncDue(name, key):
                due_ns = self._wakes.get((name, key))
                if due_ns is not None and due_ns <= now_ns:
                    del self._wakes[name, key]
                    self._line[name, key] = None
            case NodeDown() | NodeUp() | DrainNode():
                for controller in self._controllers.values():
                    if isinstance(controller, NodeController):
                        self._enter(controller, controller.told(event, now_ns))
            case CreateRefused():
                return self._refused(event)
        return []

    def _refused(self, event: CreateRefused) -> list[ControllerAction]:
        """Say that something is not let in, once per look and owner.

        Upstream tries one first, and no more if that fails: controller_utils.go, slowStartBatch,
        createPods; pkg/controller/statefulset/stateful_pod_control.go, recordPodEvent
        """
        obj, name = event.wanted.obj, event.wanted.controller
        reference = obj.metadata.controller
        if reference is None or reference.uid in self._refused_owners:
            return []
        self._refused_owners.append(reference.uid)
        key = f"{obj.namespace}/{reference.name}"
        owner = self.view.get((api_group(reference.api_version), reference.kind), key)
        if owner is None:
            return []
        controller = self._controllers[name]
        if isinstance(controller, RefusedController):
            self._enter(controller, controller.refused(key, event.message))
        note = f"Error creating: {event.message}"
        if owner.kind == "StatefulSet":
            what = f"create {obj.kind} {obj.name} in StatefulSet {owner.name}"
            note = f"{what} failed error: {event.message}"
        return [event_by(name, owner, "FailedCreate", note, is_warning=True)]

    def hear(self, changes: Iterable[Change]) -> None:
        """Take in changes of a store, in their order: whoever hears of one sees no later one."""
        view, tell = self.view, self._tell
        for change in changes:
            kind, old, new = change.kind, change.old, change.new
            if new is None:
                assert old is not None, "a change of nothing"
                view.remove(kind, change.key, old)
            elif old is None:
                view.add(kind, change.key, new)
            else:
                view.replace(kind, change.key, old, new)
            tell(kind, old, new)

    def _tell(
        self, kind: GroupKind, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> None:
        """Tell of a change those to whom it matters; the view has it."""
        if (
            type(new) is Pod
            and type(old) is Pod
            and new.metadata.owner_references is old.metadata.owner_references
        ):
            owner_kind = _owner_kind(new.metadata)
            place = owner_kind, differences(old, new)
            listeners = self._told_of_versions.get(place)
            if listeners is None:
                listeners = self._told_of_versions[place] = self._version_listeners(*place)
        else:
            owner_kind = _owner_kind_of_both(old, new) if kind == _POD else ""
            listeners = self._told.get((kind, owner_kind))
            if listeners is None:
                listeners = self._told[kind, owner_kind] = [
                    (each.name, each.observe, None) for each in self._told_of(kind, owner_kind)
                ]
        line = self._line
        for name, observe, in_hand in listeners:
            if in_hand is None or in_hand:
                for key in observe(old, new):
                    line[name, key] = None

    def _told_of(self, kind: GroupKind, owner_kind: str) -> list[Controller]:
        """Return the controllers that hear of objects of a kind, in their order.

        Parameters
        ----------
        owner_kind : str
            What controls the object, if it is a pod and that is of one kind; empty otherwise.
        """
        return [
            each
            for each in self._observers.get(kind, []) + self._observers.get(EVERY_KIND, [])
            if not owner_kind
            or not isinstance(each, PodOwnerController)
            or each.owner_kind == owner_kind
        ]

    def _version_listeners(self, owner_kind: str, parts: int) -> list[_Listener]:
        """Return those to whom a new version of a pod matters that differs in some parts."""
        return [
            (each.name, each.observe, each.in_hand if isinstance(each, PodWaiter) else None)
            for each in self._told_of(_POD, owner_kind)
            if not isinstance(each, PodReader) or each.pod_parts & parts
        ]

    def _enter(self, controller: Controller, keys: Iterable[NamespacedName]) -> None:
        for key in keys:
            self._line[controller.name, key] = None

    def _sync(self, now_ns: int) -> list[ControllerAction]:
        if not self._line:
            return []
        name, key = next(iter(self._line))
        del self._line[name, key]
        self._refused_owners.clear()
        actions: list[ControllerAction] = []
        for action in self._controllers[name].sync(key, now_ns):
            if isinstance(action, SyncAt):
                place = (action.event.controller, action.event.key)
                known = self._wakes.get(place)
                if known is not None and now_ns < known <= action.due_ns:
                    continue
                self._wakes[place] = action.due_ns
            actions.append(action)
        return actions

    # -------------------------------------------------------------------- writing down

    def state(self) -> ControllersState:
        """Write down what cannot be seen in the objects."""
        return ControllersState(
            line=tuple(self._line),
            wakes=tuple((name, key, due_ns) for (name, key), due_ns in self._wakes.items()),
            memories={name: each.state() for name, each in self._controllers.items()},
        )

    def restore(self, state: ControllersState, objects: Iterable[KubernetesObject]) -> None:
        """Become as those were that `state` was taken of; these have to be new."""
        for obj in objects:
            self._tell(kind_of(obj), self.view.put(obj), obj)
        self._line = dict.fromkeys(state.line)
        self._wakes = {(name, key): due_ns for name, key, due_ns in state.wakes}
        for name, each in self._controllers.items():
            each.restore(state.memories[name])
