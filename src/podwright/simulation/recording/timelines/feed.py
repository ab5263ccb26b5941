"""The feed of a timeline: the differences between states of a machine, as rows.

The state is compared at each time at which events were handled, so changes within one time are one
row. A comparison costs as much as what changed: the journals of the columns name the nodes; the
events and the operations of the queue name the pods. What is compared are tuples of integers.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np

from podwright._arrays import I64Array
from podwright._progress import metered
from podwright.apimachinery.objects import Pod, condition_of, workload_of
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import Event, Machine, ObjectDeleted, ObjectPut
from podwright.scheduler.queueing import QueuedPod, QueueName, SchedulingQueue
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.replay import Replay
from podwright.simulation.recording.timelines.columns import (
    KINDS,
    PHASES,
    PLACES,
    REFERENCES,
    Subject,
    Timeline,
    references_in,
    starts_of_cells,
    sums_of_cells,
)
from podwright.simulation.recording.timelines.present_state import NODE_FIELDS, is_node_ready

_Values: TypeAlias = tuple[int, ...]

_POD_FIELDS: Final = (
    "phase",
    "deleting",
    "disruptedBy",
    "nominatedTo",
    "node",
    "queue",
    "attempts",
    "waitsFor",
    "workload",
)
_REFERENCE_PLACES: Final = tuple(map(_POD_FIELDS.index, REFERENCES))
_FIRST_OF_NODES: Final = len(_POD_FIELDS)
_PLACE_NUMBERS = {QueueName(place): index + 1 for index, place in enumerate(PLACES)}
_PHASE_NUMBERS = {phase: index + 1 for index, phase in enumerate(PHASES)}
_EVENTS_AT_ONCE: Final = 500
"""Between two comparisons, what changed is noted after so many events."""

_PACKED_NUMBERS: Final = 4 * 2_048
"""So many numbers of rows are compressed at once, to a tenth, within 0.3 ms."""

_NO_POD: Final[_Values] = (0,) * len(_POD_FIELDS)


class TimelineFeed:
    """Collects the differences between the states of a machine.

    Call `advance` before each event, and `handled` after it.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        nodes = machine.cluster.nodes
        self._journals = (nodes.node_journal, nodes.pods_journal, nodes.condition_journal)
        self._versions = [-1] * len(self._journals)
        self._subjects: list[Subject] = []
        self._index_of: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        self._fields = [*_POD_FIELDS, *NODE_FIELDS]
        self._resource_count = 0
        self._name_of: dict[int, str] = {}
        self._pods_on: dict[int, frozenset[str]] = {}
        self._last_touch: tuple[int, str, str, str] | None = None
        self._nodes: dict[str, _Values] = {}
        self._pods: dict[str, _Values] = {}
        self._nominated: dict[str, str] = {}
        self._nominations_version = -1
        # What to compare: pods and slots, unless all of them.
        self._names: dict[str, None] = {}
        self._slots: set[int] = set()
        self._are_all_pods = self._are_all_slots = False
        self._event_count = 0
        self._now_ns: int | None = None
        self._first_ns = 0
        # Ended pods are no longer known to the machine.
        self._last_versions = {obj.key: obj for obj in machine.objects() if isinstance(obj, Pod)}
        self._rows = array("q")
        self._packed: list[bytes] = []
        """The columns of the rows before, compressed."""

    def handled(self, event: Event) -> None:
        """Receive an event that the machine has handled."""
        if isinstance(event, ObjectPut):
            obj = event.obj
            if isinstance(obj, Pod):
                key = obj.key
                self._last_versions[key] = obj
                self._names[key] = None
        elif isinstance(event, ObjectDeleted):
            obj = event.obj
            if isinstance(obj, Pod):
                self._last_versions.pop(obj.key, None)
                self._names[obj.key] = None
        self._event_count += 1
        if not self._event_count % _EVENTS_AT_ONCE:
            self._collect()

    def advance(self, now_ns: int) -> None:
        """Compare the state before an event, if time has advanced since the last one."""
        if self._now_ns is None:
            self._first_ns = now_ns
        elif now_ns != self._now_ns:
            self._compare(self._now_ns)
        self._now_ns = now_ns

    def _compare(self, now_ns: int) -> None:
        """Add a row for each value that differs from the last comparison."""
        self._collect()
        if self._are_all_slots:
            slots = list(range(self._machine.cluster.nodes.n_slots))
            gone = dict.fromkeys(self._nodes)
            self._name_of.clear()
            self._pods_on.clear()
        else:
            slots = sorted(self._slots)
            gone = dict.fromkeys(self._name_of.pop(s) for s in slots if s in self._name_of)
        if slots or gone:
            current = self._values_of_nodes(slots)
            for name in {**gone, **current}:
                self._set_node(name, current.get(name, ()), now_ns)
        self._compare_pods(slots, now_ns)
        self._slots.clear()
        self._names.clear()
        self._are_all_pods = self._are_all_slots = False
        if len(self._rows) >= _PACKED_NUMBERS:
            self._pack(np.array(self._rows, dtype=np.int64).reshape(-1, 4).T)

    def _pack(self, columns: I64Array) -> None:
        """Replace the rows that are not compressed by columns that are."""
        self._packed.append(zlib.compress(columns.tobytes(), 1))
        self._rows = array("q")

    def _collect(self) -> None:
        """Note which slots and pods may have changed, before the journals drop it."""
        for index, journal in enumerate(self._journals):
            version = journal.version
            if version != self._versions[index]:
                changed = journal.since(self._versions[index])
                self._versions[index] = version
                if changed is None:
                    self._are_all_slots = True
                else:
                    self._slots.update(changed.tolist())
        touched = self._touched()
        if touched is None:
            self._are_all_pods = True
        else:
            self._names.update(dict.fromkeys(touched))

    def _values_of_nodes(self, slots: list[int]) -> dict[str, _Values]:
        nodes = self._machine.cluster.nodes
        for resource in list(nodes.resources)[self._resource_count :]:
            self._fields += (f"allocatable/{resource}", f"requested/{resource}")
            self._resource_count += 1
        allocatable: list[list[int]] = nodes.allocatable[slots].tolist()
        requested: list[list[int]] = nodes.requested[slots].tolist()
        found: dict[str, _Values] = {}
        for slot, given, taken in zip(slots, allocatable, requested, strict=True):
            node = nodes.objects[slot]
            if node is None:
                continue
            name = self._name_of[slot] = nodes.names[slot]
            values = [1, int(is_node_ready(node)), int(node.spec.unschedulable)]
            values.append(len(node.spec.taints))
            for pair in zip(given, taken, strict=True):
                values += pair
            found[name] = tuple(values)
        return found

    def _compare_pods(self, slots: list[int], now_ns: int) -> None:
        machine, names = self._machine, self._names
        names.update(dict.fromkeys(self._changed_nominations()))
        if self._are_all_pods or self._are_all_slots:
            names.update(dict.fromkeys((*self._pods, *machine.cluster.pods)))
            names.update(dict.fromkeys(self._last_versions))
        if slots:
            names.update(dict.fromkeys(self._moved(slots)))
        if not names:
            return
        in_flight = {queued.key: queued for queued in machine.queue.in_flight()}
        waiting = machine.queue.get
        known, rows = self._pods, self._rows
        for name in names:
            before = known.get(name, _NO_POD)
            values = self._pod(name, in_flight.get(name) or waiting(name))
            if values == before:
                continue
            subject = self._index("pod", name)
            for field, value in enumerate(values):
                if value != before[field]:
                    rows.extend((now_ns, subject, field, value - before[field]))
            if values == _NO_POD:
                del known[name]
            else:
                known[name] = values

    def _moved(self, slots: Iterable[int]) -> list[str]:
        """Return the pods that came to slots or left them since the last comparison.

        A slot has one node until the slots are renumbered, and then all of them are compared.
        """
        pods_on = self._machine.cluster.pods_on
        names: list[str] = []
        for slot in slots:
            there = frozenset(pods_on[slot])
            names += sorted(there ^ self._pods_on.get(slot, frozenset()))
            self._pods_on[slot] = there
        return names

    def _changed_nominations(self) -> list[str]:
        """Return the pods that were nominated, or lost their nomination, since the last call."""
        nominations, queue = self._machine.cluster.nominations, self._machine.queue
        if isinstance(queue, SchedulingQueue):
            if nominations.version == self._nominations_version:
                return []
            self._nominations_version = nominations.version
            node_of = nominations.node_of()
        else:  # the queue of v1.16 has its own
            found = queue.nominator.nodes().items()
            node_of = {pod.key: node for node, pods in found for pod in pods}
        before, self._nominated = self._nominated, node_of
        changed = before.items() ^ self._nominated.items()
        return sorted({pod for pod, _ in changed})

    def _touched(self) -> list[str] | None:
        """Return the pods that the queue operated on since the last call; None if not known."""
        queue = self._machine.queue
        if not isinstance(queue, SchedulingQueue):
            return None
        touches = queue.touches_since(self._last_touch)
        if touches is None:
            latest = queue.latest_touch()
        else:
            latest = touches[0] if touches else self._last_touch
        self._last_touch = latest
        return None if touches is None else [touch[1] for touch in reversed(touches)]

    def _pod(self, name: str, queued: QueuedPod | None) -> _Values:
        """Return the values of a pod, in the order of `_POD_FIELDS`."""
        phase = deleting = disrupted_by = nominated_to = node = place = attempts = waits_for = 0
        workload = 0
        pod = self._last_versions.get(name)
        if pod is not None:
            phase = _PHASE_NUMBERS.get(pod.status.phase, 1)
            deleting = int(pod.metadata.deletion_timestamp is not None)
            disrupted = condition_of(pod, "DisruptionTarget")
            if disrupted is not None and disrupted.status == "True":
                disrupted_by = self._index("reason", disrupted.reason) + 1
            owner = workload_of(pod)
            if owner is not None:
                workload = self._index("workload", " ".join(owner)) + 1
        if self._nominated:
            nominated = self._nominated.get(name)
            if nominated is not None:
                nominated_to = self._index("node", nominated) + 1
        cluster = self._machine.cluster
        placed = cluster.pods.get(name)
        if placed is not None:
            node = self._index("node", cluster.nodes.names[placed.slot]) + 1
        if queued is not None:
            place = _PLACE_NUMBERS[queued.place]
            attempts = queued.attempts
            if queued.rejectors:
                waits_for = self._index("reason", ", ".join(sorted(queued.rejectors))) + 1
        return (
            phase, deleting, disrupted_by, nominated_to, node, place, attempts, waits_for, workload
        )  # fmt: skip

    def _set_node(self, name: str, values: _Values, now_ns: int) -> None:
        before = self._nodes.get(name, ())
        if before == values:
            return
        subject, rows = self._index("node", name), self._rows
        # One of them is shorter if the node comes or goes, or a resource is new.
        for place in range(max(len(before), len(values))):
            delta = values[place] if place < len(values) else 0
            if place < len(before):
                delta -= before[place]
            if delta:
                rows.extend((now_ns, subject, _FIRST_OF_NODES + place, delta))
        if values:
            self._nodes[name] = values
        else:
            del self._nodes[name]

    def drop_before(self, first_ns: int) -> None:
        """Drop the changes up to a time, whose state becomes the first one.

        A shallow copy made before keeps what it has.
        """
        before, short = self._subjects, shortened(self._timeline(), first_ns)
        self._first_ns = short.first_ns
        self._subjects = list(short.subjects)
        self._index_of = {kind: {} for kind in KINDS}
        for index, (kind, name) in enumerate(self._subjects):
            self._index_of[kind][name] = index
        rows = (short.times_ns, short.subject_index, short.field_index, short.deltas)
        self._packed = []
        self._pack(np.stack(rows, dtype=np.int64))
        pods: dict[str, _Values] = {}
        for pod, values in self._pods.items():
            numbers = list(values)
            for place in _REFERENCE_PLACES:
                if numbers[place]:
                    kind, name = before[numbers[place] - 1]
                    numbers[place] = self._index_of[kind][name] + 1
            pods[pod] = tuple(numbers)
        self._pods = pods

    def _index(self, kind: str, name: str) -> int:
        index_of = self._index_of[kind]
        index = index_of.get(name)
        if index is None:
            index = index_of[name] = len(self._subjects)
            self._subjects.append((kind, name))
        return index

    def timeline(self) -> Timeline:
        """Compare the current state, and return the rows as columns."""
        if self._now_ns is not None:
            self._compare(self._now_ns)
        return self._timeline()

    def _timeline(self) -> Timeline:
        parts = [np.frombuffer(zlib.decompress(part), dtype=np.int64) for part in self._packed]
        rows: I64Array = np.array(self._rows, dtype=np.int64).reshape(-1, 4)
        columns = np.concatenate([*(part.reshape(4, -1) for part in parts), rows.T], axis=1)
        return Timeline(
            subjects=tuple(self._subjects),
            fields=tuple(self._fields),
            first_ns=self._first_ns,
            times_ns=columns[0].copy(),
            subject_index=columns[1].astype(np.int32),
            field_index=columns[2].astype(np.int32),
            deltas=columns[3].copy(),
        )


