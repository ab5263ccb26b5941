"""A run: inputs, a world, tables, checkpoints.

Theory of operation
-------------------
A run with a folder writes a checkpoint each time the scheduler has handled a number of events.
Writing a checkpoint does not change the run. A run that was interrupted is restored from its last
checkpoint and writes the same bytes from there on; tests compare interrupted runs, and runs with
many checkpoints, with runs without any.

Checkpoints do not hold the state of out-of-tree plugins. If a plugin has state, the scheduler of
an interrupted run is restored by replaying the log, from the last checkpoint before there was
state, or from the first event; the warnings of the run name the plugin.

Checkpoints are due by event counts, not by the wall clock, so they are at the same place in every
run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count, islice
from typing import Any, Final

import msgspec

from podwright._interrupts import PendingSignal, deferred_signals
from podwright._progress import metered
from podwright.apimachinery.objects import CoschedulingPodGroup, KubernetesObject
from podwright.cluster.controllers import ALL_CONTROLLERS, ControllerMaker
from podwright.scheduler.assembly import IDLE_GROUPS
from podwright.scheduler.config import format_duration
from podwright.scheduler.machine import PluginTimer, PluginTiming, render_text
from podwright.simulation.autoscaling import ClusterAutoscaler, NodeGroupSizes
from podwright.simulation.recording import (
    TABLES,
    Checkpoint,
    LogError,
    Rows,
    RunError,
    RunFolder,
    RunTables,
    Timeline,
    TimelineFeed,
    encode_chunks,
    resume,
    timeline_of_log,
)
from podwright.simulation.world.inputs.operations import Operation
from podwright.simulation.world.inputs.run_inputs import Inputs
from podwright.simulation.world.observers import Observer
from podwright.simulation.world.runs.report import Report
from podwright.simulation.world.runs.run import Run, warnings_of
from podwright.simulation.world.runs.run_options import RunOptions
from podwright.simulation.world.runs.summary import Summary, summary_of
from podwright.simulation.world.world import World
from podwright.simulation.world.world_components import WorldOptions
from podwright.simulation.world.world_state import (
    WorldState,
    can_save,
    restored_world,
    world_state,
)

CHECKPOINT_EVENTS: Final = 25_000
"""The default minimum number of events between checkpoints."""

_EVENTS_PER_KNOWN_OBJECT: Final = 10
_COSCHEDULING: Final = "Coscheduling"
LOG_CHECKPOINT_EVENTS: Final = 25_000
"""The number of events between checkpoints of the decision log.

