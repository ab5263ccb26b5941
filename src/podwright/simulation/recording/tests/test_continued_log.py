"""A log that is closed and continued equals one that was never closed."""

from __future__ import annotations

import pickle
import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.objects import with_fields
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.machine import CycleDue, ObjectDeleted, ObjectPut
from podwright.simulation.recording.folders.recorded_state import resume
from podwright.simulation.recording.log import decision_log, log_files
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import LogError, Setup
from podwright.simulation.recording.log.record import Recorder, options_of
from podwright.testing import make_node, make_pod

EVENTS = [
    event
    for number in range(12)
    for event in (
        ObjectPut(make_node(f"n{number}", cpu="4")),
        ObjectPut(make_pod(f"p{number}", cpu="1")),
        *((ObjectDeleted(make_pod(f"p{number - 1}", cpu="1")),) if number % 3 == 2 else ()),
        # A pod of the uid of one that was deleted.
        *((ObjectPut(make_pod(f"p{number - 2}", cpu="2")),) if number % 6 == 3 else ()),
    )
]


def begun(folder, **options):
    log = DecisionLog.create(folder, Setup(), **options)
    return Recorder(machine_of(options_of(log.setup)), log)


def handled(recorder, first, end):
    for number in range(first, end):
        recorder.handle(EVENTS[number], number)
    return recorder


def contents(folder):
    return [file.read_bytes() for file in sorted(folder.glob("*.pwlog"))]


@pytest.mark.parametrize(
    ("checkpoint_events", "checkpoints"), [(5, (5, 10, 15, 20, 25)), (100, ())]
)
def test_a_log_that_is_continued_has_the_bytes_of_one_that_was_never_closed(
    tmp_path, checkpoint_events, checkpoints
):
    recorder = begun(tmp_path / "whole", block_events=4, checkpoint_events=checkpoint_events)
    handled(recorder, 0, len(EVENTS)).log.close()
    whole = DecisionLog.open(tmp_path / "whole")
    assert whole.checkpoints == checkpoints
    for end in whole.ends[:-1]:
        folder = tmp_path / f"{end}"
        shutil.copytree(tmp_path / "whole", folder)
        handled(resume(str(folder), until=end), end, len(EVENTS)).log.close()
        assert DecisionLog.open(folder).checkpoints == checkpoints, end
        assert contents(folder) == contents(tmp_path / "whole"), end


def test_a_log_whose_first_checkpoint_is_put_off_is_continued_where_it_was(tmp_path, monkeypatch):
    """By default the first checkpoint comes after so many events for each object."""
    monkeypatch.setattr(decision_log, "CHECKPOINT_EVENTS", 5)
    monkeypatch.setattr(decision_log, "EVENTS_PER_OBJECT", 2)
    handled(begun(tmp_path / "whole", block_events=4), 0, len(EVENTS)).log.close()
    whole = DecisionLog.open(tmp_path / "whole")
    assert 5 < whole.checkpoints[0] < len(EVENTS)
    for end in whole.ends[:-1]:
        folder = tmp_path / f"{end}"
        shutil.copytree(tmp_path / "whole", folder)
        handled(resume(str(folder), until=end), end, len(EVENTS)).log.close()
        assert contents(folder) == contents(tmp_path / "whole"), end


@pytest.mark.parametrize("closed_at", [9, 10, 11, 73, 74, 75, 137, 138, 139])
def test_a_log_whose_checkpoints_are_refused_is_continued_with_the_same_tries(tmp_path, closed_at):
    """The machine cannot be saved at event 10, and is tried again every 64 events."""
    machine: Any = SimpleNamespace(can_snapshot=False)
    with DecisionLog.create(tmp_path, checkpoint_events=10) as log:
        for count in range(1, closed_at + 1):
            log.append(count, CycleDue(), [])
            assert log.is_checkpoint_due == (count in (10, 74, 138))
            log.catch_up(machine)
            assert not log.is_checkpoint_due
    with DecisionLog.open(tmp_path, append=True) as log:
        due = [len(log)] if log.is_checkpoint_due else []
        for count in range(closed_at + 1, 203):
            log.append(count, CycleDue(), [])
            due += [count] * (log.is_checkpoint_due and not due)
        assert due == [next(each for each in (10, 74, 138, 202) if each >= closed_at)]


@pytest.mark.parametrize(
    ("sizes", "block_events"),
    [((10, 3), 3), ((2, 100), 2)],
    ids=["a checkpoint ends a block", "blocks between checkpoints"],
)
def test_a_block_has_at_most_the_events_between_two_checkpoints(sizes, block_events):
    log = DecisionLog.create(None, block_events=sizes[0], checkpoint_events=sizes[1])
    assert log.block_events == block_events


