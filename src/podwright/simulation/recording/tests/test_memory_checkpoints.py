"""In-memory checkpoints of a log: a reader starts at them, and finds the same."""

import msgspec
import pytest

from podwright.scheduler.machine import ObjectDeleted, ObjectPut
from podwright.simulation.recording import explanation_document, find_cycle, record, recorded_view
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import CHECKPOINT, FrameHead
from podwright.simulation.recording.log.log_objects import ObjectWriter
from podwright.simulation.recording.log.memory_checkpoints import (
    MEMORY_CHECKPOINTS_MAX,
    MemoryCheckpoint,
    MemoryCheckpointObjects,
    MemoryCheckpoints,
    kept_state,
)
from podwright.simulation.recording.log.replay import Replay, replay
from podwright.simulation.recording.tests.recording import Recorded
from podwright.testing import make_node, make_pod

BY_HAND = 1 << 40


def a_run(count=30, memory_checkpoints_after=(), checkpoint_after=()):
    run = Recorded()
    run.run = record(None, checkpoint_events=BY_HAND)
    run.put(make_node("n1", cpu="12"), make_node("n2", cpu="12"))
    for number in range(count):
        run.put(make_pod(f"p{number:02}", cpu="1"))
        run.cycle()
        if number in checkpoint_after:
            assert run.run.log.checkpoint(run.run.machine, is_whole=True)
        if number in memory_checkpoints_after:
            keep(run)
    return run


def keep(run):
    log = run.run.log
    checkpoint = log.memory_checkpoint(run.run.machine)
    assert checkpoint is not None
    log.keep_memory_checkpoint(checkpoint)


def explanations(log: DecisionLog) -> list[bytes]:
    found = []
    for pod in dict.fromkeys(pod for _, pod in log.cycles()):
        past = find_cycle(log, pod)
        view = recorded_view(past, log, start_ns=0, end_ns=log.time_of(len(log) - 1))
        found.append(msgspec.json.encode(explanation_document(view)))
    return found


@pytest.mark.parametrize("checkpoint_after", [(), (5, 17)], ids=["alone", "and checkpoints"])
def test_all_attempts_are_explained_the_same_from_memory_checkpoints(checkpoint_after):
    plain = a_run(checkpoint_after=checkpoint_after).run.log
    log = a_run(memory_checkpoints_after=(3, 10, 17, 24), checkpoint_after=checkpoint_after).run.log
    assert len(log.memory_checkpoints) == 4
    expected = explanations(plain)
    assert len(expected) == 30
    assert explanations(log) == expected


def test_a_replay_starts_at_the_last_memory_checkpoint_before_its_end():
    log = a_run(memory_checkpoints_after=(3, 10)).run.log
    early, late = log.memory_checkpoints
    assert Replay(log, until=late + 1).index == late
    assert Replay(log, until=late).index == late
    assert Replay(log, until=late - 1).index == early
    assert Replay(log, until=early - 1).index == 0
    assert log.last_start == late


def test_a_later_checkpoint_is_preferred():
    log = a_run(memory_checkpoints_after=(3,), checkpoint_after=(10,)).run.log
    assert Replay(log).index == log.checkpoints[0] == log.last_start > log.memory_checkpoints[0]


def test_events_after_a_memory_checkpoint_may_refer_to_objects_that_the_machine_has_replaced():
    run = a_run(count=2)
    old = make_node("n1", cpu="12", labels={"old": "1"})
    run.tell(ObjectPut(old))
    run.tell(ObjectPut(make_node("n1", cpu="12", labels={"old": "2"})))
    keep(run)
    run.tell(ObjectPut(old))
    run.tell(ObjectDeleted(old))
    log = run.run.log
    objects = [entry.event.obj for entry in log.entries(log.memory_checkpoints[0])]
    assert objects == [old, old]
    assert objects[0] is objects[1]


def test_memory_checkpoints_are_dropped_with_the_events_before_them():
    log = a_run(memory_checkpoints_after=(3, 10, 24), checkpoint_after=(17,)).run.log
    assert len(log.memory_checkpoints) == 3
    first = log.drop_before_checkpoint()
    assert [index >= first for index in log.memory_checkpoints] == [True]


