"""Reader processes make in-memory checkpoints of the decision log, where explanations start."""

import asyncio
import contextlib

import pytest

from podwright.online.apiserver.readers import ReaderFailed, Readers
from podwright.online.apiserver.records import run_collection
from podwright.online.apiserver.records.run_collection import (
    keep_memory_checkpoints,
    make_memory_checkpoint,
)
from podwright.online.apiserver.scheduling import served_scheduler
from podwright.online.apiserver.tests.conftest import pod_created, with_turns
from podwright.simulation.recording import DecisionLog, explain_cycle
from podwright.simulation.recording.log.replay import Replay


def test_a_reader_makes_a_memory_checkpoint_while_the_server_goes_on():
    async def use(turns):
        (scheduler,) = turns.cluster.schedulers
        log = scheduler.world.log
        await pod_created(turns, "before")
        # Not while a binding that plugins take part in is open.
        while not log.memory_checkpoints:
            await make_memory_checkpoint(turns, scheduler)
        await pod_created(turns, "after")
        for name in ("before", "after"):
            bound = turns.cluster.world.machine.pod(f"default/{name}")
            assert explain_cycle(log, f"default/{name}").decision.node == bound.spec.node_name
        after = log.cycles_of("default/after")[0]
        (checkpoint,) = log.memory_checkpoints
        assert log.cycles_of("default/before")[0] < checkpoint <= after
        assert Replay(log, until=after).index == checkpoint == log.last_start

    with_turns(use)


def test_explanations_start_at_the_last_state_before_them(monkeypatch):
    monkeypatch.setattr(served_scheduler, "STATE_EVENTS", 1)
    monkeypatch.setattr(served_scheduler, "STATE_EVENTS_PER_OBJECT", 0)

    async def use(turns):
        (scheduler,) = turns.cluster.schedulers
        world, log = scheduler.world, scheduler.world.log
        for name in ("first", "second", "third"):
            before = log.states
            while log.states == before:  # not while a binding that plugins take part in is open
                scheduler.keep_state()
                await turns.call(lambda _: None)
            await pod_created(turns, name)
        *_, second, third = log.states
        assert len(log.states) == 2, "others are dropped"
        for name, start in (("second", second), ("third", third)):
            (cycle,) = log.cycles_of(f"default/{name}")
            assert Replay(log, until=cycle).index == start
            bound = world.machine.pod(f"default/{name}")
            assert explain_cycle(log, f"default/{name}").decision.node == bound.spec.node_name
        (cycle,) = log.cycles_of("default/first")
        assert Replay(log, until=cycle).index < second
        log.checkpoint(world.machine, is_whole=True)
        log.drop_before_checkpoint(0, 0)
        assert not [index for index in log.states if index < log.first]

    with_turns(use)


def test_checkpoints_are_made_when_enough_has_happened_for_the_size_of_the_cluster(
    monkeypatch,
):
    async def use(turns):
        (scheduler,) = turns.cluster.schedulers
        await pod_created(turns, "web")
        while not scheduler.world.machine.can_snapshot:
            await turns.call(lambda _: None)
        count = len(scheduler.world.log)
        monkeypatch.setattr(served_scheduler, "MEMORY_CHECKPOINT_EVENTS", count + 1)
        assert not scheduler.is_memory_checkpoint_due
        monkeypatch.setattr(served_scheduler, "MEMORY_CHECKPOINT_EVENTS", 1)
        with monkeypatch.context() as patched:
            patched.setattr(served_scheduler, "MEMORY_CHECKPOINT_OBJECTS_MAX", 2)
            assert not scheduler.is_memory_checkpoint_due
        assert scheduler.is_memory_checkpoint_due
        # Two nodes and a pod.
        monkeypatch.setattr(served_scheduler, "EVENTS_PER_OBJECT", count)
        assert not scheduler.is_memory_checkpoint_due

    with_turns(use)


@pytest.mark.parametrize("fails", [False, True], ids=["at once", "after a reader that crashed"])
def test_memory_checkpoints_are_made_in_the_background(monkeypatch, fails):
    monkeypatch.setattr(served_scheduler, "MEMORY_CHECKPOINT_EVENTS", 1)
    monkeypatch.setattr(served_scheduler, "EVENTS_PER_OBJECT", 0)
    monkeypatch.setattr(served_scheduler, "STATE_EVENTS", 1)
    monkeypatch.setattr(served_scheduler, "STATE_EVENTS_PER_OBJECT", 0)
    monkeypatch.setattr(run_collection, "INTERVAL_SECONDS", 0.01)
    call, failures = Readers.call, [ReaderFailed("it was killed")] if fails else []

    async def call_or_fail(readers, function, **options):
        if failures:
            raise failures.pop()
        return await call(readers, function, **options)

    monkeypatch.setattr(Readers, "call", call_or_fail)
    is_kept = asyncio.Event()
    keep = DecisionLog.keep_memory_checkpoint

    def keep_and_tell(log, checkpoint):
        keep(log, checkpoint)
        is_kept.set()

    monkeypatch.setattr(DecisionLog, "keep_memory_checkpoint", keep_and_tell)

    async def use(turns):
        await pod_created(turns, "web")
        keeping = asyncio.create_task(keep_memory_checkpoints(turns))
        await is_kept.wait()
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping
        assert turns.cluster.world.log.memory_checkpoints
        assert turns.cluster.world.log.states
        assert not failures

    with_turns(use)
