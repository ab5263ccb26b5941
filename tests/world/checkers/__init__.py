"""The checkers: each checks one law of a cluster.

A checker observes every change of a world. The trial calls `after_step` whenever no work is due at
the current time, and `after_recovery` at the end, when no fault is left. A checker adds each
violation to `violations`.
"""

from __future__ import annotations

from collections.abc import Sequence

from podwright.apimachinery.objects import KubernetesObject
from podwright.scheduler.framework.decision import Decision
from podwright.simulation.world.observers import KubernetesEvent
from podwright.simulation.world.world import World


class Checker:
    """The base class of checkers, which checks nothing."""

    def __init__(self) -> None:
        self.violations: list[str] = []

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Observe a change."""

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        """Observe a scheduling cycle."""

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        """Observe an Event."""

    def after_step(self, world: World) -> None:
        """Check the cluster after a step."""

    def after_recovery(self, world: World) -> None:
        """Check the cluster after all faults have ended."""

    def report(self, what: str, now_ns: int) -> None:
        """Record a violation."""
        self.violations.append(f"{type(self).__name__}: at {now_ns}: {what}")
