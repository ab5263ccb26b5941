"""A log in memory drops its oldest events, up to a checkpoint that needs no other."""

import pickle

import msgspec
import pytest

from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.simulation.recording import explain_cycle, record
from podwright.simulation.recording.explanations.explain import UnknownCycle
from podwright.simulation.recording.log.replay import Replay
from podwright.simulation.recording.tests.recording import Recorded
from podwright.testing import make_node, make_pod

BY_HAND = 1 << 40


def a_run(count=30, checkpoint_after=()):
    run = Recorded()
    run.run = record(None, checkpoint_events=BY_HAND)
    run.put(make_node("n1", cpu="100"), make_node("n2", cpu="100"))
    for number in range(count):
        run.put(make_pod(f"p{number:02}", cpu="1"))
        run.cycle()
        if number in checkpoint_after:
            assert run.run.log.checkpoint(run.run.machine, is_whole=True)
    return run


def test_what_is_kept_is_replayed_and_explained():
    run = a_run(checkpoint_after=(9, 19))
    log = run.run.log
    whole = list(log.entries())
    first = log.drop_before_checkpoint()
    assert log.first == first == log.checkpoints[0] > 0
    kept = list(log.entries())
    assert [each.index for each in kept] == list(range(first, len(log)))
    assert [each.actions for each in kept] == [each.actions for each in whole[first:]]
    assert len(log) == len(whole)
    for copy in (log.copy(), pickle.loads(pickle.dumps(log))):
        assert (copy.first, len(copy)) == (first, len(whole))
        assert [each.index for each in copy.entries(copy.first)] == [each.index for each in kept]
    assert explain_cycle(log, "default/p25").decision.node in ("n1", "n2")
    with pytest.raises(UnknownCycle):
        explain_cycle(log, "default/p05")
    replayed = Replay(log)
    replayed.run_to(len(log))
    assert replayed.machine.pod("default/p29") is not None


def test_so_many_of_the_last_events_are_kept():
    run = a_run(checkpoint_after=(9, 19))
    log = run.run.log
    early, late = log.checkpoints
    assert log.drop_before_checkpoint(len(log) - late + 1) == early
    assert log.drop_before_checkpoint(len(log)) == early


def test_events_of_so_many_bytes_are_enough_and_checkpoints_do_not_count():
    run = a_run(checkpoint_after=(9, 19))
    log = run.run.log
    log.flush()  # events have a size then
    early, late = log.checkpoints
    everything = log.size_bytes
    assert log.drop_before_checkpoint(len(log), everything) == 0
    assert log.drop_before_checkpoint(len(log), 1) == late > early
    kept = log.size_bytes
    assert kept < everything
    # Those after the checkpoint, which is a part of the size.
    assert log.drop_before_checkpoint(len(log), kept) == late


def test_all_that_was_before_the_checkpoint_is_released():
    run = Recorded()
    run.run = record(None, checkpoint_events=BY_HAND)
    log = run.run.log
    head = log.size_bytes
    for name in ("n1", "n2", "n3"):
        run.put(make_node(name))
        log.flush()
    before = log.size_bytes
    assert log.checkpoint(run.run.machine, is_whole=True)
    kept = log.size_bytes - before
    assert log.drop_before_checkpoint() == 3
    assert log.size_bytes == head + kept


def test_nothing_is_dropped_without_a_whole_checkpoint():
    run = a_run()
    log = run.run.log
    log.checkpoint(run.run.machine)
    for number in range(5):
        run.put(make_pod(f"later-{number}", cpu="1"))
    log.checkpoint(run.run.machine)
    # The first one is whole, the second one needs it.
    assert log.drop_before_checkpoint() == log.checkpoints[0]
    assert len(log.checkpoints) == 2


class Remembers(Plugin):
    """Has state that no checkpoint has."""

    name = "Remembers"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        self.seen.append(cycle.pod.metadata.name)
        return Status.OK


def test_a_checkpoint_without_the_machine_does_not_stand_for_what_was_before():
    run = Recorded(
        Remembers, profiles=[{"plugins": {"reserve": {"enabled": [{"name": "Remembers"}]}}}]
    )
    log = run.run.log
    run.attempt(make_node("n1"), make_pod("a"))
    assert log.checkpoint(run.run.machine, is_whole=True)
    run.attempt(make_pod("b"))
    assert log.checkpoints == ()
    assert log.drop_before_checkpoint() == log.first == 0
    assert len(list(log.entries())) == len(log)


def test_replaced_and_deleted_objects_are_released():
    run = Recorded()
    node = make_node("n1", cpu="100")
    for number in range(40):
        metadata = msgspec.structs.replace(
            node.metadata, uid="node-uid", labels={"version": str(number)}
        )
        run.put(msgspec.structs.replace(node, metadata=metadata))
        pod = make_pod(f"p{number}", cpu="1")
        metadata = msgspec.structs.replace(pod.metadata, uid=f"uid-{number}")
        pod = msgspec.structs.replace(pod, metadata=metadata)
        run.put(pod)
        run.cycle()
        run.remove(pod)
        run.run.log.flush()
        assert len(run.run.log.objects()) <= 2
    replayed = Replay(run.run.log)
    replayed.run_to(len(run.run.log))
    assert replayed.machine.pod("default/p39") is None