def test_a_memory_checkpoint_of_events_that_were_dropped_meanwhile_is_not_kept():
    run = a_run(count=5)
    log, machine = run.run.log, run.run.machine
    late = log.memory_checkpoint(machine)
    run.attempt(make_pod("after"))
    assert log.checkpoint(machine, is_whole=True)
    assert log.drop_before_checkpoint() > 0
    log.keep_memory_checkpoint(late)
    assert log.memory_checkpoints == ()
    assert Replay(log).index == log.first


def test_the_last_memory_checkpoint_and_a_spread_of_the_others_are_kept():
    checkpoints = MemoryCheckpoints()
    for number in range(1, 101):
        head = FrameHead(
            kind=CHECKPOINT, length=0, checksum=0, first=number * 10, count=0, first_ns=0, last_ns=0
        )
        checkpoints.add(MemoryCheckpoint(head, b""))
        assert [*checkpoints][-1].index == number * 10
    kept = [checkpoint.index for checkpoint in checkpoints]
    assert len(kept) == MEMORY_CHECKPOINTS_MAX
    gaps = [after - before for before, after in zip([0, *kept], kept, strict=False)]
    assert max(gaps) <= 160
    assert checkpoints.before(9) is None
    last = checkpoints.before(None)
    assert last is not None
    assert last.index == 1000


@pytest.mark.parametrize(
    ("first", "dropped"),
    [
        pytest.param(10, 10, id="of equal gaps the first"),
        pytest.param(11, 21, id="the first gap is larger by one"),
        pytest.param(9, 9, id="the first gap is smaller by one"),
    ],
)
def test_the_checkpoint_is_dropped_without_which_the_gap_is_the_smallest(first, dropped):
    """The first gap begins with the log."""
    checkpoints = MemoryCheckpoints()
    indexes = [first + 10 * number for number in range(MEMORY_CHECKPOINTS_MAX + 1)]
    for index in indexes:
        head = FrameHead(
            kind=CHECKPOINT, length=0, checksum=0, first=index, count=0, first_ns=0, last_ns=0
        )
        checkpoints.add(MemoryCheckpoint(head, b""))
    assert [each.index for each in checkpoints] == [each for each in indexes if each != dropped]


@pytest.mark.parametrize("count", [0, 3])
def test_a_replay_starts_at_a_kept_state_and_finds_the_same(count):
    plain, run = a_run(count=5), a_run(count=5)
    run.run.log.keep_state(run.run.machine)
    state = run.run.log.last_state
    assert run.run.log.states == (state,)
    for each in (plain, run):
        for number in range(count):
            each.put(make_pod(f"q{number}", cpu="1"))
            each.cycle()
    assert Replay(run.run.log).index == state == run.run.log.last_state
    found, expected = (
        [(placed.pod.key, placed.slot) for placed in replay(each.run.log).cluster.pods.values()]
        for each in (run, plain)
    )
    assert found == expected
    assert len(found) == 5 + count


def test_objects_that_a_log_does_not_have_get_numbers_beyond_its_own():
    run = Recorded()
    run.put(make_node("n1"), make_node("n2"), make_node("n3"))
    state = kept_state(run.run.machine, ObjectWriter(), index=0)
    assert sorted(state.objects) == [1 << 40, (1 << 40) + 1, (1 << 40) + 2]
    assert [obj.key for obj in state.objects.values()] == ["n1", "n2", "n3"]
    assert state.object_count == 0


def test_other_objects_are_read_once_when_one_of_them_is_needed():
    first, second, other = (make_node(name) for name in "abc")
    reads = []

    def read_others():
        reads.append(1)
        return {1: other, 2: second}

    objects = MemoryCheckpointObjects([(1, first)], read_others)
    assert objects[1] is first
    assert reads == []
    assert objects[2] is second
    assert objects[1] is first, "what the checkpoint has is newer"
    for number in (3, 3):
        with pytest.raises(KeyError) as raised:
            objects[number]
        assert raised.value.args == (number,)
    assert reads == [1]
    with pytest.raises(KeyError):
        MemoryCheckpointObjects([], dict)[1]
