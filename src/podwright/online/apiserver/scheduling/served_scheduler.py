"""One of the schedulers of a cluster: its world, its configuration and its decision logs.

Each scheduler of a cluster is a machine in a separate world. The worlds have one store, so each
scheduler receives the writes of all others, as separate processes with watches do. The first world
also has the controllers and the kubelets.
"""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Sequence
from typing import Final

from podwright.apimachinery.objects import DEFAULT_SCHEDULER_NAME, FieldError, Pod
from podwright.online.apiserver.breakpoints import Breakpoints
from podwright.online.apiserver.scheduling.plugin_monitor import PluginMonitor
from podwright.online.apiserver.scheduling.received_configuration import called_extenders
from podwright.scheduler.config import ExtenderCall, KubeSchedulerConfiguration
from podwright.scheduler.framework import CallExtender, Plugin
from podwright.scheduler.machine import Failure, SchedulerOptions, error_text
from podwright.simulation.recording import DecisionLog, TimelineFeed
from podwright.simulation.world import World, with_scheduler

LOGS_MAX: Final = 10
"""How many configurations back, counting the current one, decisions can be explained."""

LOG_BLOCK_EVENTS: Final = 256
"""The number of events in a block of the decision log: encoding 1,024 takes 40 ms of a turn, and a
block of 128 costs 4 us more per pod."""

LOG_EVENTS: Final = 500_000
LOG_BYTES: Final = 10 << 20
"""How many events of a scheduler can be looked back at, unless an option says otherwise: so many,
or those of so many bytes of the log, whichever are fewer. An event takes 45 to 90 bytes."""

CHECKPOINTS_KEPT: Final = 4
"""How many checkpoints a log has that is limited by its bytes: each drops a fourth of it. Those of
large clusters are fewer, as each is to take at most a third of what is written."""

CHECKPOINT_BY_DRIVER: Final = 1 << 40
"""The number of events after which the log itself writes a checkpoint: never."""

MEMORY_CHECKPOINT_EVENTS: Final = 10_000
"""The least number of events after which an encoded in-memory
checkpoint of the log is worth making: replaying as many takes 0.5 s."""

EVENTS_PER_OBJECT: Final = 0.5
"""The same for each object: restoring one takes half as long as replaying an event."""

STATE_EVENTS: Final = 4_000
"""The least number of events after which the state is kept with its objects, which a turn does."""

STATE_EVENTS_PER_OBJECT: Final = 0.25
"""The same for each object: keeping one takes 1 us of a turn, so 4 us are added to an event."""

MEMORY_CHECKPOINT_OBJECTS_MAX: Final = 40_000
"""The most nodes and pods with which in-memory checkpoints are made: keeping the state takes 1 us
of a turn for each. Beside the reader that encodes one, the server copies each page of memory that
it writes: with 55,000 objects one turn took 62 ms."""

_LOGGER: Final = logging.getLogger(__name__)


def scheduler_names(configuration: KubeSchedulerConfiguration | None) -> tuple[str, ...]:
    """Return the schedulerNames of the pods that a scheduler with a configuration schedules."""
    profiles = () if configuration is None else configuration.profiles
    names = tuple(each.scheduler_name or DEFAULT_SCHEDULER_NAME for each in profiles)
    return names or (DEFAULT_SCHEDULER_NAME,)


def repeated_names(
    options: SchedulerOptions, others: Sequence[SchedulerOptions]
) -> list[FieldError]:
    """Return an error for each schedulerName of a configuration that another scheduler has."""
    sources = {name: each.source for each in others for name in scheduler_names(each.configuration)}
    return [
        FieldError(
            source=options.source,
            path=f"profiles[{index}].schedulerName",
            message=f'Duplicate value: "{name}": the scheduler of {sources[name]} has it already',
        )
        for index, name in enumerate(scheduler_names(options.configuration))
        if name in sources
    ]


