"""A timeline without its start: the changes up to a time become its first state."""

from __future__ import annotations

import numpy as np

from podwright._arrays import I64Array
from podwright.simulation.recording.timelines.columns import REFERENCES, Timeline


def shortened(timeline: Timeline, first_ns: int) -> Timeline:
    """Return a timeline that starts with the state at a time.

    Subjects that are not left are removed, so those that stay may have other indexes.

    Parameters
    ----------
    timeline : Timeline
    first_ns : int
        The time of the first state.
    """
    end = int(np.searchsorted(timeline.times_ns, first_ns, side="right"))
    field_count = max(1, len(timeline.fields))
    keys = timeline.subject_index.astype(np.int64) * field_count + timeline.field_index
    cells, cell_of_row = np.unique(keys[:end], return_inverse=True)
    values = np.zeros(len(cells), dtype=np.int64)
    np.add.at(values, cell_of_row, timeline.deltas[:end])
    cells, values = cells[values != 0], values[values != 0]
    first = np.full(len(cells), first_ns, dtype=np.int64)
    keys = np.concatenate((cells, keys[end:]))
    subjects, fields = np.divmod(keys, field_count)
    deltas = np.concatenate((values, timeline.deltas[end:]))
    referring, referred = _references(timeline.fields, subjects, fields, deltas)
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


def _references(
    names: tuple[str, ...], subjects: I64Array, fields: I64Array, deltas: I64Array
) -> tuple[I64Array, I64Array]:
    """Return the rows of references, and the subject to which each value refers; -1 for none.

    The rows of each subject and field follow each other, in order of time.
    """
    numbers = [index for index, name in enumerate(names) if name in REFERENCES]
    rows: I64Array = np.flatnonzero(np.isin(fields, numbers))
    rows = rows[np.lexsort((fields[rows], subjects[rows]))]
    sums = np.cumsum(deltas[rows])
    starts = _starts(subjects[rows], fields[rows])
    # The sum over the rows of all cells, without that over the cells before.
    before = np.concatenate((np.zeros(1, dtype=np.int64), sums))[starts]
    lengths = np.diff(np.append(starts, len(rows)))
    return rows, sums - np.repeat(before, lengths) - 1


def _differences(subjects: I64Array, fields: I64Array, referred: I64Array) -> I64Array:
    """Return the deltas of references, in the order of `_references`."""
    values = referred + 1
    deltas: I64Array = np.diff(values, prepend=0)
    starts = _starts(subjects, fields)
    deltas[starts] = values[starts]
    return deltas


def _starts(subjects: I64Array, fields: I64Array) -> I64Array:
    """Return the places at which another subject or field starts."""
    is_other = (np.diff(subjects, prepend=-1) != 0) | (np.diff(fields, prepend=-1) != 0)
    return np.flatnonzero(is_other)
