"""The parts of a log: files of frames, blocks of events, cases as text, and samples of shares."""

from __future__ import annotations

import ast
import io
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import with_fields
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CycleDue,
    Event,
    ExtenderReplied,
    FlushBackoff,
    ObjectDeleted,
    ObjectPut,
    PodRejected,
    TimerFired,
)
from podwright.simulation.recording.explanations.explain import find_cycle
from podwright.simulation.recording.log import log_events, log_files
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_events import (
    EventRows,
    decode_events,
    decode_outcomes,
)
from podwright.simulation.recording.log.log_files import (
    Folder,
    Frame,
    Memory,
    _write_whole,
    frames_until,
)
from podwright.simulation.recording.log.log_format import (
    ENCODER,
    EVENTS,
    FRAME_HEAD_BYTES,
    HEADER,
    SEGMENT_HEAD_BYTES,
    EventBlock,
    FrameHead,
    LogError,
    OutcomeBlock,
    decode_actions,
)
from podwright.simulation.recording.log.log_tables import NodeShares, tables_of_log
from podwright.simulation.recording.log.memory_checkpoints import (
    KeptState,
    MemoryCheckpoint,
    MemoryCheckpointObjects,
    MemoryCheckpoints,
)
from podwright.simulation.recording.log.saved_case import (
    _literal,
    case_text,
    decode_case,
    encode_case,
    save_cycle,
)
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.simulation.recording.usage.utilization import NodeAmounts
from podwright.simulation.world.tests.quota import MOST, Quota
from podwright.testing import make_node, make_pod


def head(kind: int = EVENTS, *, first: int = 0, count: int = 0, length: int = 3) -> FrameHead:
    return FrameHead(
        kind=kind, length=length, checksum=0, first=first, count=count, first_ns=0, last_ns=0
    )


# ------------------------------------------------------------------------------ frames


def test_frames_in_memory_have_the_size_of_those_that_are_left():
    memory = Memory()
    frames = [memory.append(head(first=number), bytes(number)) for number in (3, 1, 2)]
    assert [frame.offset for frame in frames] == [0, 1, 2]
    assert [memory.read(frame) for frame in frames] == [bytes(3), bytes(1), bytes(2)]
    assert memory.size_bytes == 6
    memory.drop(frames[0])
    assert memory.size_bytes == 3
    # Numbers are not used again.
    assert memory.append(head(), b"x").offset == 3
    with pytest.raises(KeyError):
        memory.read(frames[0])
    memory.sync()
    memory.close()


def test_frames_in_a_folder_have_their_places(tmp_path, monkeypatch):
    monkeypatch.setattr(log_files, "SEGMENT_LIMIT_BYTES", SEGMENT_HEAD_BYTES + FRAME_HEAD_BYTES + 3)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    folder = Folder(tmp_path / "log")
    assert folder.source == str(tmp_path / "log")
    folder.create()
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700
    frames = [
        folder.append(head(HEADER), b"abc"),
        folder.append(head(count=2), b"def"),
        folder.append(head(first=2, count=1, length=1), b"g"),
    ]
    assert [(frame.segment, frame.offset, frame.end) for frame in frames] == [
        (0, SEGMENT_HEAD_BYTES + FRAME_HEAD_BYTES, 0),
        (1, SEGMENT_HEAD_BYTES + FRAME_HEAD_BYTES, 2),
        (2, SEGMENT_HEAD_BYTES + FRAME_HEAD_BYTES, 3),
    ]
    # A full segment is on disk before the next one begins.
    assert len(synced) == 2
    folder.sync()
    assert len(synced) == 3
    assert [folder.read(frame) for frame in frames] == [b"abc", b"def", b"g"]
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == [
        "00000000.pwlog", "00000001.pwlog", "00000002.pwlog",
    ]  # fmt: skip
    # One reader sees the frames; a second writer is refused until the first has closed.
    assert Folder(tmp_path / "log").open(append=False) == frames
    with pytest.raises(LogError, match="is locked: another process is writing to it"):
        Folder(tmp_path / "log").open(append=True)
    folder.close()
    folder.close()
    folder.sync()
    assert len(synced) == 3
    again = Folder(tmp_path / "log")
    assert again.open(append=True) == frames
    # Frames after the one to continue from are cut off with the first that is appended.
    again.append_after(frames[0])
    assert len([*(tmp_path / "log").iterdir()]) == 3
    new = again.append(head(count=1), b"xyz")
    assert (new.segment, new.offset) == (1, SEGMENT_HEAD_BYTES + FRAME_HEAD_BYTES)
    assert Folder(tmp_path / "log").open(append=False) == [frames[0], new]
    more = again.append(head(first=1, count=1), b"uvw")
    assert more.segment == 2
    again.close()


