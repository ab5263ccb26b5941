"""The timeline of a run: every change of its nodes, pods and queue as columns of deltas.

The state at a time is a table of integers: one value for each subject (a node or a pod) and field
(`present`, `requested/cpu`, `queue`, ...), 0 at first. A row of the timeline adds a delta to one
value at a time. Adding the rows up to a time gives the state that `run show --at` shows then;
subtracting rows from the end gives it too.

A run is replayed once. The state is compared at each time at which events were handled, so changes
within one time are one row. Nodes are compared where the journals of the columns name them; pods
are all compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.framework import Plugin
from podwright.machine import Machine
from podwright.queueing import QueueName
from podwright.recording.decision_log import DecisionLog
from podwright.recording.node_amounts import NodeAmounts
from podwright.recording.replay import Replay

Subject: TypeAlias = tuple[str, str]
State: TypeAlias = dict[tuple[Subject, str], int]

PLACES: Final = tuple(place.value for place in QueueName if place is not QueueName.NOWHERE)
"""The places of the queue; the field `queue` is the index of one plus 1, and 0 outside it."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """The changes of a run, in order of time.

    Parameters
    ----------
    subjects : tuple of (str, str)
        `node` or `pod`, and the name; `namespace/name` for pods.
    fields : tuple of str
        `present`, `allocatable/RESOURCE` and `requested/RESOURCE` of nodes in milli-CPU, bytes and
        units; `node` (the index of the subject plus 1) and `queue` of pods.
    times_ns : (n_rows,) int64
    subject_index, field_index : (n_rows,) int32
    deltas : (n_rows,) int64
    """

    subjects: tuple[Subject, ...]
    fields: tuple[str, ...]
    times_ns: I64Array
    subject_index: I32Array
    field_index: I32Array
    deltas: I64Array

    def state_at(self, at_ns: int, *, is_rewound: bool = False) -> State:
        """Return the values that are not 0 after every change up to a time.

        Parameters
        ----------
        is_rewound : bool
            Whether to subtract the later changes from the final state.
        """
        shape = len(self.subjects), len(self.fields)
        values = np.zeros(shape, dtype=np.int64)
        end = int(np.searchsorted(self.times_ns, at_ns, side="right"))
        rows = slice(None) if is_rewound else slice(end)
        np.add.at(values, (self.subject_index[rows], self.field_index[rows]), self.deltas[rows])
        if is_rewound:
            later = self.subject_index[end:], self.field_index[end:]
            np.subtract.at(values, later, self.deltas[end:])
        found = zip(*(index.tolist() for index in values.nonzero()), strict=True)
        return {(self.subjects[s], self.fields[f]): int(values[s, f]) for s, f in found}


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
    run = Replay(log, until=0, plugins=plugins)
    changes = _Changes(run.machine)
    now_ns: int | None = None
    while (entry := run.peek()) is not None:
        if now_ns is not None and entry.now_ns != now_ns:
            changes.compare(now_ns)
        now_ns = entry.now_ns
        run.step()
    if now_ns is not None:
        changes.compare(now_ns)
    return changes.timeline()


class _Changes:
    """Collects the differences between the states of a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._amounts = NodeAmounts()
        self._subjects: dict[Subject, int] = {}
        self._fields: dict[str, int] = {}
        self._name_of: dict[int, str] = {}
        self._nodes: dict[str, dict[str, int]] = {}
        self._pods: dict[str, dict[str, int]] = {}
        self._rows: list[tuple[int, int, int, int]] = []

    def compare(self, now_ns: int) -> None:
        """Add a row for each value that differs from the last comparison."""
        nodes = self._machine.cluster.nodes
        slots = self._amounts.update(nodes)
        if slots is None:
            slots = np.arange(nodes.n_slots, dtype=np.int64)
            gone = dict.fromkeys(self._nodes)
            self._name_of.clear()
        else:
            # Another node may have taken the slot within the same time.
            gone = dict.fromkeys(self._name_of.pop(s) for s in slots.tolist() if s in self._name_of)
        current: dict[str, dict[str, int]] = {}
        for slot in slots.tolist():
            if nodes.alive[slot]:
                name = self._name_of[slot] = nodes.names[slot]
                current[name] = self._node(slot)
        for name in {**gone, **current}:
            self._set(("node", name), self._nodes, current.get(name, {}), now_ns)
        pods = self._current_pods()
        for name in {**self._pods, **pods}:
            self._set(("pod", name), self._pods, pods.get(name, {}), now_ns)

    def _node(self, slot: int) -> dict[str, int]:
        amounts = self._amounts
        values = {"present": 1}
        for resource, column in amounts.columns.items():
            values[f"allocatable/{resource}"] = int(amounts.allocatable[slot, column])
            values[f"requested/{resource}"] = int(amounts.requested[slot, column])
        return values

    def _current_pods(self) -> dict[str, dict[str, int]]:
        machine = self._machine
        names = machine.cluster.nodes.names
        pods: dict[str, dict[str, int]] = {}
        for key, placed in machine.cluster.pods.items():
            pods[key] = {"node": self._index(("node", names[placed.slot])) + 1}
        for index, place in enumerate(PLACES):
            for queued in machine.queue.pods_in(QueueName(place)):
                pods.setdefault(queued.key, {})["queue"] = index + 1
        return pods

    def _set(
        self,
        subject: Subject,
        known: dict[str, dict[str, int]],
        values: dict[str, int],
        now_ns: int,
    ) -> None:
        name = subject[1]
        before = known.get(name, {})
        if before == values:
            return
        for field in {**before, **values}:
            delta = values.get(field, 0) - before.get(field, 0)
            if delta:
                column = self._fields.setdefault(field, len(self._fields))
                self._rows.append((now_ns, self._index(subject), column, delta))
        if values:
            known[name] = values
        else:
            known.pop(name, None)

    def _index(self, subject: Subject) -> int:
        return self._subjects.setdefault(subject, len(self._subjects))

    def timeline(self) -> Timeline:
        """Return the rows as columns."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 4)
        return Timeline(
            subjects=tuple(self._subjects),
            fields=tuple(self._fields),
            times_ns=rows[:, 0].copy(),
            subject_index=rows[:, 1].astype(np.int32),
            field_index=rows[:, 2].astype(np.int32),
            deltas=rows[:, 3].copy(),
        )
