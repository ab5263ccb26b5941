"""The laws of a cluster, each with its checker.

A checker hears of every change, as any observer of a world does; it is asked after every
moment at which nothing is left to be done at once (`at_rest`), and when everything has calmed
down (`at_peace`). What it finds wrong it adds to `broken`.
"""

from __future__ import annotations

from collections.abc import Sequence

from podwright.framework.decision import Decision
from podwright.objects import KubernetesObject
from podwright.simulation.observers import KubernetesEvent
from podwright.simulation.world import World


class Checker:
    """A law that says nothing yet."""

    def __init__(self) -> None:
        self.broken: list[str] = []

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Hear of a change."""

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        """Hear of a scheduling cycle."""

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        """Hear of an Event."""

    def at_rest(self, world: World) -> None:
        """Look at a cluster between two moments."""

    def at_peace(self, world: World) -> None:
        """Look at a cluster in which nothing goes wrong any more."""

    def breaks(self, what: str, now_ns: int) -> None:
        """Take down what is wrong."""
        self.broken.append(f"{type(self).__name__}: at {now_ns}: {what}")
