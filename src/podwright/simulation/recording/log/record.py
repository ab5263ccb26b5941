"""A machine whose events and actions are recorded, and the machine that a log describes.

Notes
-----
Upstream: kube-scheduler-simulator simulator/recorder/recorder.go.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, Unpack

import msgspec

from podwright._version import __version__
from podwright.apimachinery.objects import (
    DEFAULT_SCHEDULER_NAME,
    InputError,
    KubernetesObject,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
    StorageClass,
    encode,
    invalid,
    timestamp_text_nano,
)
from podwright.cluster.store import GroupKind, group_kind, kind_of
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.config import (
    Gates,
    KubeSchedulerConfiguration,
    read_configuration,
    to_document,
)
from podwright.scheduler.framework import Plugin, TieRule
from podwright.scheduler.machine import (
    Action,
    Event,
    Machine,
    MachineKeywords,
    ObjectDeleted,
    ObjectPut,
    SchedulerOptions,
    names_machine_keywords,
)
from podwright.simulation.files import ChangeType, RecordLine
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_files import SUFFIX
from podwright.simulation.recording.log.log_format import LogError, OwnPlugin as LoggedPlugin, Setup


def setup_of(options: SchedulerOptions) -> Setup:
    """Return the form in which a log stores options."""
    written = options.configuration
    return Setup(
        configuration={} if written is None else dict(to_document(written)),
        gates=dict(options.gates.changed),
        seed=options.seed,
        tie_rule=options.tie_rule.value,
        start_ns=options.start_ns,
        batching=options.batching,
        draws_preemption_offset=options.draws_preemption_offset,
        assumed_pod_expiry_ns=options.assumed_pod_expiry_ns,
        plugins=tuple(LoggedPlugin(plugin.name, class_name(plugin)) for plugin in options.plugins),
    )


def options_of(
    setup: Setup, *, plugins: Iterable[type[Plugin]] = (), source: str = "configuration"
) -> SchedulerOptions:
    """Return the options that a log stores.

    Parameters
    ----------
    plugins : iterable of type
        The classes of the user's own plugins; the setup has only their names.

    Raises
    ------
    InputError
        If the configuration is not valid.
    LogError
        If these are not the plugins of the setup.
    """
    own = tuple(plugins)
    _check_own(setup, own)
    configuration = None
    if setup.configuration:
        configuration = read_configuration(setup.configuration, source=source)
    return SchedulerOptions(
        configuration=configuration,
        plugins=own,
        gates=Gates(setup.gates),
        seed=setup.seed,
        tie_rule=TieRule(setup.tie_rule),
        draws_preemption_offset=setup.draws_preemption_offset,
        start_ns=setup.start_ns,
        batching=setup.batching,
        assumed_pod_expiry_ns=setup.assumed_pod_expiry_ns,
        source=source,
    )


def _check_own(setup: Setup, plugins: tuple[type[Plugin], ...]) -> None:
    recorded = {plugin.name: plugin.cls for plugin in setup.plugins}
    given = {plugin.name: class_name(plugin) for plugin in plugins}
    if recorded == given:
        return
    missing = [f"{name} ({cls})" for name, cls in recorded.items() if given.get(name) != cls]
    other = [f"{name} ({cls})" for name, cls in given.items() if recorded.get(name) != cls]
    parts = []
    if missing:
        parts.append(f"give it plugins=[...] with {', '.join(missing)}")
    if other:
        parts.append(f"it was recorded without {', '.join(other)}")
    raise LogError(f"the run cannot be repeated with these plugins: {'; '.join(parts)}")


def class_name(plugin: type[Plugin]) -> str:
    """Return how a recorded run names the class of a plugin."""
    return f"{plugin.__module__}:{plugin.__qualname__}"


def fingerprints_of(
    machine: Machine, names: Iterable[str]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return, per profile, the names of the plugins per extension point."""
    found = {}
    for name in names:
        runner = machine.runner(name)
        if runner is not None:
            found[name] = dict(runner.profile.fingerprint())
    return found