Explaining a past decision replays up to so many events, at about 20 us each.
"""

_EVENTS_PER_OBJECT: Final = 3
_EVENTS_BETWEEN_TRIES: Final = 64
_STEPS_AT_ONCE: Final = 16


class SimulationState(msgspec.Struct, frozen=True):
    """A run at a checkpoint."""

    world: WorldState
    tables: dict[str, Any]
    sizes: dict[str, Any] = {}


class Simulation:
    """One run.

    Parameters
    ----------
    options : RunOptions
    inputs : Inputs
    folder : RunFolder, optional
        The folder of the run; in memory only without it.
    checkpoint : Checkpoint, optional
        The checkpoint to resume from.

    Attributes
    ----------
    world : World
    tables : RunTables
    """

    def __init__(
        self,
        options: RunOptions,
        inputs: Inputs,
        *,
        folder: RunFolder | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._options = options
        self._folder = folder
        self._stages = inputs.stages
        self._end_ns = inputs.end_ns
        self._report: Report | None = None
        self.tables = RunTables(options.sample_ns)
        self._review = inputs.review
        self._sizes: NodeGroupSizes | None = None
        if options.autoscaling is not None:
            self._sizes = NodeGroupSizes(options.autoscaling, options.scheduler.start_ns)
        self._feed: TimelineFeed | None = None
        if checkpoint is not None:
            state = _decoded(checkpoint.state)
            # The input that was due is read again.
            taken = state.world.inputs_taken - (state.world.input_place is not None)
            self.world = self._restored(state, islice(inputs, taken, None))
        else:
            self.world = World(
                options.scheduler,
                stages=inputs.stages,
                controllers=_controllers(options),
                call_extender=options.call_extender,
                observers=self._observers,
                review=inputs.review,
                log=None if folder is None else folder.log_path,
                checkpoint_events=None if folder is None else LOG_CHECKPOINT_EVENTS,
                timing=options.timing,
            )
            self.tables.attach(self.world.machine)
            if options.has_timeline:
                self._feed = TimelineFeed(self.world.machine)
                self.world.components.recorder.add_feed(self._feed)
            self.world.add_inputs(inputs)
            for sequence in inputs.sequences():
                self.world.add_sequence(sequence)
        read_ns = options.read_ns
        self._timer = None if read_ns is None else PluginTimer(self.world.machine, read_ns)
        self._checkpoint_due = self._next_checkpoint()

    @property
    def _observers(self) -> tuple[Observer, ...]:
        sizes = () if self._sizes is None else (self._sizes,)
        return (self.tables, *sizes, *self._options.observers)

    def _next_checkpoint(self) -> int:
        store, events = self.world.store, self._options.checkpoint_events
        if events is None:
            # A checkpoint writes every object, so the interval grows with their number. Objects
            # that the scheduler knows are written twice, and restored into its columns.
            known = len(self.world.machine.objects())
            objects = sum(store.count(kind) for kind in store.kinds())
            events = max(
                CHECKPOINT_EVENTS, _EVENTS_PER_KNOWN_OBJECT * known, _EVENTS_PER_OBJECT * objects
            )
        return len(self.world.log) + events

    def steps(self) -> Iterator[int]:
        """Run to the end; yields the virtual time after every few steps.

        A caller that stops iterating interrupts the run; a run with a folder can be resumed.
        """
        with self._kept_resumable():
            yield from self._steps()

    @contextmanager
    def _kept_resumable(self) -> Iterator[None]:
        """Release the folder on errors, so that the run can be resumed from its last checkpoint.

        After Ctrl-C, the folder is marked as interrupted.
        """
        try:
            yield
        except KeyboardInterrupt as interrupt:
            if self._folder is not None:
                # The step may be incomplete, so no results are written.
                with deferred_signals():
                    self._close_log()
                    self._folder.interrupt()
                interrupt.args = (self._folder.interruption,)
            raise
        except Exception as error:
            if self._folder is None:
                raise
            self._close_log()
            self._folder.release()
            if isinstance(error, LogError | RunError) and isinstance(error.__cause__, OSError):
                reason = error.__cause__.strerror or error.__cause__
                raise RunError(
                    f"{self._folder.path} cannot be written: {reason}; resume the run when there is"
                    f" space: {self._folder.resume_command}"
                ) from error
            raise

    def _close_log(self) -> None:
        try:
            self.world.log.close()
        except LogError:
            self.world.log.abandon()

    def _steps(self) -> Iterator[int]:
        until_ns, tables = self._options.until_ns, self.tables
        has_folder = self._folder is not None
        world = self.world
        for step in count(1):
            before_ns = world.now_ns
            has_stepped = world.step_until_ns(until_ns)
            if world.now_ns != before_ns:
                tables.passed(before_ns, world.now_ns)
            if not has_stepped:
                break
            if has_folder and len(world.log) >= self._checkpoint_due:
                self._write_checkpoint()
                world, tables = self.world, self.tables
            if not step % _STEPS_AT_ONCE:
                yield world.now_ns
        before_ns = world.now_ns
        # No event is left: this only advances the time to the end of the run.
        world.run_until_ns(until_ns)
        tables.passed(before_ns, world.now_ns)

    def complete(self, *, is_shown: bool | None = None) -> None:
        """Run to the end and write the results; `is_shown`: whether the progress is shown.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C. A run with a folder ends between two steps; the folder has the results so
            far, and the run can be resumed. A second Ctrl-C ends it within a step.
        """
        if self._folder is None:
            self._run(PendingSignal(), is_shown=is_shown)
            self.end()
            return
        is_over = False
        try:
            with deferred_signals() as pending:
                is_over = self._run(pending, is_shown=is_shown)
                self.end(is_interrupted=not is_over)
        except KeyboardInterrupt as interrupt:
            if not is_over:
                interrupt.args = (self._folder.interruption,)
            raise

    def _run(self, pending: PendingSignal, *, is_shown: bool | None) -> bool:
        """Run to the end; return False if a signal stopped the run before."""
        start_ns, until_ns = self.world.start_ns, self._options.until_ns
        total_ns = (self._end_ns if until_ns is None else until_ns) - start_ns
        with metered("simulating", total_ns, is_shown=is_shown) as meter:
            for now_ns in self.steps():
                meter.advance(now_ns - start_ns, partial(format_duration, now_ns - start_ns))
                if pending.number is not None:
                    return False
        return True

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks on the run, a sentence each."""
        missing = self.world.missing.remark
        rest = (*((missing,) if missing else ()), *self._unmet, *self.tables.errors())
        own = (*_idle_groups(self.world), *rest)
        return (*warnings_of(self.world.log), *own)

    @property
    def _unmet(self) -> tuple[str, ...]:
        return tuple(one.failure for one in self.world.sequences if one.failure)

    @property
    def plugin_timings(self) -> list[PluginTiming]:
        """How long the calls of plugins took so far; nothing without `RunOptions.read_ns`."""
        return [] if self._timer is None else self._timer.timings.rows()

    # ------------------------------------------------------------------- checkpoints

    def _write_checkpoint(self) -> None:
        world, folder = self.world, self._folder
        assert folder is not None, "a run in memory has no checkpoints"
        if not can_save(world):
            self._checkpoint_due = len(world.log) + _EVENTS_BETWEEN_TRIES
            return
        with deferred_signals():
            rows = self.tables.take_rows()
            state = SimulationState(
                world_state(world),
                self.tables.state(),
                {} if self._sizes is None else self._sizes.state(),
            )
            data = msgspec.msgpack.encode(state)
            # The log first: the checkpoint counts its events, and must find them after a crash.
            world.log.flush(sync=True)
            folder.write_checkpoint(data, rows)
        self._checkpoint_due = self._next_checkpoint()

    def _restored(self, state: SimulationState, inputs: Iterable[tuple[int, Operation]]) -> World:
        assert self._folder is not None, "a run in memory cannot be resumed"
        self.tables.restore(state.tables)
        recorder = resume(
            self._folder.log_path,
            until=state.world.event_count,
            plugins=self._options.scheduler.plugins,
        )
        options = self._options
        world_options = WorldOptions(
            stages=self._stages,
            controllers=_controllers(options),
            call_extender=options.call_extender,
            observers=self._observers,
            plugins=options.scheduler.plugins,
            review=self._review,
            timing=options.timing,
        )
        world = restored_world(state.world, recorder, world_options, inputs)
        if self._sizes is not None:
            self._sizes.restore(state.sizes)
        self.tables.attach(world.machine)
        return world

    # -------------------------------------------------------------------------- the end

    def result(self) -> Run:
        """Return the results; after `end`."""
        world = self.world
        # With a folder, the rows up to the last checkpoint are not in memory.
        run = Run(
            world.log,
            machine=world.machine,
            pods=world.pods,
            start_ns=world.start_ns,
            end_ns=world.now_ns,
            plugins=world.components.options.plugins,
            recorded=lambda: (self.tables, self.tables.rows()),
            report=self._report,
            folder=self._folder,
        )
        run.unmet = self._unmet
        return run

    def _parts(self) -> Iterable[Rows]:
        """Yield the rows of all tables, in order."""
        earlier = () if self._folder is None else self._folder.parts()
        return chain(earlier, [self.tables.rows()])

    def end(self, *, is_interrupted: bool = False, with_tables: bool = True) -> Summary:
        """Write the results, and return the summary.

        Parameters
        ----------
        is_interrupted : bool
            Keep what is needed to resume the run.
        with_tables : bool
            Whether to write tables.
        """
        with deferred_signals(), self._kept_resumable():
            return self._end(is_interrupted=is_interrupted, with_tables=with_tables)

    def _end(self, *, is_interrupted: bool, with_tables: bool) -> Summary:
        world, folder = self.world, self._folder
        self.tables.end(world.now_ns)
        self._report = world.report()
        if self._sizes is not None:
            node_groups = self._sizes.report(world.now_ns)
            self._report = msgspec.structs.replace(self._report, node_groups=node_groups)
        summary = summary_of(
            self.tables,
            self._parts(),
            start_ns=world.start_ns,
            end_ns=world.now_ns,
            is_interrupted=is_interrupted,
            report=self._report,
        )
        if folder is not None:
            if self._options.has_timeline:
                folder.write_timeline(encode_chunks(self._timeline()))
            world.log.close()
            if with_tables:
                folder.write_tables(TABLES, self._parts())
            metrics = world.machine.metrics_snapshot()
            folder.write_end(msgspec.to_builtins(summary), render_text(metrics), _objects(world))
            folder.close(
                "interrupted" if is_interrupted else "finished",
                self.warnings,
                events=len(world.log),
            )
        return summary

    def _timeline(self) -> Timeline:
        if self._feed is not None:
            return self._feed.timeline()
        # A resumed run has no feed of its start.
        return timeline_of_log(self.world.log, plugins=self._options.scheduler.plugins)


def _controllers(options: RunOptions) -> tuple[ControllerMaker, ...] | None:
    """Return the controllers of a run with an autoscaler; None for the default ones."""
    if options.autoscaling is None:
        return None
    autoscaler = partial(
        ClusterAutoscaler, autoscaling=options.autoscaling, scheduler=options.scheduler
    )
    return (*ALL_CONTROLLERS, autoscaler)


def _idle_groups(world: World) -> Iterator[str]:
    """Yield a sentence if there are groups of pods that no plugin reads."""
    header = world.log.header
    if not world.store.count(CoschedulingPodGroup) or header.setup.plugins:
        return
    if not any(
        _COSCHEDULING in points.get("permit", ()) for points in header.fingerprints.values()
    ):
        yield IDLE_GROUPS


def _objects(world: World) -> Iterator[KubernetesObject]:
    for kind in world.store.kinds():
        yield from world.store.list(kind).objects


def _decoded(data: bytes) -> SimulationState:
    return msgspec.msgpack.decode(data, type=SimulationState)