class ServedScheduler:
    """A scheduler of a cluster.

    Parameters
    ----------
    world : World
        Its world, which is replaced when the configuration changes.
    options : SchedulerOptions
        Its present options.
    breakpoints : Breakpoints
        Of the cluster.
    call_extender : callable, optional
        Makes the calls of `extender_calls`.
    extender_calls : list of (int, ExtenderCall), optional
        The list to which the world adds calls to extenders.
    log_events : int, optional
        How many events, at least, can be looked back at; left out, see `LOG_BYTES`.
    keeps_timeline : bool
        Whether the timeline is collected while the scheduler runs.

    Attributes
    ----------
    extender_calls : list of (int, ExtenderCall)
        Calls to extenders that the driver has to start, outside the turn loop. It removes them,
        and passes the replies to `World.extender_replied`.
    logs : list of DecisionLog
        The decision logs of the configurations so far; the last one is that of the current one.
    monitor : PluginMonitor
        Of the plugins of the current configuration.
    timeline : TimelineFeed, optional
        The changes since the current configuration started; None if they are not collected, or
        since the log has dropped events: then a replay of the log has what is kept.
    """

    def __init__(
        self,
        world: World,
        options: SchedulerOptions,
        breakpoints: Breakpoints,
        *,
        call_extender: CallExtender | None = None,
        extender_calls: list[tuple[int, ExtenderCall]] | None = None,
        log_events: int | None = None,
        keeps_timeline: bool = False,
    ) -> None:
        self.world = world
        self.options = options
        self.call_extender = call_extender
        self.extender_calls = [] if extender_calls is None else extender_calls
        self.logs = [world.log]
        self._log_plugins = [options.plugins]
        self.monitor = PluginMonitor(world, breakpoints)
        self._log_events = LOG_EVENTS if log_events is None else log_events
        self._log_bytes = LOG_BYTES if log_events is None else sys.maxsize
        self._keeps_timeline = keeps_timeline
        self.timeline: TimelineFeed | None = None
        self._last_checkpoint = self._last_size = 0
        self._checkpoint_bytes = self._log_bytes // CHECKPOINTS_KEPT
        self._follow_world()

    def _follow_world(self) -> None:
        self.world.machine.watch_failures(_log_failure, _log_ignored)
        self.world.log.block_events = LOG_BLOCK_EVENTS
        if not any(called_extenders(self.options.configuration)):
            # Extenders receive the managed fields of nodes, and those of Policies also of pods.
            self.world.log.omit_owners()
        self.timeline = None
        if self._keeps_timeline:
            self.timeline = TimelineFeed(self.world.machine)
            self.timeline.advance(self.world.now_ns)
            self.world.components.recorder.add_feed(self.timeline)

    @property
    def names(self) -> tuple[str, ...]:
        """The schedulerNames of the pods that it schedules."""
        return tuple(self.world.machine.profiles)

    def plugins_of(self, log: DecisionLog) -> tuple[type[Plugin], ...]:
        """Return the user's plugin classes that one of `logs` was recorded with."""
        found = next(index for index, each in enumerate(self.logs) if each is log)
        return self._log_plugins[found]

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the driver should call `write_checkpoint`."""
        log, machine = self.world.log, self.world.machine
        if len(log) < self._last_checkpoint:  # of the configuration before
            self._last_checkpoint = self._last_size = 0
        return (
            (
                len(log) - self._last_checkpoint >= self._log_events
                or log.size_bytes - self._last_size >= self._checkpoint_bytes
            )
            and machine.can_snapshot
            # The state of these plugins cannot be restored from a checkpoint.
            and not machine.unrestorable
        )

    @property
    def is_memory_checkpoint_due(self) -> bool:
        """Whether an encoded in-memory checkpoint, where explanations start, should be made."""
        log = self.world.log
        return self._is_far(log.last_start, MEMORY_CHECKPOINT_EVENTS, EVENTS_PER_OBJECT)

    @property
    def is_state_due(self) -> bool:
        """Whether the state should be kept with its objects, as the next start of explanations."""
        return self._is_far(self.world.log.last_state, STATE_EVENTS, STATE_EVENTS_PER_OBJECT)

    def _is_far(self, last: int, least_events: int, events_per_object: float) -> bool:
        """Whether the log is far enough from an event, and the machine can be kept now."""
        machine = self.world.machine
        cluster = machine.cluster
        object_count = len(cluster.pods) + len(cluster.nodes.slot_of)
        return (
            object_count <= MEMORY_CHECKPOINT_OBJECTS_MAX
            and len(self.world.log) - last >= max(least_events, events_per_object * object_count)
            and machine.can_snapshot
            and not machine.unrestorable
        )

    def keep_state(self) -> None:
        """Keep the state with its objects, if that is due."""
        if self.is_state_due:
            self.world.log.keep_state(self.world.machine)

    def write_checkpoint(self) -> None:
        """Write a checkpoint, and drop what is too old before an earlier one."""
        log = self.world.log
        log.flush()
        written = log.size_bytes
        if log.checkpoint(self.world.machine, is_whole=True):
            self._last_checkpoint = len(log)
            self._checkpoint_bytes = max(
                self._log_bytes // CHECKPOINTS_KEPT,
                min(2 * (log.size_bytes - written), self._log_bytes),
            )
            is_shorter = log.drop_before_checkpoint(self._log_events, self._log_bytes) > 0
            self._last_size = log.size_bytes
            if is_shorter and self.timeline is not None:
                # It would grow for as long as the server runs. A reader process that starts now
                # has the one or the other.
                short = copy.copy(self.timeline)
                short.drop_before(log.first_ns)
                self.world.components.recorder.remove_feed(self.timeline)
                self.world.components.recorder.add_feed(short)
                self.timeline = short

    def change(self, options: SchedulerOptions, call_extender: CallExtender | None = None) -> None:
        """Continue with another configuration; see `with_scheduler`.

        Raises
        ------
        InputError
            The configuration is not valid; the current one stays.
        """
        self.world = with_scheduler(self.world, options, checkpoint_events=CHECKPOINT_BY_DRIVER)
        self.options = options
        self._follow_world()
        self.monitor.follow(self.world)
        self.logs.append(self.world.log)
        self._log_plugins.append(options.plugins)
        del self.logs[:-LOGS_MAX], self._log_plugins[:-LOGS_MAX]
        self.extender_calls.clear()
        self.call_extender = call_extender


def _log_ignored(text: str) -> None:
    _LOGGER.error("%s, which has no effect", text)


def _log_failure(pod: Pod, failure: Failure, _now_ns: int) -> None:
    if text := error_text(pod, failure):
        _LOGGER.error("%s", text)
