"""The changes of a run as columns, and the state at a time.

The state is a sparse table of integers: one value for each subject (a node or a pod) and field
(`present`, `requested/cpu`, `queue`, ...), 0 at first. A row adds a delta to one value at a time.
Adding the rows up to a time gives the state that `run show --at` shows then; subtracting rows from
the end gives it too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.queueing import QueueName
from podwright.simulation.recording.log.log_format import LogError

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


@dataclass(frozen=True, eq=False, kw_only=True)
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
        end = np.searchsorted(self.times_ns, at_ns, side="right")
        keys = self.subject_index.astype(np.int64) * len(self.fields) + self.field_index
        deltas = self.deltas
        if is_rewound:
            keys = np.concatenate((keys, keys[end:]))
            deltas = np.concatenate((deltas, -deltas[end:]))
        else:
            keys, deltas = keys[:end], deltas[:end]
        cells, values = sums_of_cells(keys, deltas)
        rows = np.stack((*np.divmod(cells, len(self.fields)), values))
        return {
            (self.subjects[subject], self.fields[field]): value
            for subject, field, value in zip(*rows.tolist(), strict=True)
        }


# The timeline as bytes: chunks of typed arrays, which a browser reads without a library.
#
# docs/reference/timeline.md describes every byte.

TIMELINE_MEDIA_TYPE: Final = "application/vnd.podwright.timeline"
CHUNK_ROWS: Final = 1 << 16

_MAGIC: Final = b"PWT1"
_HEAD: Final = struct.Struct("<4sIQ")
_LAYOUT: Final = (
    ("times_ns", "<i8"),
    ("deltas", "<i8"),
    ("subject_index", "<u4"),
    ("field_index", "<u2"),
)


class ChunkHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The JSON header of a chunk.

    Attributes
    ----------
    rows : int
    first_ns : str
        The time of the first state, as decimal digits: JavaScript's numbers are not exact here.
    subjects : list of (str, str)
        Those that follow the subjects of the earlier chunks.
    fields : list of str
        Those that follow the fields of the earlier chunks.
    """

    rows: int
    first_ns: str
    subjects: list[Subject]
    fields: list[str]


def encode_chunks(timeline: Timeline, *, chunk_rows: int = CHUNK_ROWS) -> Iterator[bytes]:
    """Yield the chunks of a timeline: at least one.

    A chunk has the names that its rows are the first to use.
    """
    subject_end = field_end = 0
    row_count = len(timeline.times_ns)
    referred: I64Array = np.full(row_count, -1, dtype=np.int64)
    rows_with, subjects_of = references_in(
        timeline.fields,
        timeline.subject_index.astype(np.int64),
        timeline.field_index.astype(np.int64),
        timeline.deltas,
    )
    referred[rows_with] = subjects_of
    for first in range(0, max(1, row_count), chunk_rows):
        rows = slice(first, first + chunk_rows)
        subjects, fields = subject_end, field_end
        is_last = first + chunk_rows >= row_count
        if is_last:
            subject_end, field_end = len(timeline.subjects), len(timeline.fields)
        else:
            greatest = max(int(timeline.subject_index[rows].max()), int(referred[rows].max()))
            subject_end = max(subject_end, greatest + 1)
            field_end = max(field_end, int(timeline.field_index[rows].max()) + 1)
        header = msgspec.json.encode(
            ChunkHeader(
                rows=min(chunk_rows, row_count - first),
                first_ns=str(timeline.first_ns),
                subjects=list(timeline.subjects[subjects:subject_end]),
                fields=list(timeline.fields[fields:field_end]),
            )
        )
        header += b" " * (-len(header) % 8)
        body = b"".join(
            getattr(timeline, name)[rows].astype(kind).tobytes() for name, kind in _LAYOUT
        )
        body += bytes(-len(body) % 8)
        yield _HEAD.pack(_MAGIC, len(header), len(body)) + header + body


def decode_chunks(content: bytes) -> Timeline:
    """Return the timeline of chunks that follow each other.

    Raises
    ------
    LogError
        If the bytes are not whole chunks.
    """
    subjects: list[Subject] = []
    fields: list[str] = []
    parts: dict[str, list[bytes]] = {name: [] for name, _ in _LAYOUT}
    at = first_ns = 0
    while at < len(content):
        if len(content) - at < _HEAD.size:
            raise LogError(f"byte {at}: the timeline ends within a chunk")
        magic, header_bytes, body_bytes = _HEAD.unpack_from(content, at)
        if magic != _MAGIC:
            raise LogError(f"byte {at}: a chunk of a timeline starts with {_MAGIC.decode()}")
        body = at + _HEAD.size + header_bytes
        if len(content) < body + body_bytes:
            raise LogError(f"byte {at}: the timeline ends within a chunk")
        try:
            header = msgspec.json.decode(content[at + _HEAD.size : body], type=ChunkHeader)
            first_ns = int(header.first_ns)
        except (msgspec.MsgspecError, ValueError) as error:
            raise LogError(f"byte {at + _HEAD.size}: the header is not valid: {error}") from error
        row_bytes = sum(np.dtype(kind).itemsize for _, kind in _LAYOUT)
        if not 0 <= body_bytes - header.rows * row_bytes < 8:
            raise LogError(f"byte {at}: {body_bytes} bytes are not {header.rows} rows")
        subjects += header.subjects
        fields += header.fields
        at = body
        for name, kind in _LAYOUT:
            end = at + header.rows * np.dtype(kind).itemsize
            parts[name].append(content[at:end])
            at = end
        at = body + body_bytes
    columns = {name: np.frombuffer(b"".join(parts[name]), dtype=kind) for name, kind in _LAYOUT}
    return Timeline(
        subjects=tuple(subjects),
        fields=tuple(fields),
        first_ns=first_ns,
        times_ns=columns["times_ns"].astype(np.int64),
        subject_index=columns["subject_index"].astype(np.int32),
        field_index=columns["field_index"].astype(np.int32),
        deltas=columns["deltas"].astype(np.int64),
    )


def references_in(
    names: tuple[str, ...], subjects: I64Array, fields: I64Array, deltas: I64Array
) -> tuple[I64Array, I64Array]:
    """Return the rows of references, and the subject to which each value refers; -1 for none.

    The rows of each subject and field follow each other, in order of time.
    """
    numbers = [index for index, name in enumerate(names) if name in REFERENCES]
    rows: I64Array = np.flatnonzero(np.isin(fields, numbers))
    rows = rows[np.lexsort((fields[rows], subjects[rows]))]
    sums = np.cumsum(deltas[rows])
    starts = starts_of_cells(subjects[rows], fields[rows])
    # The sum over the rows of all cells, without that over the cells before.
    before = np.concatenate((np.zeros(1, dtype=np.int64), sums))[starts]
    lengths = np.diff(np.append(starts, len(rows)))
    return rows, sums - np.repeat(before, lengths) - 1


def starts_of_cells(subjects: I64Array, fields: I64Array) -> I64Array:
    """Return the places at which another subject or field starts."""
    is_other = np.diff((subjects, fields), prepend=-1) != 0
    return np.flatnonzero(is_other.any(axis=0))


def sums_of_cells(keys: I64Array, deltas: I64Array) -> tuple[I64Array, I64Array]:
    """Return the cells whose deltas do not add up to 0, and the sums."""
    cells, cell_of_row = np.unique(keys, return_inverse=True)
    values = np.zeros(len(cells), dtype=np.int64)
    np.add.at(values, cell_of_row, deltas)
    return cells[values != 0], values[values != 0]