def test_a_log_in_a_folder_is_written_by_blocks_and_is_read_there_by_another_process(tmp_path):
    points = {"default-scheduler": {"filter": ("NodeName",)}}
    with DecisionLog.create(tmp_path, block_events=2, fingerprints=points) as log:
        for number in range(3):
            log.append(number, CycleDue(), [])
        read = DecisionLog.open(tmp_path)
        assert (len(read), len(log.rows), read.header.fingerprints) == (2, 1, points)
        assert log.catch_up(machine_of(options_of(log.setup))) == 2
        assert len(log.rows) == 1
    again = pickle.loads(pickle.dumps(read))
    assert (again._medium.source, len(again)) == (read._medium.source, 3)


def test_the_disk_is_waited_for_on_request_only(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(log_files.Folder, "sync", lambda _: calls.append("sync"))
    with DecisionLog.create(tmp_path) as log:
        log.append(0, CycleDue(), [])
        log.flush()
        assert calls == []
        log.flush(sync=True)
        assert calls == ["sync"]


def test_a_copy_encodes_events_when_they_are_read_and_shares_nothing():
    recorder = begun(None, block_events=2, checkpoint_events=4)
    handled(recorder, 0, 6)
    copy = recorder.log.copy()
    assert len(copy) == 6
    for number in range(5):
        copy.append(number, CycleDue(), [])
    assert (len(copy), len(copy.rows), len(recorder.log)) == (11, 5, 6)
    assert len([*copy.entries()]) == 11
    assert not copy.is_checkpoint_due
    # An object that the log has is referred to, not written again.
    copy.append(9, EVENTS[0], [])
    *_, last = copy.entries()
    assert last.event == EVENTS[0]


def test_the_last_state_is_that_of_the_last_checkpoint_of_any_kind():
    recorder = begun(None)
    log, machine = recorder.log, recorder.machine
    assert (log.last_start, log.last_state) == (0, 0)
    handled(recorder, 0, 3)
    checkpoint = log.memory_checkpoint(machine)
    assert checkpoint is not None
    log.keep_memory_checkpoint(checkpoint)
    handled(recorder, 3, 5)
    log.keep_state(machine)
    assert (log.last_start, log.last_state) == (3, 5)
    handled(recorder, 5, 8)
    assert log.checkpoint(machine)
    assert (log.last_start, log.last_state) == (8, 8)


def test_a_recorder_in_a_folder_writes_a_block_as_soon_as_it_is_full(tmp_path):
    recorder = begun(tmp_path / "log", block_events=4, checkpoint_events=6)
    written = []
    for number in range(13):
        handled(recorder, number, number + 1)
        written.append(len(DecisionLog.open(tmp_path / "log")))
    # The event after a full block writes it; a checkpoint writes what there is.
    assert written == [0, 0, 0, 0, 4, 4, 6, 6, 6, 6, 10, 10, 12]
    assert DecisionLog.open(tmp_path / "log").checkpoints == (6, 12)
    recorder.log.abandon()


def test_only_the_last_segment_may_end_in_the_middle_of_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(log_files, "SEGMENT_LIMIT_BYTES", 600)
    handled(begun(tmp_path, block_events=2), 0, len(EVENTS)).log.close()
    first, *others = sorted(tmp_path.glob("*.pwlog"))
    assert len(others) > 1
    whole = first.read_bytes()
    first.write_bytes(whole[:-1])
    with pytest.raises(LogError, match="ends in the middle of a block, and is not the last"):
        DecisionLog.open(tmp_path)
    first.write_bytes(whole)
    # A writer that ended while it started a segment leaves the last one short.
    for segment in (first, others[0]):
        kept = segment.read_bytes()
        segment.write_bytes(kept[:3])
        with pytest.raises(LogError, match="is too short to be a decision log"):
            DecisionLog.open(tmp_path)
        segment.write_bytes(kept)


def test_objects_without_a_uid_are_told_apart():
    log = DecisionLog.create(None)
    one, other = (with_fields(make_node(name), "metadata", uid="") for name in ("a", "b"))
    for number, obj in enumerate((one, other, one)):
        log.append(number, ObjectPut(obj), [])
    log.flush()
    assert sorted(obj.name for obj in log.objects().values()) == ["a", "b"]
    assert [entry.event for entry in log.entries()] == [*map(ObjectPut, (one, other, one))]
