"""Who looks on while a world runs: tables, progress, a web page.

An observer is told what happens and answers nothing, so no run depends on who looks on.
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
        What it is about.
    type : str
        Normal or Warning.
    reason, note : str
    source : str
        Who says it: a schedulerName, a controller or a stage.
    """

    object_kind: str
    key: str
    type: str
    reason: str
    note: str
    source: str


def event_of(event: EmitEvent | RecordEvent) -> KubernetesEvent:
    """Return what an action of the scheduler, a stage or a controller says."""
    if isinstance(event, EmitEvent):
        about, key, source = "Pod", event.pod, event.controller
    else:
        about, key, source = event.object_kind, event.key, event.source
    return KubernetesEvent(about, key, event.type, event.reason, event.note, source)


@runtime_checkable
class ChangeObserver(Protocol):
    """Is told what becomes of objects."""

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Hear that an object appeared (`old` is None), changed, or is gone (`new` is None)."""


@runtime_checkable
class DecisionObserver(Protocol):
    """Is told what the scheduler decides, before what follows from it has happened."""

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        """Hear that a scheduling cycle has ended."""


@runtime_checkable
class EventObserver(Protocol):
    """Is told of Kubernetes Events."""

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        """Hear that somebody recorded a Kubernetes Event."""


Observer: TypeAlias = ChangeObserver | DecisionObserver | EventObserver
"""Is told what happens in a world, in order: what it has a method for."""
