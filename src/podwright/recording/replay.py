"""A recorded run again: to its end, to a moment, or only to see that it comes out the same.

The machine is made as the log's header says, set to the last checkpoint before the moment,
and given the events that follow. Since it is deterministic it then is what it was. A checkpoint
that was made without the state of a plugin is passed over: the machine then begins at an earlier
one, or at the beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack

import msgspec

from podwright._version import __version__
from podwright.assembly import Registry, build_machine
from podwright.config import (
    DEFAULT_GATES,
    Gates,
    KubeSchedulerConfiguration,
    effective,
    read_configuration,
    to_document,
)
from podwright.framework import Plugin, TieRule
from podwright.machine import Action, Event, Machine, ObjectDeleted, ObjectPut
from podwright.objects import DEFAULT_SCHEDULER_NAME, KubernetesObject, NamespacedName, Object
from podwright.queueing import QueuedPod, QueueName
from podwright.recording.decision_log import DecisionLog, Recorder
from podwright.recording.gc_pause import without_collection
from podwright.recording.log_checkpoints import Start
from podwright.recording.log_format import Entry, LogError, Setup, decode_actions, encode_actions
from podwright.recording.log_format import OwnPlugin as LoggedPlugin

_SHOWN_EVENTS = 10


def machine_of(
    setup: Setup, *, plugins: Iterable[type[Plugin]] = (), source: str = "configuration"
) -> Machine:
    """Make the machine that a setup describes.

    Parameters
    ----------
    plugins : iterable of type
        The classes of the user's own plugins; the setup only has their names.

    Raises
    ------
    InputError
        If the configuration is not valid.
    LogError
        If plugins are missing or there are others.
    """
    own = tuple(plugins)
    _check_own(setup, own)
    configuration = KubeSchedulerConfiguration()
    if setup.configuration:
        configuration = read_configuration(setup.configuration, source=source)
    registry = Registry(own)
    ready = effective(
        registry.enable_own(configuration),
        Gates(setup.gates),
        implements=registry.points_of,
        source=source,
    )
    return build_machine(
        ready,
        registry,
        seed=setup.seed,
        tie_rule=TieRule(setup.tie_rule),
        draws_preemption_offset=setup.draws_preemption_offset,
        start_ns=setup.start_ns,
        batching=setup.batching,
        assumed_pod_expiry_ns=setup.assumed_pod_expiry_ns,
        source=source,
    )


def _check_own(setup: Setup, plugins: tuple[type[Plugin], ...]) -> None:
    wanted = {plugin.name: plugin.cls for plugin in setup.plugins}
    given = {plugin.name: class_name(plugin) for plugin in plugins}
    if wanted == given:
        return
    missing = [f"{name} ({cls})" for name, cls in wanted.items() if given.get(name) != cls]
    other = [f"{name} ({cls})" for name, cls in given.items() if wanted.get(name) != cls]
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


def record(  # noqa: PLR0913 - what a machine can be told
    path: str | None = None,
    configuration: KubeSchedulerConfiguration | None = None,
    *,
    plugins: Iterable[type[Plugin]] = (),
    gates: Gates = DEFAULT_GATES,
    seed: int = 0,
    tie_rule: TieRule = TieRule.DRAWN,
    draws_preemption_offset: bool = True,
    start_ns: int = 0,
    batching: bool = False,
    assumed_pod_expiry_ns: int = 0,
    checkpoint_events: int | None = None,
) -> Recorder:
    """Make a machine, and a log in which everything that it does is recorded.

    Parameters
    ----------
    path : str, optional
        A folder without a log, made if need be: every block of 1,024 events is written to it,
        and a process that dies takes those of an unfinished one with it. None keeps the log in
        memory: nothing is done with events until somebody looks, or calls `flush` or `save`.
    configuration : KubeSchedulerConfiguration, optional
        As `read_configuration` gives it; the default profile if left out.
    plugins, gates, seed, tie_rule, draws_preemption_offset
        As for `Scheduler`.
    start_ns : int
        The time at which the machine begins to run.
    batching : bool
        Whether opportunistic batching takes part.
    assumed_pod_expiry_ns : int
        As for `build_machine`.
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
        If the configuration is not valid.
    LogError
        If there is a log already, or the folder cannot be written.
    """
    own = tuple(plugins)
    written = KubeSchedulerConfiguration() if configuration is None else configuration
    setup = Setup(
        configuration={} if configuration is None else dict(to_document(written)),
        gates=dict(gates.changed),
        seed=seed,
        tie_rule=tie_rule.value,
        start_ns=start_ns,
        batching=batching,
        draws_preemption_offset=draws_preemption_offset,
        assumed_pod_expiry_ns=assumed_pod_expiry_ns,
        plugins=tuple(LoggedPlugin(plugin.name, class_name(plugin)) for plugin in own),
    )
    machine = machine_of(setup, plugins=own)
    machine.watch_state({plugin.name for plugin in own})
    names = [p.scheduler_name or DEFAULT_SCHEDULER_NAME for p in written.profiles]
    log = DecisionLog.create(
        path,
        setup,
        fingerprints=fingerprints_of(machine, names or [DEFAULT_SCHEDULER_NAME]),
        checkpoint_events=checkpoint_events,
    )
    return Recorder(machine, log)


def new_machine(log: DecisionLog, *, plugins: Iterable[type[Plugin]] = ()) -> Machine:
    """Make the machine of a log as it was before the first event.

    Raises
    ------
    LogError
        If this version or these plugins would not make the same machine.
    """
    header = log.header
    own = tuple(plugins)
    machine = machine_of(header.setup, plugins=own, source="the log's configuration")
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


# -------------------------------------------------------------------- to a moment


class Replay:
    """A machine on its way through a log, event after event.

    Parameters
    ----------
    log : DecisionLog
    until : int, optional
        Begin at the last checkpoint before this event; None at the last one of all.
    objects : mapping of int to object, optional
        Tell the machine of these, by their numbers, instead of copies; for who goes on with
        the log.
    is_checked : bool
        Whether `step` raises where plugins that are not in-tree decide otherwise than recorded.
    """

    def __init__(
        self,
        log: DecisionLog,
        *,
        until: int | None = None,
        plugins: Iterable[type[Plugin]] = (),
        objects: Mapping[int, KubernetesObject] | None = None,
        is_checked: bool = True,
    ) -> None:
        self.machine = new_machine(log, plugins=plugins)
        with without_collection():
            start: Start = log.start(until)
            if objects is not None:
                start = msgspec.structs.replace(start, given=objects)
                start.objects.update(objects)
            if start.snapshot is not None:
                self.machine.restore(start.snapshot, start.objects)
        self.index = start.index
        # What a plugin that is not in-tree decides by is not known: it may have changed.
        self._own = tuple(plugin.name for plugin in log.setup.plugins) if is_checked else ()
        self._entries = log.entries_from(start)
        self._next: Entry | None = None

    def peek(self) -> Entry | None:
        """Return the next event, and leave it to be handled; None at the end of the log."""
        if self._next is None:
            self._next = next(self._entries, None)
        return self._next

    def step(self) -> tuple[Entry, list[Action]] | None:
        """Let the machine handle the next event; None at the end of the log.

        Raises
        ------
        LogError
            If the run was recorded with plugins that are not in-tree, and the machine does not
            answer as it is recorded: nothing that is said of it from here on would be right.
        """
        entry = self.peek()
        if entry is None:
            return None
        self._next = None
        self.index = entry.index + 1
        actions = self.machine.handle(entry.event, entry.now_ns)
        if self._own and encode_actions(actions) != entry.actions:
            raise LogError(
                f"event {entry.index} does not come out as it is recorded, so the run cannot be"
                f" looked at from there on: a plugin ({', '.join(self._own)}) decides by something"
                " that is not in the log, such as a variable that earlier runs have changed;"
                " podwright.verify(log, plugins=[...]) shows the difference"
            )
        return entry, actions

    def taken_in(self) -> Iterator[tuple[Entry, int]]:
        """Give events in the order in which the machine takes them in, each just before it does.

        Those that come while a cycle is held up are taken in when it has gone on: as if they had
        come then. With each, the number of the event in which it is taken in.
        """
        machine, kept = self.machine, deque[Entry]()
        while (entry := self.peek()) is not None:
            self._next = None
            self.index = entry.index + 1
            if machine.holds_back(entry.event):
                kept.append(entry)
                continue
            yield entry, entry.index
            machine.handle(entry.event, entry.now_ns)
            while kept and not machine.holds_back(kept[0].event):
                late = msgspec.structs.replace(kept.popleft(), now_ns=entry.now_ns)
                yield late, entry.index
                machine.handle(late.event, late.now_ns)

    def run_to(self, index: int) -> None:
        """Go on until the event of that number is next."""
        while self.index < index and self.step() is not None:
            pass


def replay(
    log: DecisionLog,
    *,
    until: int | None = None,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> Machine:
    """Return the machine as it was at a moment of a recorded run.

    Parameters
    ----------
    log : DecisionLog
    until : int, optional
        How many events it has handled; the default is all of them.
    at_ns : int, optional
        Instead of `until`: it has handled every event up to this time.
    plugins : iterable of type
        The user's own plugin classes that it was recorded with.

    Raises
    ------
    LogError
        If the run cannot be repeated.
    """
    assert until is None or at_ns is None, "until or at_ns, not both"
    if at_ns is not None:
        until = log.index_at(at_ns)
    if until is None:
        until = len(log)
    run = Replay(log, until=until, plugins=plugins)
    run.run_to(until)
    return run.machine


def resume(
    path: str, *, until: int | None = None, plugins: Iterable[type[Plugin]] = ()
) -> Recorder:
    """Go on with a recorded run where it ended.

    The machine is set to the last checkpoint that has the state of all plugins, or to the
    beginning, and given the events after it, and has to answer as it is recorded; from then on
    everything is recorded again. A driver that told the machine of objects uses
    `Recorder.machine.objects()`: the same objects.

    Parameters
    ----------
    path : str
        The folder of a log that nobody writes.
    until : int, optional
        Go on after so many events, where a block or a checkpoint ends, and forget the rest.
    plugins : iterable of type
        The user's own plugin classes that it was recorded with.

    Returns
    -------
    Recorder
        As `record` returns it.

    Raises
    ------
    LogError
        If the log cannot be read or written, somebody else writes it, or the run does not come
        out the same; it is left as it is.
    """
    with ExitStack() as opened:
        log = opened.enter_context(DecisionLog.open(path, append=True, until=until))
        run = Replay(log, plugins=plugins, objects=log.objects(), is_checked=False)
        outcome = _verify(run)
        if outcome.difference is not None:
            raise LogError(
                f"{path} cannot be gone on with: podwright {__version__} does not decide as it is"
                f" recorded; it was left as it is. {outcome.difference}"
            )
        opened.pop_all()
    return Recorder(run.machine, log)


# -------------------------------------------------------------------- is it the same


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first event to which the machine answers otherwise than it is recorded.

    Attributes
    ----------
    index : int
        The number of the event.
    now_ns : int
    event : Event
    recorded, repeated : tuple of Action
    story : tuple of str
        What happened to the pod in question before, oldest first.
    """

    index: int
    now_ns: int
    event: Event
    recorded: tuple[Action, ...]
    repeated: tuple[Action, ...]
    story: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"event {self.index} at {self.now_ns} ns: {_named(self.event)}"]
        lines += [f"  recorded: {action}" for action in self.recorded]
        lines += [f"  repeated: {action}" for action in self.repeated]
        return "\n".join([*lines, *(f"  before:   {line}" for line in self.story)])


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What came of repeating a run.

    Attributes
    ----------
    event_count : int
        How many events came out the same.
    difference : Difference, optional
        The first one that did not.
    """

    event_count: int
    difference: Difference | None = None

    @property
    def is_same(self) -> bool:
        """Whether every action came out the same, byte for byte."""
        return self.difference is None


def verify(
    log: DecisionLog, *, first: int = 0, plugins: Iterable[type[Plugin]] = ()
) -> Verification:
    """Repeat a run to its end and compare the bytes of all actions.

    Parameters
    ----------
    first : int
        Begin at the last checkpoint before this event; 0 is the beginning.

    Raises
    ------
    LogError
        If the run cannot be repeated.
    """
    return _verify(Replay(log, until=first, plugins=plugins, is_checked=False))


def _verify(run: Replay) -> Verification:
    begin = run.index
    while (step := run.step()) is not None:
        entry, actions = step
        if encode_actions(actions) == entry.actions:
            continue
        recorded = decode_actions(entry.actions)
        difference = Difference(
            index=entry.index,
            now_ns=entry.now_ns,
            event=entry.event,
            recorded=tuple(recorded),
            repeated=tuple(actions),
            story=_story(run.machine, [*recorded, *actions]),
        )
        return Verification(event_count=entry.index - begin, difference=difference)
    return Verification(event_count=run.index - begin)


def _story(machine: Machine, actions: Iterable[Action]) -> tuple[str, ...]:
    name: NamespacedName = next((a.pod for a in actions if hasattr(a, "pod")), "")
    touches = machine.story(name)[-_SHOWN_EVENTS:]
    return tuple(
        f"{touch.now_ns} ns {name}: {touch.step} {touch.cause}".rstrip() for touch in touches
    )


def _named(event: Event) -> str:
    match event:
        case ObjectPut(obj) | ObjectDeleted(obj):
            return f"{type(event).__name__} {obj.kind} {obj.key}"
        case _:
            return str(event)


# -------------------------------------------------------------------- as it was


class ClusterAt(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster at a moment.

    Attributes
    ----------
    now_ns : int
    objects : tuple of object
        As the API server had told them, pods last.
    node_of : dict of str to str
        Per pod that counts on a node, its name.
    assumed : frozenset of str
        Those of them that the API server has not confirmed.
    """

    now_ns: int
    objects: tuple[Object, ...]
    node_of: Mapping[NamespacedName, str]
    assumed: frozenset[NamespacedName]


class PendingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod in the queue at a moment.

    Attributes
    ----------
    attempts : int
        How often it was tried.
    since_ns : int
        When it came to where it waits.
    backoff_end_ns : int
        When its backoff ends; -1 if it never failed.
    waits_for : tuple of str
        The plugins that rejected it, or hold it back.
    """

    pod: NamespacedName
    priority: int
    attempts: int
    since_ns: int
    backoff_end_ns: int
    waits_for: tuple[str, ...]


class QueueAt(msgspec.Struct, frozen=True, kw_only=True):
    """The queue at a moment: per place the pods, in the order in which they leave it.

    Attributes
    ----------
    now_ns : int
    places : dict of str to tuple of PendingPod
    nominated : dict of str to tuple of str
        Per node, the pods for which room is made there.
    """

    now_ns: int
    places: Mapping[str, tuple[PendingPod, ...]]
    nominated: Mapping[str, tuple[NamespacedName, ...]]


def cluster_at(log: DecisionLog, at_ns: int, *, plugins: Iterable[type[Plugin]] = ()) -> ClusterAt:
    """Return the cluster as it was after every event up to a time."""
    return cluster_of(replay(log, at_ns=at_ns, plugins=plugins), at_ns)


def cluster_of(machine: Machine, now_ns: int) -> ClusterAt:
    """Return the cluster that a machine sees."""
    names = machine.cluster.nodes.names
    return ClusterAt(
        now_ns=now_ns,
        objects=machine.objects(),
        node_of={key: names[placed.slot] for key, placed in machine.cluster.pods.items()},
        assumed=frozenset(machine.assumed()),
    )


def queue_at(log: DecisionLog, at_ns: int, *, plugins: Iterable[type[Plugin]] = ()) -> QueueAt:
    """Return the queue as it was after every event up to a time."""
    return queue_of(replay(log, at_ns=at_ns, plugins=plugins), at_ns)


def queue_of(machine: Machine, now_ns: int) -> QueueAt:
    """Return what a machine's queue holds."""
    queue = machine.queue

    def pending(queued: QueuedPod) -> PendingPod:
        return PendingPod(
            pod=queued.key,
            priority=queued.priority,
            attempts=queued.attempts,
            since_ns=queued.timestamp_ns,
            backoff_end_ns=queue.backoff_end_ns(queued),
            waits_for=tuple(sorted(queued.rejectors)),
        )

    return QueueAt(
        now_ns=now_ns,
        places={
            place.value: tuple(map(pending, queue.pods_in(place)))
            for place in QueueName
            if place is not QueueName.NOWHERE
        },
        nominated={
            node: tuple(pod.key for pod in pods) for node, pods in queue.nominator.nodes().items()
        },
    )
