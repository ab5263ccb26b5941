"""The delays of a timing model in virtual time: who is busy until when.

A scheduling cycle decides on the state of its start, as upstream's on its snapshot. Its actions
are issued, and the next cycle starts, when its duration is over. A write of a client waits for
its tokens, then for one of its places in parallel, and is executed at its end.

All draws depend on the seed and on their numbers alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import SECOND_NS
from podwright.cluster.api import WriteRequest
from podwright.scheduler.framework import Decision, Profile
from podwright.scheduler.machine import ApiCall, CallExtender, EmitEvent, ObjectDeleted, ObjectPut
from podwright.simulation.world.timing.distributions import Draws, parse_duration_ns
from podwright.simulation.world.timing.model import PPM, ClientTiming, Timing, parse_factor

STARTING_STAGE: Final = "pod-ready"
"""The stage that starts a pod, in KWOK's stages and in the built-in ones."""


class CycleOver(msgspec.Struct, frozen=True, gc=False):
    """A component that was busy can continue."""


class Issued(msgspec.Struct, frozen=True):
    """A component issues an action now."""

    action: ApiCall | CallExtender | EmitEvent


class Written(msgspec.Struct, frozen=True):
    """A write takes effect now."""

    action: ApiCall | WriteRequest


class Watched(msgspec.Struct, frozen=True):
    """The scheduler receives changes now."""

    events: tuple[ObjectPut | ObjectDeleted, ...]


TimedEvent = CycleOver | Issued | Written | Watched


class Client(Checkpointed):
    """The writes of a client: a token bucket, and places in parallel."""

    _full_ns: Saved[int]
    """When the bucket is full again: `burst` intervals before, it is empty."""
    _free_ns: Saved[list[int]]
    """When each place is free, as a heap."""
    _durations: Saved[Draws]

    def __init__(self, timing: ClientTiming, name: str, seed: int) -> None:
        self._interval_ns = round(SECOND_NS / timing.qps) if timing.qps else 0
        self._ahead_ns = self._interval_ns * (timing.burst - 1)
        self._full_ns = 0
        self._free_ns = [0] * timing.parallel
        self._durations = Draws(timing.duration, f"timing {name}", seed)

    def end_ns(self, now_ns: int) -> int:
        """Return when a write takes effect that is issued now."""
        start_ns = max(now_ns, self._full_ns - self._ahead_ns)
        self._full_ns = max(now_ns, self._full_ns) + self._interval_ns
        duration_ns = self._durations.next()
        if not self._free_ns:
            return start_ns + duration_ns
        end_ns = max(start_ns, self._free_ns[0]) + duration_ns
        heapq.heapreplace(self._free_ns, end_ns)
        return end_ns


class Delays(Checkpointed):
    """The delays of one world.

    Parameters
    ----------
    timing : Timing
    profiles : mapping of str to Profile
        By scheduler name.
    seed : int
        Of all draws.

    Attributes
    ----------
    scheduler, controllers : Client
    watch : Draws
        The delays of watches.
    scheduler_ns, controllers_ns : int
        When the scheduling cycle, and the writes of the last syncs, are over.
    """

    scheduler: Saved[Client]
    controllers: Saved[Client]
    scheduler_ns: Saved[int]
    controllers_ns: Saved[int]
    _factors: Saved[Draws]
    watch: Saved[Draws]
    _watched_ns: Saved[int]
    _starts: Saved[Draws]

    def __init__(self, timing: Timing, profiles: Mapping[str, Profile], seed: int) -> None:
        cycle, clients = timing.cycle, timing.clients
        self.scheduler = Client(clients.scheduler, "scheduler", seed)
        self.controllers = Client(clients.controllers, "controllers", seed)
        self.scheduler_ns = self.controllers_ns = self._watched_ns = 0
        self._factors = Draws(cycle.factor, "timing cycle", seed, parse_factor)
        self.watch = Draws(timing.watch_delay, "timing watch", seed)
        self._starts = Draws(timing.kubelet.start, "timing kubelet", seed)
        self._has_factor = cycle.factor is not None
        self._starts_late = timing.kubelet.start is not None
        self._evaluated_ns = parse_duration_ns(cycle.per_node_evaluated)
        self._scored_ns = parse_duration_ns(cycle.per_node_scored)
        constant_ns = parse_duration_ns(cycle.constant)
        by_plugin = {name: parse_duration_ns(text) for name, text in cycle.per_plugin.items()}
        self._constant_ns = {
            name: constant_ns
            + sum(by_plugin.get(plugin.name, 0) for plugin in profile.all_plugins())
            for name, profile in profiles.items()
        }

    def cycle_ns(self, decisions: Iterable[Decision]) -> int:
        """Return how long the cycle of some decisions takes."""
        total_ns = 0
        for decision in decisions:
            feasible = decision.feasible_count
            total_ns += self._constant_ns.get(decision.pod.spec.scheduler_name, 0)
            total_ns += self._evaluated_ns * decision.evaluated_count
            # Upstream does not score the only feasible node.
            total_ns += self._scored_ns * feasible if feasible > 1 else 0
        return total_ns * self._factors.next() // PPM if self._has_factor else total_ns

    def watched_ns(self, now_ns: int) -> int:
        """Return when a watcher receives what is written now: not before earlier writes."""
        self._watched_ns = max(self._watched_ns, now_ns + self.watch.next())
        return self._watched_ns

    def is_late(self, stage: str) -> bool:
        """Whether a stage is due later than it says."""
        return self._starts_late and stage == STARTING_STAGE

    def late_ns(self) -> int:
        """Return how much later than it says the next such stage is due."""
        return self._starts.next()
