"""Observers of a world: tables, reports, progress, a web page.

An observer receives changes, decisions, requests or Events and returns nothing, so a run does not
depend on its observers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final, Protocol, TypeAlias, runtime_checkable

import msgspec

from podwright.apimachinery.objects import (
    ArgumentError,
    KubernetesObject,
    Pod,
    described_type,
    nearest,
)
from podwright.cluster.api import DeleteObject, EvictPod, RecordEvent
from podwright.cluster.controllers import NodeEvent
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import EmitEvent
from podwright.simulation.world.inputs.operations import Operation


class KubernetesEvent(msgspec.Struct, frozen=True, gc=False):
    """A Kubernetes Event.

    Attributes
    ----------
    object_kind, key : str
        The object that the Event is about.
    type : str
        Normal or Warning.
    reason, note : str
    source : str
        The reporting component: a schedulerName, a controller or a stage.
    group, uid : str
        The API group and the uid of the object.
    action : str
        What the reporting component did, for Events of the scheduler.
    related : str
        `namespace/name` of the other pod that is involved; "" if there is none.
    resource_version : str
        Of the object as the reporting component knew it; "" if it is not known.
    host : str
        The node of the reporting component; "" for a component of the control plane.
    field_path : str
        The part of the object that the Event is about; "" for the whole object.
    """

    object_kind: str
    key: str
    type: str
    reason: str
    note: str
    source: str
    group: str = ""
    uid: str = ""
    action: str = ""
    related: str = ""
    resource_version: str = ""
    host: str = ""
    field_path: str = ""


def event_of(event: EmitEvent | RecordEvent) -> KubernetesEvent:
    """Return the Event that an action of the scheduler, a stage or a controller records."""
    if isinstance(event, EmitEvent):
        return KubernetesEvent(
            "Pod",
            event.pod,
            event.type,
            event.reason,
            event.note,
            event.controller,
            uid=event.uid,
            action=event.action,
            related=event.related,
            resource_version=event.resource_version,
        )
    return msgspec.convert(event, KubernetesEvent, from_attributes=True)


@runtime_checkable
class ChangeObserver(Protocol):
    """Receives changes of objects."""

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Receive an object that was created (`old` is None), updated or deleted (`new` is None).

        `now_ns` is when, in nanoseconds since 1970, as for the other observers.
        """


@runtime_checkable
class DecisionObserver(Protocol):
    """Receives the scheduler's decisions, before their actions are executed."""

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        """Receive `decisions`, those of a scheduling cycle that ended at `now_ns`."""


@runtime_checkable
class RemovalObserver(Protocol):
    """Receives the requests of the scheduler and of controllers that remove pods."""

    def removal_handled(
        self, pod: Pod, request: DeleteObject | EvictPod, error: Exception | None, now_ns: int
    ) -> None:
        """Receive an executed request.

        Parameters
        ----------
        pod : Pod
            The pod before the request.
        request : DeleteObject or EvictPod
            The request.
        error : Exception, optional
            Why the request was rejected.
        now_ns : int
            When, in nanoseconds since 1970.
        """


@runtime_checkable
class NodeEventObserver(Protocol):
    """Receives events of nodes that change no object by themselves."""

    def node_event(self, event: NodeEvent, now_ns: int) -> None:
        """Receive `event` of a node at `now_ns`: a drain starts, it fails, or it is restored."""


@runtime_checkable
class OperationObserver(Protocol):
    """Receives the operations of users, before they are executed."""

    def operated(self, operation: Operation, now_ns: int) -> None:
        """Receive `operation` at `now_ns`; the changes that it makes follow."""


@runtime_checkable
class EventObserver(Protocol):
    """Receives Kubernetes Events."""

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        """Receive `event`, a Kubernetes Event that a component recorded, at `now_ns`."""


@runtime_checkable
class CreationObserver(Protocol):
    """Receives what controllers could not create, and what users could not because of a quota."""

    def creation_rejected(self, obj: KubernetesObject, message: str, now_ns: int) -> None:
        """Receive `obj`, whose creation admission rejected at `now_ns` with `message`."""


Observer: TypeAlias = (
    ChangeObserver
    | CreationObserver
    | DecisionObserver
    | EventObserver
    | NodeEventObserver
    | OperationObserver
    | RemovalObserver
)
"""Receives what it has a method for, in order."""

_SIMILAR: Final = 0.8
_METHODS: Final = (
    "changed", "creation_rejected", "decided", "event_recorded", "node_event", "operated",
    "removal_handled",
)  # fmt: skip


def checked_observers(observers: Iterable[object]) -> tuple[Observer, ...]:
    """Return the observers.

    Raises
    ------
    ArgumentError
        If one has none of the methods, or has one whose name seems misspelt.
    """
    found = tuple(observers)
    for index, observer in enumerate(found):
        _check(observer, f"observers[{index}]")
    return found  # type: ignore[return-value]  # checked above


def _check(observer: object, what: str) -> None:
    if isinstance(observer, type):
        raise ArgumentError(f"{what}: must be an instance, not {described_type(observer)}")
    missing = [method for method in _METHODS if not callable(getattr(observer, method, None))]
    for name in dir(observer):
        if name.startswith("_") or not callable(getattr(observer, name, None)):
            continue
        near = nearest(name, missing)
        if near is not None and _is_misspelt(name, near):
            raise ArgumentError(f"{what}: {name}() is never called; did you mean {near}()?")
    if len(missing) == len(_METHODS):
        methods = ", ".join(f"{method}()" for method in _METHODS)
        raise ArgumentError(
            f"{what}: must be an object with at least one of {methods}, not "
            f"{described_type(observer)}"
        )


def _is_misspelt(name: str, method: str) -> bool:
    """Whether a name is a method's name, but for case, underscores or a few letters."""
    folded, expected = (text.replace("_", "").lower() for text in (name, method))
    return SequenceMatcher(None, folded, expected).ratio() >= _SIMILAR