# A timeline without its start: the changes up to a time become its first state.


def shortened(timeline: Timeline, first_ns: int) -> Timeline:
    """Return a timeline that starts with the state at a time.

    Subjects that are not left are removed, so those that stay may have other indexes.

    Parameters
    ----------
    timeline : Timeline
    first_ns : int
        The time of the first state.
    """
    end = np.searchsorted(timeline.times_ns, first_ns, side="right")
    keys = timeline.subject_index.astype(np.int64) * len(timeline.fields) + timeline.field_index
    cells, values = sums_of_cells(keys[:end], timeline.deltas[:end])
    first = np.full(len(cells), first_ns, dtype=np.int64)
    keys = np.concatenate((cells, keys[end:]))
    subjects, fields = np.divmod(keys, len(timeline.fields))
    deltas = np.concatenate((values, timeline.deltas[end:]))
    referring, referred = references_in(timeline.fields, subjects, fields, deltas)
    used = np.unique(np.concatenate((subjects, referred[referred >= 0])))
    index_of = np.full(len(timeline.subjects) + 1, -1, dtype=np.int64)  # -1 refers to none
    index_of[used] = np.arange(len(used))
    deltas[referring] = _differences(subjects[referring], fields[referring], index_of[referred])
    return Timeline(
        subjects=tuple(timeline.subjects[index] for index in used.tolist()),
        fields=timeline.fields,
        first_ns=max(first_ns, timeline.first_ns),
        times_ns=np.concatenate((first, timeline.times_ns[end:])),
        subject_index=index_of[subjects].astype(np.int32),
        field_index=fields.astype(np.int32),
        deltas=deltas,
    )


def _differences(subjects: I64Array, fields: I64Array, referred: I64Array) -> I64Array:
    """Return the deltas of references, in the order of `references_in`."""
    values = referred + 1
    deltas: I64Array = np.diff(values, prepend=0)
    starts = starts_of_cells(subjects, fields)
    deltas[starts] = values[starts]
    return deltas


# The timeline of a recorded run, by replaying it once.
#
# A log that has dropped its oldest events is replayed from its first checkpoint, whose state is
# the first of the timeline.


def timeline_of_log(log: DecisionLog, *, plugins: Iterable[type[Plugin]] = ()) -> Timeline:
    """Return the timeline of a recorded run, by replaying it.

    Parameters
    ----------
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.

    Raises
    ------
    LogError
        If the run cannot be replayed.
    """
    run = Replay(log, until=0, plugins=plugins, is_repeated=True)
    feed = TimelineFeed(run.machine)
    begin = run.index
    with metered("replaying", len(log) - begin) as meter:
        while (entry := run.peek()) is not None:
            feed.advance(entry.now_ns)
            run.step()
            feed.handled(entry.event)
            meter.advance(run.index - begin)
    return feed.timeline()
