"""The chunks of a timeline: what is read equals what was written, and damage is an error."""

from itertools import accumulate

import msgspec
import numpy as np
import pytest

import podwright as pw
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.timelines.columns import (
    _HEAD,
    _LAYOUT,
    Timeline,
    decode_chunks,
    encode_chunks,
)
from podwright.simulation.recording.timelines.feed import timeline_of_log
from podwright.testing import make_node, make_pod

COLUMNS = ("times_ns", "subject_index", "field_index", "deltas")


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    pods = [make_pod(f"p{number}", cpu="1") for number in range(6)]
    events = [
        {"at": "20s", "apply": make_node("n2", cpu="3").raw},
        {"at": "40s", "delete": "pod/p0", "gracePeriodSeconds": 0},
    ]
    return timeline_of_log(pw.simulate([make_node("n1", cpu="2"), *pods], events=events).log)


@pytest.mark.parametrize("chunk_rows", [1, 7, 1 << 16])
def test_what_is_read_equals_what_was_written(timeline, chunk_rows):
    chunks = list(encode_chunks(timeline, chunk_rows=chunk_rows))
    for chunk in chunks:
        _, header_size, body_size = _HEAD.unpack_from(chunk)
        assert (header_size % 8, body_size % 8) == (0, 0)
        assert len(chunk) == _HEAD.size + header_size + body_size
        header = chunk[_HEAD.size : _HEAD.size + header_size]
        assert header_size - len(header.rstrip()) < 8
    found = decode_chunks(b"".join(chunks))
    assert (found.subjects, found.fields) == (timeline.subjects, timeline.fields)
    assert found.first_ns == timeline.first_ns
    for column in COLUMNS:
        assert getattr(found, column).dtype == getattr(timeline, column).dtype
        assert getattr(found, column).tolist() == getattr(timeline, column).tolist()


def test_the_first_chunks_have_the_names_that_their_rows_use(timeline):
    chunks = list(encode_chunks(timeline, chunk_rows=5))
    assert len(chunks) == -(-len(timeline.deltas) // 5)
    for count in range(1, len(chunks)):
        part = decode_chunks(b"".join(chunks[:count]))
        assert len(part.subjects) < len(timeline.subjects) or part.subjects == timeline.subjects
        for (_, field), value in part.state_at(int(part.times_ns[-1])).items():
            if field in ("node", "waitsFor"):
                kind, _ = part.subjects[value - 1]
                assert kind == {"node": "node", "waitsFor": "reason"}[field]


def test_a_million_rows_of_many_pods_take_less_than_50_megabytes():
    rows, pods = 1_000_000, 100_000
    number = np.arange(rows, dtype=np.int64)
    many = Timeline(
        subjects=tuple(("pod", f"default/web-6d4cf56db6-{index:05d}") for index in range(pods)),
        fields=("phase", "attempts"),
        first_ns=1,
        times_ns=number,
        subject_index=(number % pods).astype(np.int32),
        field_index=(number % 2).astype(np.int32),
        deltas=number,
    )
    sizes = [len(chunk) for chunk in encode_chunks(many)]
    assert sum(sizes) < 50_000_000
    assert len(sizes) == 16


@pytest.mark.parametrize(("chunk_rows", "subject_counts"), [(1, [2, 1, 1]), (2, [3, 1]), (3, [4])])
def test_a_reference_that_moves_to_a_later_name_is_in_the_chunk(chunk_rows, subject_counts):
    subjects = (("pod", "a/b"), ("node", "n1"), ("node", "n2"), ("node", "n3"))
    moved = Timeline(
        subjects=subjects,
        fields=("node",),
        first_ns=1,
        times_ns=np.array([1, 2, 3], dtype=np.int64),
        subject_index=np.zeros(3, dtype=np.int32),
        field_index=np.zeros(3, dtype=np.int32),
        deltas=np.array([2, 1, 1], dtype=np.int64),
    )
    chunks = encode_chunks(moved, chunk_rows=chunk_rows)
    assert [len(decode_chunks(each).subjects) for each in chunks] == subject_counts


@pytest.mark.parametrize(
    ("chunk_rows", "subject_counts", "field_counts"),
    [(1, [1, 1, 2], [1, 1, 2]), (2, [2, 2], [2, 2]), (3, [4], [4])],
)
def test_a_chunk_has_the_names_that_its_rows_are_the_first_to_use(
    chunk_rows, subject_counts, field_counts
):
    places = np.arange(3, dtype=np.int32)
    written = Timeline(
        subjects=(("pod", "a"), ("pod", "b"), ("pod", "c"), ("pod", "unused")),
        fields=("phase", "attempts", "priority", "unused"),
        first_ns=1,
        times_ns=np.array([1, 2, 3], dtype=np.int64),
        subject_index=places,
        field_index=places,
        deltas=np.array([1, 1, 1], dtype=np.int64),
    )
    chunks = list(encode_chunks(written, chunk_rows=chunk_rows))
    assert decode_chunks(b"".join(chunks)).subjects == written.subjects
    found = [decode_chunks(b"".join(chunks[: count + 1])) for count in range(len(chunks))]
    ends = [(len(each.subjects), len(each.fields)) for each in found]
    assert ends == list(zip(accumulate(subject_counts), accumulate(field_counts), strict=True))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda content: content[:-1], "ends within a chunk"),
        (lambda content: content + b"PWT1", "ends within a chunk"),
        (lambda content: b"X" + content[1:], "starts with PWT1"),
        (lambda content: content.replace(b'"rows":', b'"rowz":'), "the header is not valid"),
        (lambda content: content.replace(b'"rows":', b'"rows":9'), "rows"),
    ],
)
def test_damaged_chunks_are_errors(timeline, change, text):
    with pytest.raises(LogError, match=text):
        decode_chunks(change(b"".join(encode_chunks(timeline))))


def test_a_number_of_rows_is_not_negative(timeline):
    (content,) = encode_chunks(timeline)
    magic, header_bytes, _ = _HEAD.unpack_from(content)
    header = msgspec.json.decode(content[_HEAD.size : _HEAD.size + header_bytes])
    changed = msgspec.json.encode(header | {"rows": -1})
    with pytest.raises(LogError, match=r"^byte 0: 0 bytes are not -1 rows$"):
        decode_chunks(_HEAD.pack(magic, len(changed), 0) + changed)


@pytest.mark.parametrize("more", range(9))
def test_the_rows_of_a_chunk_are_followed_by_less_than_eight_bytes(timeline, more):
    row_bytes = sum(np.dtype(kind).itemsize for _, kind in _LAYOUT)
    (content,) = encode_chunks(timeline)
    magic, header_bytes, body_bytes = _HEAD.unpack_from(content)
    rows_bytes = len(timeline.deltas) * row_bytes
    end = _HEAD.size + header_bytes + rows_bytes
    head = _HEAD.pack(magic, header_bytes, rows_bytes + more)
    changed = head + content[_HEAD.size : end] + bytes(more)
    assert body_bytes == rows_bytes + -rows_bytes % 8
    if more < 8:
        assert decode_chunks(changed).deltas.tolist() == timeline.deltas.tolist()
        return
    with pytest.raises(LogError) as caught:
        decode_chunks(changed)
    text = f"byte 0: {rows_bytes + more} bytes are not {len(timeline.deltas)} rows"
    assert str(caught.value) == text