@pytest.mark.parametrize(("missing_bytes", "segment"), [(1, 0), (0, 1)])
def test_a_segment_ends_with_the_frame_that_reaches_64_mib(tmp_path, missing_bytes, segment):
    folder = Folder(tmp_path / "log")
    folder.create()
    size_bytes = (64 << 20) - SEGMENT_HEAD_BYTES - FRAME_HEAD_BYTES - missing_bytes
    folder.append(head(HEADER), bytes(size_bytes))
    assert folder.append(head(count=1), b"a").segment == segment
    folder.close()


def test_a_frame_that_follows_in_its_segment_is_cut_off(tmp_path):
    folder = Folder(tmp_path)
    folder.create()
    first, second = (folder.append(head(), text) for text in (b"abc", b"def"))
    assert second.offset == first.offset + 3 + FRAME_HEAD_BYTES
    folder.close()
    again = Folder(tmp_path)
    again.open(append=True)
    again.append_after(first)
    third = again.append(head(), b"ghi")
    again.close()
    assert third.offset == second.offset
    assert again.read(third) == b"ghi"
    assert Folder(tmp_path).open(append=False) == [first, third]


def test_a_folder_that_cannot_be_read_has_the_reason(tmp_path, monkeypatch):
    with pytest.raises(LogError) as error:
        Folder(tmp_path / "x").open(append=False)
    assert str(error.value) == (
        f"{tmp_path / 'x'}: there is no such folder; name the one of podwright simulate --out, or"
        " of a decision log"
    )
    with pytest.raises(LogError) as error:
        Folder(tmp_path).open(append=False)
    assert str(error.value) == f"{tmp_path} holds no decision log (no *.pwlog files)"
    folder = Folder(tmp_path)
    folder.create()
    with pytest.raises(LogError, match="already holds a decision log; choose another folder"):
        Folder(tmp_path).create()
    folder.close()

    def broken(*_args: Any, **_options: Any) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(log_files, "_scan", broken)
    with pytest.raises(LogError) as error:
        Folder(tmp_path).open(append=False)
    assert str(error.value) == f"{tmp_path} cannot be read: Input/output error"
    monkeypatch.setattr(log_files, "make_private_folder", broken)
    with pytest.raises(LogError) as error:
        Folder(tmp_path / "new").create()
    assert str(error.value) == f"{tmp_path / 'new'} cannot be written: Input/output error"


FRAMES = [
    Frame(head(HEADER), 0, 0),
    Frame(head(first=0, count=3), 0, 1),
    Frame(head(first=3, count=0), 0, 2),
    Frame(head(first=3, count=2), 0, 3),
]


@pytest.mark.parametrize(("until", "count"), [(None, 4), (0, 1), (3, 3), (5, 4)])
def test_frames_up_to_a_number_of_events(until, count):
    assert frames_until(FRAMES, until, source="s") == FRAMES[:count]


@pytest.mark.parametrize(("until", "before"), [(-1, 0), (1, 0), (4, 3), (9, 5)])
def test_no_block_ends_within_another(until, before):
    with pytest.raises(LogError) as error:
        frames_until(FRAMES, until, source="s")
    assert str(error.value) == (
        f"s cannot be cut back to {until} events: no block ends there, the one before ends at"
        f" {before}; it was left as it is"
    )


@pytest.mark.parametrize("frames", [[], FRAMES[1:]])
def test_frames_without_a_header_are_no_log(frames):
    with pytest.raises(LogError, match="s has no header: nothing was recorded before its writer"):
        frames_until(frames, None, source="s")


# ------------------------------------------------------------------------------ events

