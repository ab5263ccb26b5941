"""The rule sets that a machine can run by.

A rule set makes the cluster, the queue, what decides for each scheduler name, the handlers of
object changes and the eviction of victims. Everything else (cycles, assumed pods, binding, calls
and their answers, metrics) belongs to the machine and is the same under all rules.

`V136RuleSet` is kube-scheduler 1.36. The rule set of 1.16 is in `assembly`, since it
is made of the room `classic`, which is on the same level as this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import PluginRunner, Profile, SearchPosition, Status
from podwright.scheduler.machine.cycles.batching import Batch
from podwright.scheduler.machine.cycles.binding_cycles import BindingCycles
from podwright.scheduler.machine.cycles.evictions import BlockingEvictions, Evictions
from podwright.scheduler.machine.cycles.failure import Failure, failed
from podwright.scheduler.machine.cycles.plugin_calls import with_point
from podwright.scheduler.machine.event_handlers import EventHandlers
from podwright.scheduler.machine.options import DEFAULT_OPTIONS, SchedulerOptions
from podwright.scheduler.machine.profiles import RunningProfile, hint_table, sort_order
from podwright.scheduler.machine.state import State
from podwright.scheduler.queueing import PodQueue, SchedulingQueue


class QueueCallbacks(NamedTuple):
    """What the queue calls back in the machine.

    Parameters
    ----------
    lookup : callable
        Returns the newest version of a pod by `namespace/name`; None if it is gone.
    run_pre_enqueue : callable
        Returns the plugin that gates a pod, and its reasons; None if no plugin does.
    """

    lookup: Callable[[str], Pod | None]
    run_pre_enqueue: Callable[[Pod], tuple[str, tuple[str, ...]] | None]


class RuleParts(NamedTuple):
    """The parts of a machine that depend on the rules, new and empty."""

    cluster: Cluster
    queue: PodQueue
    profiles: dict[str, RunningProfile]


class RuleSet(Protocol):
    """A rule set for a machine."""

    @property
    def can_snapshot(self) -> bool:
        """Whether the state of a machine under these rules can be captured."""

    @property
    def keeps_nominations(self) -> bool:
        """Whether a pod without a node keeps its nomination, unless preemption clears it."""

    def build(self, profiles: Mapping[str, Profile], callbacks: QueueCallbacks) -> RuleParts:
        """Build the cluster, the queue and the running profiles, by scheduler name."""

    def evictions(self, state: State, bindings: BindingCycles) -> Evictions:
        """Build what deletes victims."""

    def event_handlers(self, state: State, bindings: BindingCycles) -> EventHandlers:
        """Build what handles changes of objects."""

    def bind_failed(self, status: Status) -> Failure:
        """Describe an error of a Bind plugin, or of an extender that binds."""


class V136RuleSet:
    """The rules of kube-scheduler 1.36.

    Parameters
    ----------
    options : SchedulerOptions
        As `assembly` fills them in from a configuration.
    """

    can_snapshot = True
    keeps_nominations = False

    def __init__(self, options: SchedulerOptions = DEFAULT_OPTIONS) -> None:
        self._options = options

    def build(self, profiles: Mapping[str, Profile], callbacks: QueueCallbacks) -> RuleParts:
        """Build columns, the queue with its hints, and a runner per profile."""
        options = self._options
        cluster = Cluster(device_taint_rules="DRADeviceTaintRules" in options.gates)
        first = next(iter(profiles.values()), None)
        queue = SchedulingQueue(
            options.queue,
            hints={
                name: hint_table(profile, has_extenders=bool(options.extenders))
                for name, profile in profiles.items()
            },
            pre_enqueue=callbacks.run_pre_enqueue,
            # Validation ensures that all profiles have the same QueueSort plugin.
            sort_key=None if first is None else sort_order(first),
            lookup=callbacks.lookup,
            mirror=cluster,
            start_ns=options.start_ns,
        )
        position = SearchPosition()
        running = {
            name: self._running(profile, cluster, position) for name, profile in profiles.items()
        }
        return RuleParts(cluster, queue, running)

    def _running(
        self, profile: Profile, cluster: Cluster, position: SearchPosition
    ) -> RunningProfile:
        options = self._options
        # Extenders may change their replies at any time, so results are not reused with extenders.
        is_batching = options.batching and not options.extenders
        runner = PluginRunner(
            profile,
            cluster,
            seed=options.seed,
            extenders=options.extenders,
            keeps_totals=is_batching,
            position=position,
        )
        return RunningProfile(runner, Batch(runner) if is_batching else None)

    def evictions(self, state: State, bindings: BindingCycles) -> Evictions:
        """Delete victims while other pods are scheduled, or within the cycle."""
        is_asynchronous = "SchedulerAsyncPreemption" in self._options.gates
        kind = Evictions if is_asynchronous else BlockingEvictions
        return kind(state, bindings, parallelism=self._options.parallelism)

    def event_handlers(self, state: State, bindings: BindingCycles) -> EventHandlers:
        """Pass each change to the queue as the events that it consists of."""
        return EventHandlers(state, bindings)

    def bind_failed(self, status: Status) -> Failure:
        """Describe an error with the plugin that returned it."""
        return failed(with_point(status, "Bind") if status.plugin else status)