@names_machine_keywords("1970-01-01T00:00:00Z")
def record(
    path: str | None = None,
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
    *,
    checkpoint_events: int | None = None,
    **keywords: Unpack[MachineKeywords],
) -> Recorder:
    """Make a machine, and a log in which everything that it does is recorded.

    Parameters
    ----------
    path : str, optional
        A folder without a log, made if missing: every block of 1,024 events is written to it,
        and a process that dies takes those of an unfinished one with it. None keeps the log in
        memory: events are encoded when the log is read, or by `flush` or `save`.
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        As `read_configuration` returns it; the default profile if left out.
    plugins, gates, seed, tie_rule, draws_preemption_offset, batching
        As for `SchedulerOptions`.
    start : Time
        The time at which the machine starts; 0 without it.
    assumed_pod_expiry : Duration
        How long a bound pod stays assumed without confirmation by the API server; 0: for ever,
        under the rules of 1.16 30 seconds.
    checkpoint_events : int, optional
        The number of events between checkpoints; left out it is 100,000 in a folder, more where
        there are many objects, and in memory there are none.

    Returns
    -------
    Recorder
        Its `handle(event, now_ns)` is the machine's; its `log` is the log.

    Raises
    ------
    InputError
        If the configuration is not valid, or the seed is too large.
    LogError
        If there is a log already, or the folder cannot be written.
    """
    options = SchedulerOptions.of(configuration, **keywords)
    if problem := seed_problem(options.seed):
        raise InputError.of("seed", problem)
    setup = setup_of(options)
    # From the setup, as a replay makes it.
    machine = machine_of(options_of(setup, plugins=options.plugins, source=options.source))
    machine.watch_state({plugin.name for plugin in options.plugins})
    profiles = () if options.configuration is None else options.configuration.profiles
    names = [profile.scheduler_name or DEFAULT_SCHEDULER_NAME for profile in profiles]
    log = DecisionLog.create(
        path,
        setup,
        fingerprints=fingerprints_of(machine, names or [DEFAULT_SCHEDULER_NAME]),
        checkpoint_events=checkpoint_events,
    )
    return Recorder(machine, log)


def seed_problem(seed: int) -> str:
    """Return what is wrong with a seed that a log cannot store; empty if nothing is."""
    fits = -(2**63) <= seed < 2**63
    return "" if fits else invalid(seed, "must be a number of at most 64 bits")


def new_machine(log: DecisionLog, *, plugins: Iterable[type[Plugin]] = ()) -> Machine:
    """Make the machine of a log as it was before the first event.

    Raises
    ------
    LogError
        If this version or these plugins would not make the same machine.
    """
    header = log.header
    own = tuple(plugins)
    machine = machine_of(options_of(header.setup, plugins=own, source="the log's configuration"))
    machine.watch_state({plugin.name for plugin in own})
    now = fingerprints_of(machine, header.fingerprints)
    for name, points in header.fingerprints.items():
        if now.get(name) != points:
            changed = [point for point in points if now.get(name, {}).get(point) != points[point]]
            raise LogError(
                f"the run was recorded by podwright {header.podwright}, and this is"
                f" {__version__}: profile {name} has other plugins at {', '.join(changed)}, so it"
                " would not come out the same"
            )
    return machine


# Recording a machine: every event that it handles is appended to a decision log.


class EventFeed(Protocol):
    """Reads the machine while it is recorded."""

    def advance(self, now_ns: int) -> None:
        """Receive the time of the next event, before it is handled."""

    def handled(self, event: Event) -> None:
        """Receive an event that was handled."""


