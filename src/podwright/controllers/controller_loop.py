"""All controllers as one machine: changes in, one object after the other looked at, writes out.

Objects that have to be looked at wait in one line, first come first served; one that waits
already is not entered twice, however many changes concern it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from podwright.controllers.actions import event_by
from podwright.controllers.interface import (
    Controller,
    ControllerAction,
    ControllerEvent,
    CreateRejected,
    CreateRejectedController,
    DrainNode,
    GroupKind,
    NodeController,
    NodeDown,
    NodeUp,
    SyncAt,
    SyncDue,
    SyncNext,
)
from podwright.controllers.lister import Lister
from podwright.controllers.subscriptions import Subscriptions
from podwright.machine import ObjectDeleted, ObjectPut
from podwright.objects import KubernetesObject, NamespacedName, api_group
from podwright.store import Change, kind_of


class ControllerLoopState(msgspec.Struct, frozen=True):
    """`ControllerLoop` as plain values, for checkpoints; the objects are elsewhere.

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


class ControllerLoop:
    """Runs controllers over one lister.

    Parameters
    ----------
    makers : iterable of callable
        Each makes a controller for the lister.

    Attributes
    ----------
    lister : Lister
        The cluster as they see it; to read.
    """

    def __init__(self, makers: Iterable[Callable[[Lister], Controller]]) -> None:
        self.lister = Lister()
        self._controllers: dict[str, Controller] = {}
        for make in makers:
            controller = make(self.lister)
            assert controller.name not in self._controllers, f"two of {controller.name}"
            self._controllers[controller.name] = controller
        self._subscriptions = Subscriptions(self._controllers.values())
        self._workqueue: dict[tuple[str, NamespacedName], None] = {}
        self._requeue_at: dict[tuple[str, NamespacedName], int] = {}
        self._refused_owners: list[str] = []

    @property
    def has_next(self) -> bool:
        """Whether `SyncNext` would look at an object now."""
        return bool(self._workqueue)

    def handle(self, event: ControllerEvent, now_ns: int) -> list[ControllerAction]:
        """Take an event, and say what is to be done."""
        match event:
            case ObjectPut(obj):
                self._tell(kind_of(obj), self.lister.put(obj), obj)
            case ObjectDeleted(obj):
                old = self.lister.delete(obj)
                if old is not None:
                    self._tell(kind_of(obj), old, None)
            case SyncNext():
                return self._sync(now_ns)
            case SyncDue(name, key):
                due_ns = self._requeue_at.get((name, key))
                if due_ns is not None and due_ns <= now_ns:
                    del self._requeue_at[name, key]
                    self._workqueue[name, key] = None
            case NodeDown() | NodeUp() | DrainNode():
                for controller in self._controllers.values():
                    if isinstance(controller, NodeController):
                        self._enter(controller, controller.on_node_event(event, now_ns))
            case CreateRejected():
                return self._refused(event)
        return []

    def _refused(self, event: CreateRejected) -> list[ControllerAction]:
        """Say that something is not let in, once per look and owner.

        Upstream tries one first, and no more if that fails: controller_utils.go, slowStartBatch,
        createPods; pkg/controller/statefulset/stateful_pod_control.go, recordPodEvent
        """
        obj, name = event.wanted.obj, event.wanted.user
        reference = obj.metadata.controller
        if reference is None or reference.uid in self._refused_owners:
            return []
        self._refused_owners.append(reference.uid)
        key = f"{obj.namespace}/{reference.name}"
        owner = self.lister.get((api_group(reference.api_version), reference.kind), key)
        if owner is None:
            return []
        controller = self._controllers[name]
        if isinstance(controller, CreateRejectedController):
            self._enter(controller, controller.on_create_rejected(key, event.message))
        note = f"Error creating: {event.message}"
        if owner.kind == "StatefulSet":
            what = f"create {obj.kind} {obj.name} in StatefulSet {owner.name}"
            note = f"{what} failed error: {event.message}"
        return [event_by(name, owner, "FailedCreate", note, is_warning=True)]

    def observe(self, changes: Iterable[Change]) -> None:
        """Take in changes of a store, in their order: whoever hears of one sees no later one."""
        lister, tell = self.lister, self._tell
        for change in changes:
            kind, old, new = change.kind, change.old, change.new
            if new is None:
                assert old is not None, "a change of nothing"
                lister.remove(kind, change.key, old)
            elif old is None:
                lister.add(kind, change.key, new)
            else:
                lister.replace(kind, change.key, old, new)
            tell(kind, old, new)

    def _tell(
        self, kind: GroupKind, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> None:
        """Tell of a change those to whom it matters; the view has it."""
        line = self._workqueue
        for name, observe, pending_work in self._subscriptions.of(kind, old, new):
            if pending_work is None or pending_work:
                for key in observe(old, new):
                    line[name, key] = None

    def _enter(self, controller: Controller, keys: Iterable[NamespacedName]) -> None:
        for key in keys:
            self._workqueue[controller.name, key] = None

    def _sync(self, now_ns: int) -> list[ControllerAction]:
        if not self._workqueue:
            return []
        name, key = next(iter(self._workqueue))
        del self._workqueue[name, key]
        self._refused_owners.clear()
        actions: list[ControllerAction] = []
        for action in self._controllers[name].sync(key, now_ns):
            if isinstance(action, SyncAt):
                place = (action.event.controller, action.event.key)
                known = self._requeue_at.get(place)
                if known is not None and now_ns < known <= action.due_ns:
                    continue
                self._requeue_at[place] = action.due_ns
            actions.append(action)
        return actions

    # -------------------------------------------------------------------- writing down

    def state(self) -> ControllerLoopState:
        """Write down what cannot be seen in the objects."""
        return ControllerLoopState(
            line=tuple(self._workqueue),
            wakes=tuple((name, key, due_ns) for (name, key), due_ns in self._requeue_at.items()),
            memories={name: each.state() for name, each in self._controllers.items()},
        )

    def restore(self, state: ControllerLoopState, objects: Iterable[KubernetesObject]) -> None:
        """Become as those were that `state` was taken of; these have to be new."""
        for obj in objects:
            self._tell(kind_of(obj), self.lister.put(obj), obj)
        self._workqueue = dict.fromkeys(state.line)
        self._requeue_at = {(name, key): due_ns for name, key, due_ns in state.wakes}
        for name, each in self._controllers.items():
            each.restore(state.memories[name])
