"""Observers of a world: tables, progress, a web page.

An observer receives changes, decisions or Events and returns nothing, so a run does not depend on
its observers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import msgspec

from podwright.api import RecordEvent
from podwright.framework import Decision
from podwright.machine import EmitEvent
from podwright.objects import KubernetesObject


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
    """

    object_kind: str
    key: str
    type: str
    reason: str
    note: str
    source: str


def event_of(event: EmitEvent | RecordEvent) -> KubernetesEvent:
    """Return the Event that an action of the scheduler, a stage or a controller records."""
    if isinstance(event, EmitEvent):
        about, key, source = "Pod", event.pod, event.controller
    else:
        about, key, source = event.object_kind, event.key, event.source
    return KubernetesEvent(about, key, event.type, event.reason, event.note, source)


@runtime_checkable
class ChangeObserver(Protocol):
    """Receives changes of objects."""

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Receive a created (`old` is None), updated or deleted (`new` is None) object."""


@runtime_checkable
class DecisionObserver(Protocol):
    """Receives the scheduler's decisions, before their actions are executed."""

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        """Receive the decisions of a scheduling cycle that ended."""


@runtime_checkable
class EventObserver(Protocol):
    """Receives Kubernetes Events."""

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        """Receive a Kubernetes Event that a component recorded."""


Observer: TypeAlias = ChangeObserver | DecisionObserver | EventObserver
"""Receives what it has a method for, in order."""