class Recorder:
    """Records every event of a machine.

    Parameters
    ----------
    machine : Machine
        To be used through this only.
    log : DecisionLog
    """

    def __init__(self, machine: Machine, log: DecisionLog) -> None:
        self.machine = machine
        self.log = log
        self._feeds: list[EventFeed] = []
        self.handle = self._recording()
        """Let the machine handle an event, and record it; see `Machine.handle`.

        Raises `LogError` if a block cannot be written, and the event has then not been handled:
        the same call may be tried again.
        """

    def __repr__(self) -> str:
        return f"<Recorder: {len(self.log)} events>"

    def add_feed(self, feed: EventFeed) -> None:
        """Let `feed` receive each event from now on."""
        self._feeds.append(feed)

    def remove_feed(self, feed: EventFeed) -> None:
        """Let `feed` receive no further event."""
        self._feeds.remove(feed)

    def _recording(self) -> Callable[[Event, int], list[Action]]:
        # A closure, because this is on the way of every event. No event is looked at, but an
        # object that is put ends no cycle.
        machine, log, rows = self.machine, self.log, self.log.rows
        handle, entries, add, end_cycle = machine.handle, rows.entries, rows.add, rows.end_cycle
        feeds = self._feeds
        last = machine.last_decisions
        limit = sys.maxsize if log.waits_for_flush else 0

        def handle_and_record(event: Event, now_ns: int) -> list[Action]:
            nonlocal last, limit
            # Before the event: if the write fails, the event was not handled.
            if len(entries) >= limit:
                # If the write fails, the next event tries it again.
                # `entries` has three items for each event.
                limit = 0
                limit = 3 * log.catch_up(machine)
            for feed in feeds:
                feed.advance(now_ns)
            actions = handle(event, now_ns)
            for feed in feeds:
                feed.handled(event)
            add(now_ns, event, actions)
            if type(event) is not ObjectPut and (decided := machine.last_decisions) is not last:
                last = decided
                for decision in decided:
                    end_cycle(decision.pod)
            return actions

        return handle_and_record


# Writing records of changes: one JSON line per change, as `files.record` reads them.
#
# A line is `{"time": ..., "event": ..., "resource": ...}` in this order. An Add and an Update have
# the whole object; a Delete has no more than says which object it was, with `"namespace":""`
# outside of namespaces. Times are in UTC, with nine digits after the second.
#
# Objects that are there at the start are written as Adds in the order in which upstream's recorder
# starts to watch kinds, so that what others need is there before them.

_ORDER = [
    group_kind(cls)
    for cls in (
        Namespace,
        PriorityClass,
        StorageClass,
        PersistentVolumeClaim,
        Node,
        PersistentVolume,
    )
]
_POD = group_kind(Pod)


def record_line(time_ns: int, event: ChangeType, obj: KubernetesObject) -> bytes:
    """Encode one change, with its line feed.

    Parameters
    ----------
    time_ns : int
        In nanoseconds since 1970.
    obj : KubernetesObject
        After the change; of a Delete only its name counts.
    """
    resource = _name_of(obj) if event == "Delete" else encode(obj)
    line = {"time": timestamp_text_nano(time_ns), "event": event, "resource": resource}
    return msgspec.json.encode(line) + b"\n"


def write_record(lines: Iterable[RecordLine]) -> bytes:
    """Encode changes that were read."""
    return b"".join([record_line(one.seen_ns, one.event, one.object) for one in lines])


def initial_lines(objects: Iterable[KubernetesObject], time_ns: int) -> Iterator[bytes]:
    """Encode existing objects as additions at one time.

    They keep their order within their kind. The kinds that upstream's recorder does not know
    come before the pods.
    """
    for obj in sorted(objects, key=_rank):
        yield record_line(time_ns, "Add", obj)


