"""The place where the machine's rules are chosen.

A rule set says what the machine knows of the cluster, which queue holds the pods, who decides
for each scheduler name, what a change of an object means to the queue, and how victims are
removed. Everything else (cycles, assumed pods, binding, calls and their answers, metrics) is
the machine's and the same under all rules.

`ModernRules` is kube-scheduler 1.36. The classic rules of 1.16 are in `podwright.assembly`,
since they are made of a room beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from podwright.columns import Cluster
from podwright.config import DEFAULT_GATES, Gates
from podwright.framework import CalledExtender, PluginRunner, Profile
from podwright.machine.batching import Batch
from podwright.machine.binding import BindingCycles
from podwright.machine.event_handlers import EventHandlers
from podwright.machine.evictions import BlockingEvictions, Evictions
from podwright.machine.profiles import RunningProfile, hint_table
from podwright.machine.state import State
from podwright.objects import Pod
from podwright.queueing import PodQueue, QueueSettings, SchedulingQueue, SortKey


class Asked(NamedTuple):
    """What a rule set may ask the machine.

    Parameters
    ----------
    lookup : callable
        The newest version of a pod by `namespace/name`; None if it is gone.
    run_pre_enqueue : callable
        The plugin that keeps a pod out of the queue, and why; None if none does.
    """

    lookup: Callable[[str], Pod | None]
    run_pre_enqueue: Callable[[Pod], tuple[str, tuple[str, ...]] | None]


class Ruled(NamedTuple):
    """What the rules are applied to, new and empty."""

    cluster: Cluster
    queue: PodQueue
    profiles: dict[str, RunningProfile]


class MachineRules(Protocol):
    """A rule set for a machine."""

    @property
    def can_snapshot(self) -> bool:
        """Whether a machine under these rules can be written down."""

    def begin(self, profiles: Mapping[str, Profile], asked: Asked) -> Ruled:
        """Make the cluster, the queue, and who decides, by scheduler name."""

    def evictions(self, state: State, bindings: BindingCycles) -> Evictions:
        """Make what removes victims."""

    def event_handlers(self, state: State, bindings: BindingCycles) -> EventHandlers:
        """Make what takes changes of objects in."""


class ModernRules:
    """The rules of kube-scheduler 1.36.

    Parameters
    ----------
    settings : QueueSettings, optional
        Durations of the queue.
    sort_key : SortKey, optional
        The order of the queue; None is PrioritySort.
    seed : int
        Of all draws.
    parallelism : int
        How many victims of one preemptor are removed at the same time.
    extenders : tuple of CalledExtender
        In the order in which they are asked.
    start_ns : int
        The time at which the machine begins to run.
    batching : bool
        Whether opportunistic batching takes part.
    gates : Gates
        SchedulerAsyncPreemption matters here.
    """

    can_snapshot = True

    def __init__(
        self,
        *,
        settings: QueueSettings | None = None,
        sort_key: SortKey | None = None,
        seed: int = 0,
        parallelism: int = 16,
        extenders: tuple[CalledExtender, ...] = (),
        start_ns: int = 0,
        batching: bool = False,
        gates: Gates = DEFAULT_GATES,
    ) -> None:
        self.settings = settings
        self.sort_key = sort_key
        self.seed = seed
        self.parallelism = parallelism
        self.extenders = extenders
        self.start_ns = start_ns
        self.batching = batching
        self.gates = gates

    def begin(self, profiles: Mapping[str, Profile], asked: Asked) -> Ruled:
        """Make columns, the queue with its hints, and a runner per profile."""
        cluster = Cluster()
        queue = SchedulingQueue(
            self.settings,
            hints={
                name: hint_table(profile, has_extenders=bool(self.extenders))
                for name, profile in profiles.items()
            },
            pre_enqueue=asked.run_pre_enqueue,
            sort_key=self.sort_key,
            lookup=asked.lookup,
            mirror=cluster,
            start_ns=self.start_ns,
        )
        running = {name: self._running(profile, cluster) for name, profile in profiles.items()}
        return Ruled(cluster, queue, running)

    def _running(self, profile: Profile, cluster: Cluster) -> RunningProfile:
        is_batching = self.batching and not self.extenders
        runner = PluginRunner(
            profile,
            cluster,
            seed=self.seed,
            extenders=self.extenders,
            keeps_totals=is_batching,
        )
        return RunningProfile(runner, Batch(runner) if is_batching else None)

    def evictions(self, state: State, bindings: BindingCycles) -> Evictions:
        """Remove victims while other pods are being scheduled, or in the cycle."""
        is_beside = "SchedulerAsyncPreemption" in self.gates
        kind = Evictions if is_beside else BlockingEvictions
        return kind(state, bindings, parallelism=self.parallelism)

    def event_handlers(self, state: State, bindings: BindingCycles) -> EventHandlers:
        """Tell the queue what exactly changed."""
        return EventHandlers(state, bindings)