POD = make_pod("p", cpu="1")
OTHER = make_pod("p2")
LOGGED: list[tuple[int, Event, list[Action], tuple[str, ...]]] = [
    (5, ObjectPut(POD), [], ()),
    (5, ObjectPut(OTHER), [], ()),
    (
        7,
        CycleDue(),
        [Bind(1, "default/p", "u", "n1"), Bind(2, "default/p2", "v", "n2")],
        ("default/p",),
    ),
    (9, CallDone(1), [], ()),
    (9, CallDone(2, CallError("no", "Conflict")), [Bind(3, "default/p2", "v", "n3")], ()),
    (9, CallDone(4, obj=POD), [], ()),
    (8, TimerFired(), [], ("default/p2", "default/p")),
    (12, PodRejected("default/p", "Gate", "not today"), [], ()),
    (12, ExtenderReplied(6, ExtenderReply(status=200, body=b"x")), [], ()),
    (13, ObjectDeleted(POD), [], ()),
    (14, ObjectPut(POD), [], ()),
]


def rows_of(logged: Any = LOGGED) -> EventRows:
    rows = EventRows()
    for now_ns, event, actions, pods in logged:
        rows.add(now_ns, event, actions)
        for pod in pods:
            rows.end_cycle(pod)
    return rows


def read_again(block: Any, kind: type) -> Any:
    return msgspec.msgpack.decode(ENCODER.encode(block), type=kind)


@pytest.mark.parametrize("limit", [1, 2, 4, 100])
def test_events_are_the_same_after_any_number_of_blocks(limit):
    rows = rows_of()
    assert len(rows) == len(LOGGED)
    objects: dict[int, Any] = {}
    found: list[Any] = []
    while len(rows):
        before = len(rows)
        times, index, block = rows.take(limit)
        assert len(rows) == max(0, before - limit)
        entries = [
            *decode_events(index, read_again(block, EventBlock), len(found), objects, source="s")
        ]
        assert times == [entry.now_ns for entry in entries]
        found += entries
    assert [entry.index for entry in found] == [*range(len(LOGGED))]
    assert [
        (entry.now_ns, entry.event, decode_actions(entry.actions), entry.pods) for entry in found
    ] == LOGGED
    # The object that was deleted has another number when it comes back.
    assert found[0].event.obj == found[-1].event.obj
    assert sorted(objects) == [*range(len(objects))]
    assert [*rows.entries, *rows.actions, *rows.cycle_ends, *rows.cycle_pods] == []


def test_what_the_events_of_a_block_say_about_a_pod():
    rows = rows_of()
    _, index, block = rows.take(100)
    read = read_again(block, OutcomeBlock)
    found = [*decode_outcomes(index, read, 100, "default/p")]
    assert [(each.index, each.now_ns, each.call) for each in found] == [
        # Names that contain the pod's are decoded as well; whoever reads compares them.
        (102, 7, None),
        (103, 9, 1),
        (104, 9, None),
        (106, 8, None),
    ]
    assert [len(each.actions) for each in found] == [2, 0, 1, 0]
    assert found[0].actions == LOGGED[2][2]
    (call,) = [*decode_outcomes(index, read, 0, "x/y")]
    assert (call.index, call.call, call.actions) == (3, 1, [])


def test_only_events_with_fields_have_columns():
    shapes = {
        cls.__name__: log_events._SHAPES[cls]
        for cls in (ObjectPut, ObjectDeleted, CallDone, CycleDue, FlushBackoff, ExtenderReplied)
    }
    assert shapes == {
        "ObjectPut": log_events._OBJECT, "ObjectDeleted": log_events._OBJECT,
        "CallDone": log_events._CALL, "CycleDue": log_events._PLAIN,
        "FlushBackoff": log_events._PLAIN, "ExtenderReplied": log_events._OTHER,
    }  # fmt: skip


def test_events_of_a_newer_podwright_are_named():
    _, index, block = rows_of().take(100)
    block.kind_names[block.kinds[2]] = "FutureEvent"
    read = read_again(block, EventBlock)
    with pytest.raises(LogError, match=r"^s has events that podwright .* not know: \['FutureEv"):
        [*decode_events(index, read, 0, {}, source="s")]


# ------------------------------------------------------------------------------ checkpoints