def record_of_log(log: DecisionLog) -> Iterator[bytes]:
    """Encode the changes of objects in a recorded run, at their times.

    An object that the machine received twice without a change is written once. An object that
    is gone before the machine received it is left out.
    """
    known: dict[tuple[GroupKind, str], KubernetesObject] = {}
    for entry in log.entries():
        match entry.event:
            case ObjectPut(obj):
                key = (kind_of(obj), obj.key)
                before = known.get(key)
                if before is not obj and (before is None or encode(before) != encode(obj)):
                    event: ChangeType = "Add" if before is None else "Update"
                    yield record_line(entry.now_ns, event, obj)
                known[key] = obj
            case ObjectDeleted(obj):
                if known.pop((kind_of(obj), obj.key), None) is not None:
                    yield record_line(entry.now_ns, "Delete", obj)
            case _:
                continue


def _name_of(obj: KubernetesObject) -> dict[str, Any]:
    return {
        "apiVersion": obj.api_version,
        "kind": obj.kind,
        "metadata": {"name": obj.name, "namespace": obj.namespace},
    }


def _rank(obj: KubernetesObject) -> int:
    kind = kind_of(obj)
    if kind in _ORDER:
        return _ORDER.index(kind)
    return len(_ORDER) + (kind == _POD)


# Decision logs in numbered run folders, of which the oldest are deleted.
#
# A log starts with a checkpoint of the machine, so that each folder is a run by itself. A process
# that starts again continues with the next number.

_LOG = "log"


class RotatingRecorder:
    """Records every event of a machine, in one run folder after the other.

    Parameters
    ----------
    folder : Path
        Holds the run folders.
    begin : callable
        Makes the machine, and its log in the folder that it is called with; called once.
    largest_bytes : int
        How large a log becomes before the next one starts.
    kept_count : int
        The most folders to keep; 0 for all.

    Raises
    ------
    LogError
        The folder cannot be written, or holds something else.
    """

    def __init__(
        self,
        folder: Path,
        begin: Callable[[str], Recorder],
        *,
        largest_bytes: int,
        kept_count: int = 0,
    ) -> None:
        self._folder = folder
        self._largest_bytes = largest_bytes
        self._kept_count = kept_count
        if (folder / _LOG).exists():
            raise LogError(f"{folder} is the folder of one run; choose another one")
        self.path = self._next()
        self._recorder = begin(str(self.path / _LOG))
        self._delete_oldest()

    @property
    def machine(self) -> Machine:
        """The machine, to be used through `handle` only."""
        return self._recorder.machine

    @property
    def log(self) -> DecisionLog:
        """The current log."""
        return self._recorder.log

    def handle(self, event: Event, now_ns: int) -> list[Action]:
        """Let the machine handle an event, and record it; see `Machine.handle`."""
        return self._recorder.handle(event, now_ns)

    def rotate_if_due(self) -> bool:
        """Start the next log if the present one is large; return whether it was started.

        While the machine has work that cannot be saved, the current log continues.

        Raises
        ------
        LogError
            The folder cannot be written.
        """
        if self._size_bytes() < self._largest_bytes or not self.machine.can_snapshot:
            return False
        present = self.log
        path = self._next()
        try:
            log = DecisionLog.create(
                path / _LOG, present.header.setup, fingerprints=present.header.fingerprints
            )
            try:
                log.checkpoint(self.machine, is_whole=True)
            except LogError:
                log.abandon()
                raise
        except LogError:
            # The next attempt would leave another part of a folder.
            shutil.rmtree(path, ignore_errors=True)
            raise
        present.close()
        self.path = path
        self._recorder = Recorder(self.machine, log)
        self._delete_oldest()
        return True

    def _size_bytes(self) -> int:
        return sum(file.stat().st_size for file in (self.path / _LOG).glob(f"*{SUFFIX}"))

    def _numbers(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(each.name) for each in self._folder.iterdir() if each.name.isdecimal())

    def _next(self) -> Path:
        numbers = self._numbers()
        return self._of(numbers[-1] + 1 if numbers else 1)

    def _of(self, number: int) -> Path:
        return self._folder / f"{number:06}"

    def _delete_oldest(self) -> None:
        if self._kept_count:
            for number in self._numbers()[: -self._kept_count]:
                shutil.rmtree(self._of(number))
