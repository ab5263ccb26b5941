"""The log on disk: what it refuses, what it cuts off, and that it gives back what it got."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys

import pytest

from podwright._private_files import open_private
from podwright._version import __version__
from podwright.apimachinery.objects import with_fields, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CycleDue,
    ObjectDeleted,
    ObjectPut,
    PodRejected,
    TimerFired,
)
from podwright.simulation.recording.log import log_files
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import (
    SEGMENT_HEAD_BYTES,
    LogError,
    Setup,
    decode_actions,
    segment_head,
)
from podwright.testing import make_node, make_pod

SECOND_NS = 1_000_000_000


def events():
    pod = make_pod("web", cpu="1", labels={"app": "web"})
    # Its document says something else than its fields, as a driver may leave it.
    odd = with_fields(make_pod("odd"), "metadata", uid="other")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"a": "Yg=="},
    }
    volume = decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "v"},
            "spec": {"capacity": {"storage": "1Gi"}, "unknownField": [1, None, {"x": 1.5}]},
        }
    )
    return [
        ObjectPut(make_node("n1", taints=["a=b:NoSchedule"])),
        ObjectPut(pod),
        ObjectPut(odd),
        CycleDue(),
        ObjectPut(with_node_name(pod, "n1")),
        CallDone(1),
        CallDone(2, CallError("conflict", "Conflict")),
        CallDone(3, obj=volume),
        ObjectPut(decode(secret)),
        ObjectPut(pod),
        PodRejected("default/web", "Gate", "not today"),
        TimerFired(),
        ObjectDeleted(pod),
    ]


def write(folder, **options):
    log = DecisionLog.create(folder, Setup(seed=3), **options)
    for index, event in enumerate(events()):
        actions = [Bind(index, "default/web", "u", "n1")] if index % 3 == 0 else []
        assert log.append(index * SECOND_NS, event, actions, pod="") == index
    return log


def segments(folder):
    return sorted(folder.glob("*.pwlog"))


@pytest.mark.parametrize("block_events", [1, 5, 1_000])
@pytest.mark.parametrize("compression", [0, 1])
def test_events_are_read_back_unchanged(tmp_path, block_events, compression):
    write(tmp_path, block_events=block_events, compression=compression).close()
    with DecisionLog.open(tmp_path) as log:
        entries = list(log.entries())
        assert log.setup.seed == 3
        assert log.header.podwright == __version__
    assert [entry.event for entry in entries] == events()
    assert [entry.now_ns for entry in entries] == [i * SECOND_NS for i in range(len(entries))]
    assert [len(decode_actions(entry.actions)) for entry in entries] == [
        int(i % 3 == 0) for i in range(len(entries))
    ]


def test_a_part_of_a_log_is_read_by_number_and_by_time(tmp_path):
    log = write(tmp_path, block_events=100)
    assert log.index_at_ns(5 * SECOND_NS) == 6, "of events that are not written yet"
    log.close()
    log = write(tmp_path / "blocks", block_events=4)
    assert [entry.index for entry in log.entries(5, 8)] == [5, 6, 7]
    assert log.index_at_ns(-1) == 0
    assert log.index_at_ns(5 * SECOND_NS) == 6
    assert log.index_at_ns(5 * SECOND_NS + 1) == 6
    assert log.index_at_ns(10**18) == len(log) == 13
    log.close()


def test_a_full_segment_is_followed_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(log_files, "SEGMENT_LIMIT_BYTES", 600)
    write(tmp_path, block_events=2).close()
    assert len(segments(tmp_path)) > 1
    assert [e.event for e in DecisionLog.open(tmp_path).entries()] == events()
    segments(tmp_path)[0].unlink()
    with pytest.raises(LogError, match="is segment 1 of its log, not 0; a file is missing"):
        DecisionLog.open(tmp_path)


def test_every_flushed_event_outlives_a_writer_that_dies(tmp_path):
    log = write(tmp_path, block_events=4)
    # Twelve of thirteen events are in whole blocks; the last one was not acknowledged.
    assert len(list(DecisionLog.open(tmp_path).entries())) == 12
    log.flush(sync=True)
    assert len(list(DecisionLog.open(tmp_path).entries())) == 13
    log.close()


@pytest.mark.parametrize("lost", [1, 10, 200])
def test_a_partial_block_is_ignored_and_truncated_by_the_next_writer(tmp_path, lost):
    write(tmp_path, block_events=4).close()
    (segment,) = segments(tmp_path)
    data = segment.read_bytes()
    segment.write_bytes(data[:-lost])
    with DecisionLog.open(tmp_path) as log:
        assert len(list(log.entries())) == 12
    assert segment.read_bytes() == data[:-lost]
    with DecisionLog.open(tmp_path, append=True) as log:
        assert log.append(99 * SECOND_NS, CycleDue(), []) == 12
    assert len(list(DecisionLog.open(tmp_path).entries())) == 13


def flip(segment, offset):
    data = bytearray(segment.read_bytes())
    data[offset] ^= 0xFF
    segment.write_bytes(data)
    return bytes(data)


@pytest.mark.parametrize("append", [False, True])
def test_a_damaged_block_is_refused_and_not_changed(tmp_path, append):
    write(tmp_path, block_events=4).close()
    (segment,) = segments(tmp_path)
    data = flip(segment, segment.stat().st_size // 2)
    with pytest.raises(LogError, match=r"is damaged.*it was left as it is"):
        list(DecisionLog.open(tmp_path, append=append).entries())
    assert segment.read_bytes() == data


def test_a_damaged_length_is_not_read_as_a_partial_block(tmp_path):
    write(tmp_path, block_events=4).close()
    (segment,) = segments(tmp_path)
    data = flip(segment, SEGMENT_HEAD_BYTES + 6)
    with pytest.raises(LogError, match="is damaged at byte 24"):
        DecisionLog.open(tmp_path, append=True)
    assert segment.read_bytes() == data


def test_a_newer_format_is_refused_and_not_changed(tmp_path):
    write(tmp_path).close()
    (segment,) = segments(tmp_path)
    data = bytearray(segment.read_bytes())
    struct.pack_into("<H", data, 16, 7)
    segment.write_bytes(data)
    with pytest.raises(LogError, match=r"is written in format 7;.*Use a newer podwright"):
        DecisionLog.open(tmp_path, append=True)
    assert segment.read_bytes() == data


def test_an_older_format_is_refused_and_not_changed(tmp_path):
    write(tmp_path).close()
    (segment,) = segments(tmp_path)
    data = bytearray(segment.read_bytes())
    struct.pack_into("<H", data, 16, 1)
    segment.write_bytes(data)
    with pytest.raises(LogError, match=r"is written in format 1, which was never released"):
        DecisionLog.open(tmp_path, append=True)
    assert segment.read_bytes() == data


@pytest.mark.parametrize("until", [4, 8, 12, 13])
def test_a_log_is_truncated_at_the_end_of_a_block(tmp_path, until):
    write(tmp_path, block_events=4).close()
    (segment,) = segments(tmp_path)
    data = segment.read_bytes()
    with DecisionLog.open(tmp_path, until=until) as log:
        assert [entry.event for entry in log.entries()] == events()[:until]
    with DecisionLog.open(tmp_path, append=True, until=until) as log:
        assert segment.read_bytes() == data, "nothing was written yet"
        assert log.append(99 * SECOND_NS, CycleDue(), []) == until
    assert [e.event for e in DecisionLog.open(tmp_path).entries()] == [
        *events()[:until],
        CycleDue(),
    ]


@pytest.mark.parametrize("append", [False, True])
def test_a_log_is_not_truncated_inside_a_block(tmp_path, append):
    write(tmp_path, block_events=4).close()
    (segment,) = segments(tmp_path)
    data = segment.read_bytes()
    with pytest.raises(LogError, match=r"to 6 events: no block ends there, .* ends at 4; it was"):
        DecisionLog.open(tmp_path, append=append, until=6)
    assert segment.read_bytes() == data
    DecisionLog.open(tmp_path, append=True).close()


def test_a_log_keeps_its_block_sizes_when_it_is_appended_to(tmp_path):
    log = write(tmp_path, block_events=4)
    assert log.ends == (0, 4, 8, 12)
    log.close()
    with DecisionLog.open(tmp_path, append=True, until=12) as again:
        for index in range(12, 17):
            again.append(index * SECOND_NS, CycleDue(), [])
        assert again.ends == (0, 4, 8, 12, 16)


@pytest.mark.parametrize("open_again", [DecisionLog.open, DecisionLog.create])
def test_a_log_has_one_writer_at_a_time(tmp_path, open_again):
    log = write(tmp_path)
    message = "is locked: another process is writing to it|already holds a decision log"
    with pytest.raises(LogError, match=message):
        open_again(tmp_path, **({"append": True} if open_again == DecisionLog.open else {}))
    log.flush()
    assert len(DecisionLog.open(tmp_path)) == 13, "it can be read meanwhile"
    log.close()
    DecisionLog.open(tmp_path, append=True).close()


class Full:
    """A file on a disk that has room for so many bytes more."""

    def __init__(self, file, room_bytes):
        self.file, self.room_bytes = file, room_bytes

    def write(self, data):
        if not self.room_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self.file.write(data[: self.room_bytes])
        self.room_bytes -= written
        return written

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("room_bytes", [0, 1, 70])
def test_a_failed_write_of_a_block_is_repeated_when_there_is_space(tmp_path, room_bytes):
    log = write(tmp_path / "full", block_events=100)
    (segment,) = segments(tmp_path / "full")
    data, file = segment.read_bytes(), log._medium._file
    log._medium._file = Full(file, room_bytes)
    for _ in range(2):
        with pytest.raises(LogError, match="cannot be written: No space left on device; what was"):
            log.flush()
        assert segment.read_bytes() == data, "it ends where it ended"
        assert len(log) == 13
    log._medium._file = file
    assert log.time_of(12) == 12 * SECOND_NS, "the block is written to be read"
    log.close()
    write(tmp_path / "roomy", block_events=100).close()
    (other,) = segments(tmp_path / "roomy")
    assert segment.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("room_bytes", [None, 0, 1, SEGMENT_HEAD_BYTES])
def test_a_segment_that_could_not_begin_is_begun_again_when_there_is_space(
    tmp_path, room_bytes, monkeypatch
):
    monkeypatch.setattr(log_files, "SEGMENT_LIMIT_BYTES", SEGMENT_HEAD_BYTES)

    def full(path, *options, **more):
        if room_bytes is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return Full(open_private(path, *options, **more), room_bytes)

    log = write(tmp_path, block_events=100)
    begun = len(segments(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(log_files, "open_private", full)
        for _ in range(2):
            with pytest.raises(LogError, match="cannot be written: No space left on device"):
                log.flush()
            assert len(DecisionLog.open(tmp_path)) == 0, "what was written can be read"
    log.close()
    assert len(segments(tmp_path)) > begun
    assert [entry.event for entry in DecisionLog.open(tmp_path).entries()] == events()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "holds no decision log", id="an empty folder"),
        pytest.param(b"", "is too short to be a decision log", id="an empty file"),
        pytest.param(b"x" * 100, "is not a decision log", id="another file"),
        pytest.param(segment_head(0), "has no header", id="nothing but the head"),
    ],
)
def test_files_that_are_not_a_log_are_refused(tmp_path, content, message):
    if content is not None:
        (tmp_path / "00000000.pwlog").write_bytes(content)
    with pytest.raises(LogError, match=message):
        DecisionLog.open(tmp_path)


def test_a_log_is_not_created_in_a_folder_with_a_log(tmp_path):
    write(tmp_path).close()
    with pytest.raises(LogError, match="already holds a decision log"):
        DecisionLog.create(tmp_path)


def test_the_cycles_of_a_pod_are_found(tmp_path):
    with DecisionLog.create(tmp_path, block_events=2) as log:
        for index, pod in enumerate(["", "default/a", "default/b", "default/a"]):
            log.append(index, CycleDue(), [], pod=pod)
        assert log.cycles_of("default/a") == [1, 3]
        assert [entry.pod for entry in log.entries()] == ["", "default/a", "default/b", "default/a"]


def test_the_cycle_of_a_group_is_found_by_every_member(tmp_path):
    with DecisionLog.create(tmp_path, block_events=2) as log:
        log.append(0, CycleDue(), [], pods=["default/a", "default/b"])
        log.append(1, CycleDue(), [], pod="default/b")
        assert log.cycles_of("default/a") == [0]
        assert log.cycles_of("default/b") == [0, 1]
        assert next(log.entries()).pods == ("default/a", "default/b")


def test_a_log_in_memory_encodes_events_when_they_are_read():
    log = write(None, block_events=3)
    assert len(log) == len(log.rows) == 13
    assert [entry.event for entry in log.entries()] == events()
    assert len(log) == 13
    assert not len(log.rows)


def test_a_saved_log_equals_a_log_written_to_a_folder(tmp_path):
    log = write(None, block_events=4)
    log.save(tmp_path / "saved")
    write(tmp_path / "written", block_events=4).close()
    saved, written = (segments(tmp_path / name) for name in ("saved", "written"))
    assert [file.read_bytes() for file in saved] == [file.read_bytes() for file in written]
    log.append(99 * SECOND_NS, CycleDue(), [])
    with pytest.raises(LogError, match="already holds a decision log"):
        log.save(tmp_path / "saved")
    log.save(tmp_path / "later")
    assert len(DecisionLog.open(tmp_path / "later")) == 14


WRITER = """
import sys
from podwright.scheduler.machine import CycleDue
from podwright.simulation.recording.log.decision_log import DecisionLog

log = DecisionLog.create(sys.argv[1], block_events=7)
for index in range(10_000_000):
    log.append(index, CycleDue(), [])
    if index % 5 == 0:
        log.flush()
        print(len(log), flush=True)
"""


def test_nothing_that_was_acknowledged_is_lost_when_the_writer_is_killed(tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(200)]
        writer.kill()
        acknowledged += [int(line) for line in writer.stdout if line.endswith("\n")]
    with DecisionLog.open(folder, append=True) as log:
        assert len(log) >= acknowledged[-1]
        assert [entry.now_ns for entry in log.entries()] == list(range(len(log)))
        log.append(len(log), CycleDue(), [])