def memory(index: int) -> MemoryCheckpoint:
    return MemoryCheckpoint(head(first=index, length=1), b"x")


def state(index: int) -> KeptState:
    return KeptState(index, b"", {}, 0)


def test_the_last_state_before_an_event_is_found_among_both_kinds():
    kept = MemoryCheckpoints()
    assert kept.before(None) is None
    for index in (9, 3):
        kept.add(memory(index))
    assert [each.index for each in kept] == [3, 9]
    kept.states.extend([state(5), state(9)])
    found = {index: kept.before(index) for index in (2, 3, 4, 5, 8, 9, 10, None)}
    assert {index: each and each.index for index, each in found.items()} == {
        2: None, 3: 3, 4: 3, 5: 5, 8: 5, 9: 9, 10: 9, None: 9,
    }  # fmt: skip
    # Of two at one event, the one that is not encoded.
    assert isinstance(found[9], KeptState)
    # Only the last two are kept with their objects.
    kept.states.append(state(11))
    assert [each.index for each in kept.states] == [9, 11]
    kept.drop_before(9)
    assert [each.index for each in kept] == [9]
    assert [each.index for each in kept.states] == [9, 11]
    kept.drop_before(10)
    assert ([*kept], [each.index for each in kept.states]) == ([], [11])
    kept.states.append(state(12))
    kept.states.append(state(13))
    assert [each.index for each in kept.states] == [12, 13]


def test_a_checkpoint_is_the_same_after_it_was_bytes():
    checkpoint = memory(7)
    again = MemoryCheckpoint.decode(checkpoint.encode())
    assert (again, again.index) == (checkpoint, 7)


def test_objects_before_a_checkpoint_are_read_when_one_is_referred_to():
    calls: list[int] = []

    def read() -> Any:
        calls.append(1)
        return {1: "older", 2: "replaced"}

    objects: Any = MemoryCheckpointObjects([(2, "kept")], read)  # type: ignore[list-item]
    assert (objects[2], calls) == ("kept", [])
    assert (objects[1], objects[2], calls) == ("older", "kept", [1])
    with pytest.raises(KeyError):
        objects[3]
    assert calls == [1]


# ------------------------------------------------------------------------------ cases


def test_a_case_as_text_is_the_log_of_one_cycle(tmp_path):
    run = Recorded()
    run.put(make_node("n1", cpu="1"))
    for name in ("one", "two"):
        run.attempt(make_pod(name, cpu="1"))
    log = run.run.log
    text = case_text(log, find_cycle(log, "default/two"), sources={"p.py": "x = '''1'''\n"})
    parsed = ast.parse(text)
    values = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in parsed.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    assert ast.get_docstring(parsed) == (
        "Attempt 1 of pod default/two in a recorded run; needs podwright and pytest."
    )
    assert values["POD"] == "default/two"
    assert values["EXPECTED"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert values["PLUGINS"] == {"p.py": "x = '''1'''\n"}
    assert all(len(line) <= 76 for line in values["CASE"].splitlines())
    assert text.count("def test_") == 1
    assert "check_saved_case(CASE, pod=POD, expected=EXPECTED, plugins=PLUGINS)" in text
    decode_case(values["CASE"], tmp_path / "case")
    with DecisionLog.open(tmp_path / "case") as saved:
        past = find_cycle(saved, "default/two")
        assert past.explain().decision.message == values["EXPECTED"]
        assert [pod for _, pod in saved.cycles()] == ["default/two"]
    placed = case_text(log, find_cycle(log, "default/one"), sources={})
    assert "\nEXPECTED = 'n1'\nPLUGINS = {\n}\n" in placed


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("a\n\tb", True),
        ("a \\ b", True),
        ("", True),
        ("it's", True),
        ("'''", False),
        ("a'", False),
        ("a\\", False),
        ("a\rb", False),
        ("a\x00", False),
    ],
)
def test_a_text_in_a_case_is_as_it_was(text, is_plain):
    literal = _literal(text)
    assert ast.literal_eval(literal) == text
    assert (literal == f"r'''{text}'''") is is_plain


