"""The changes of a run as columns, and the state at a time.

The state is a sparse table of integers: one value for each subject (a node or a pod) and field
(`present`, `requested/cpu`, `queue`, ...), 0 at first. A row adds a delta to one value at a time.
Adding the rows up to a time gives the state that `run show --at` shows then; subtracting rows from
the end gives it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.queueing import QueueName

Subject: TypeAlias = tuple[str, str]
State: TypeAlias = dict[tuple[Subject, str], int]

PLACES: Final = tuple(place.value for place in QueueName if place is not QueueName.NOWHERE)
"""The places of the queue; the field `queue` is the index of one plus 1, and 0 outside it."""

KINDS: Final = ("node", "pod", "reason", "workload")
"""The kinds of subjects; only nodes and pods have values."""

REFERENCES: Final = ("node", "nominatedTo", "waitsFor", "disruptedBy", "workload")
"""The fields whose value is the index of a subject plus 1."""

PHASES: Final = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
"""The phases of pods; the field `phase` is the index of one plus 1, and 0 without a pod."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """The changes of a run, in order of time.

    Parameters
    ----------
    subjects : tuple of (str, str)
        One of `KINDS`, and the name: `namespace/name` for pods; for reasons the plugins that
        rejected a pod, separated by commas, or the reason of its condition DisruptionTarget; for
        workloads the kind, a space and `namespace/name`.
    fields : tuple of str
        Of nodes: `present`, `ready`, `unschedulable`, `taints` (their number),
        `allocatable/RESOURCE` and `requested/RESOURCE` in milli-CPU, bytes and units. Of pods:
        `phase` (see `PHASES`), `deleting`, `node`, `nominatedTo`, `waitsFor`, `disruptedBy` and
        `workload` (the index of a subject plus 1), `queue` (see `PLACES`) and `attempts`, while in
        the queue.
    first_ns : int
        The time of the first state. Nothing is known of the time before it if the log has dropped
        its oldest events.
    times_ns : (n_rows,) int64
    subject_index, field_index : (n_rows,) int32
    deltas : (n_rows,) int64
    """

    subjects: tuple[Subject, ...]
    fields: tuple[str, ...]
    first_ns: int
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
        end = int(np.searchsorted(self.times_ns, at_ns, side="right"))
        keys = self.subject_index.astype(np.int64) * max(1, len(self.fields)) + self.field_index
        deltas = self.deltas
        if is_rewound:
            keys = np.concatenate((keys, keys[end:]))
            deltas = np.concatenate((deltas, -deltas[end:]))
        else:
            keys, deltas = keys[:end], deltas[:end]
        cells, cell_of_row = np.unique(keys, return_inverse=True)
        values = np.zeros(len(cells), dtype=np.int64)
        np.add.at(values, cell_of_row, deltas)
        found = zip(cells.tolist(), values.tolist(), strict=True)
        return {
            (self.subjects[cell // len(self.fields)], self.fields[cell % len(self.fields)]): value
            for cell, value in found
            if value
        }
