"""The timeline as bytes: chunks of typed arrays, which a browser reads without a library.

docs/reference/timeline.md describes every byte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from podwright._arrays import I64Array
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.timelines.columns import REFERENCES, Subject, Timeline

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
    referred = _referred_subjects(timeline)
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
        if header.rows < 0 or not 0 <= body_bytes - header.rows * row_bytes < 8:
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


def _referred_subjects(timeline: Timeline) -> I64Array:
    """Return the subject to which the value of each row refers; -1 if it refers to none."""
    fields = [index for index, field in enumerate(timeline.fields) if field in REFERENCES]
    referred: I64Array = np.full(len(timeline.deltas), -1, dtype=np.int64)
    for field in fields:
        rows = np.flatnonzero(timeline.field_index == field)
        rows = rows[np.argsort(timeline.subject_index[rows], kind="stable")]
        # The sum over the rows of all subjects, without that over the subjects before.
        values = np.cumsum(timeline.deltas[rows])
        subjects = timeline.subject_index[rows]
        starts = np.flatnonzero(np.diff(subjects, prepend=-1))
        before = np.concatenate((np.zeros(1, dtype=np.int64), values))[starts]
        lengths = np.diff(np.append(starts, len(rows)))
        referred[rows] = values - np.repeat(before, lengths) - 1
    return referred