def test_a_cycle_whose_state_cannot_be_saved_needs_the_whole_log(tmp_path, monkeypatch):
    run = Recorded(Quota)
    run.put(make_node("n1", cpu="64"))
    for number in range(MOST):
        run.attempt(make_pod(f"p{number}"))
    log = run.run.log
    past = find_cycle(log, f"default/p{MOST - 1}", plugins=[Quota])
    begin = past.run.index
    monkeypatch.setattr(DecisionLog, "first", 2)
    with pytest.raises(LogError) as error:
        save_cycle(log, past, tmp_path, plugins=[Quota])
    assert str(error.value) == (
        f"the state before event {begin} cannot be saved, and the log has lost the events before 2"
    )


# ------------------------------------------------------------------------------ samples


def amounts(**resources: tuple[list[int], list[int]]) -> NodeAmounts:
    """Return the amounts of nodes: allocatable and requested of each resource."""
    found = NodeAmounts()
    found.columns = {name: column for column, name in enumerate(resources)}
    found.allocatable = np.array([each[0] for each in resources.values()], dtype=np.int64).T
    found.requested = np.array([each[1] for each in resources.values()], dtype=np.int64).T
    return found


def test_nodes_are_counted_by_the_share_that_is_requested():
    shares = NodeShares()
    assert shares.columns == {"time": [], "resource": [], "nodes": []}
    # 9, 10, 99, 100 and 150 percent; the last node has none of it.
    shares.sampled(
        7, amounts(cpu=([100] * 5 + [0], [9, 10, 99, 100, 150, 5]), gpu=([0] * 6, [0] * 6))
    )
    shares.sampled(9, amounts(cpu=([4], [0]), gpu=([1], [1])))
    assert shares.columns == {
        "time": [7, 9, 9],
        "resource": ["cpu", "cpu", "gpu"],
        "nodes": [
            [1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2],
            [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ],
    }


def test_the_tables_of_a_log_are_those_of_its_run():
    run = Recorded()
    run.put(make_node("n1", cpu="2"))
    created = "1970-01-01T00:00:00Z"
    one = with_fields(make_pod("one", cpu="1"), "metadata", creation_timestamp=created)
    run.attempt(one)
    run.attempt(make_pod("big", cpu="9"))
    run.now_ns = 10 * SECOND_NS
    run.remove(run.pods["default/one"])
    found = tables_of_log(run.run.log, SECOND_NS, 30 * SECOND_NS)
    rows = found.rows()
    assert list(
        zip(
            *(rows["decisions"][name] for name in ("time", "pod", "attempt", "result", "node")),
            strict=True,
        )
    ) == [
        (SECOND_NS, "one", 1, "Scheduled", "n1"),
        (2 * SECOND_NS, "big", 1, "Unschedulable", None),
    ]
    waits = {pod: index for index, pod in enumerate(rows["waits"]["pod"])}
    ended = {pod: rows["waits"]["ended"][index] for pod, index in waits.items()}
    assert ended == {"one": SECOND_NS, "big": 30 * SECOND_NS}
    cpu = [
        (time, requested)
        for time, resource, requested in zip(
            *(rows["utilization"][name] for name in ("time", "resource", "requested")), strict=True
        )
        if resource == "cpu"
    ]
    assert cpu == [(0, 0), (SECOND_NS, 1000), (10 * SECOND_NS, 0), (30 * SECOND_NS, 0)]
    assert found.counts.created == 2


def test_a_saved_folder_is_all_that_a_case_has(tmp_path: Path):
    (tmp_path / "b").write_bytes(b"2")
    (tmp_path / "a").write_bytes(b"1" * 500)
    text = encode_case(tmp_path)
    assert {len(line) for line in text.splitlines()[:-1]} == {76}
    decode_case(text, tmp_path / "again")
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == {
        "a": b"1" * 500, "b": b"2",
    }  # fmt: skip


class Reluctant(io.BytesIO):
    """A file that takes three bytes at once."""

    writes = 0

    def write(self, data: Any) -> int:
        self.writes += 1
        assert self.writes < 9, "it writes on and on"
        return super().write(data[:3])


@pytest.mark.parametrize("data", [b"", b"012", b"0123456789"])
def test_a_file_that_takes_parts_gets_the_whole(data):
    file = Reluctant()
    _write_whole(file, data, 0)
    assert file.getvalue() == data
