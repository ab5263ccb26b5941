"""The decision log of a server is bounded; requests are answered while a checkpoint is written."""

import asyncio
import sys
import threading

import pytest
from tests.waiting import SECONDS_MAX

from podwright.online.apiserver import ClusterClock, TurnLoop, new_cluster
from podwright.online.apiserver.cluster import ClusterOptions
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.scheduling import served_scheduler
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, pod, pod_created, request
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import UnknownCycle, explain_cycle, timeline_of_log
from podwright.simulation.recording.tests.recording import named_state

PODS = "/api/v1/namespaces/default/pods"
LOG_EVENTS = 100
LOG_BYTES = 8_192


def bounded_cluster(log_events=LOG_EVENTS):
    cluster = new_cluster(
        SchedulerOptions(),
        now_ns=START_NS,
        server_options=SERVER,
        options=ClusterOptions(log_events=log_events, keeps_timelines=True),
    )
    cluster.world.add(*generated_nodes(2))
    return cluster


def in_turns(cluster, load):
    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        await load(turns)
        turns.stop()
        await running

    asyncio.run(main())


def test_the_oldest_events_are_dropped_and_the_last_ones_explained():
    cluster = bounded_cluster()
    sizes = []

    async def load(turns):
        for number in range(150):
            await turns.execute(request("POST", PODS, pod(f"web-{number}")))
            log = cluster.world.log
            sizes.append(len(log) - log.first)
            await turns.call(lambda _: None)  # waits for a checkpoint

    in_turns(cluster, load)
    log = cluster.world.log
    assert len(log) > 5 * LOG_EVENTS
    assert log.first > 0
    feed = cluster.schedulers[0].timeline
    assert feed is not None
    collected, replayed = feed.timeline(), timeline_of_log(log)
    assert collected.first_ns == replayed.first_ns > START_NS
    assert len(collected.times_ns) == len(replayed.times_ns)
    assert max(collected.times_ns) > collected.first_ns
    for at_ns in {*collected.times_ns.tolist(), *replayed.times_ns.tolist()}:
        assert named_state(collected, at_ns) == named_state(replayed, at_ns)
    assert max(sizes) < 4 * LOG_EVENTS
    assert explain_cycle(log, "default/web-149") is not None
    with pytest.raises(UnknownCycle, match=r"^pod default/web-0 has .* are no longer in the log$"):
        explain_cycle(log, "default/web-0")
    with pytest.raises(UnknownCycle, match=r"no attempt 9; .* are no longer in the log$"):
        explain_cycle(log, "default/web-149", attempt=9)


def test_without_a_number_of_events_the_log_is_bounded_by_bytes(monkeypatch):
    monkeypatch.setattr(served_scheduler, "LOG_BYTES", LOG_BYTES)
    monkeypatch.setattr(served_scheduler, "LOG_BLOCK_EVENTS", 16)
    cluster = bounded_cluster(None)
    sizes, checkpoint_sizes = [], []

    async def load(turns):
        for number in range(150):
            await pod_created(turns, f"web-{number}")
            await turns.execute(request("DELETE", f"{PODS}/web-{number}"))
            sizes.append(cluster.world.log.size_bytes)
            await turns.call(lambda _: None)  # waits for a checkpoint
            checkpoint_sizes.append(len(cluster.world.log.checkpoints))

    in_turns(cluster, load)
    log = cluster.world.log
    assert log.first > 0
    assert len(log) < LOG_BYTES, "an event has more than a byte"
    assert max(checkpoint_sizes) <= 3
    assert max(sizes[75:]) < 1.5 * max(sizes[:75])
    assert explain_cycle(log, "default/web-149") is not None
    with pytest.raises(UnknownCycle, match=r"are no longer in the log$"):
        explain_cycle(log, "default/web-0")


def test_requests_are_answered_while_a_checkpoint_is_written(monkeypatch):
    cluster = bounded_cluster()
    begun, is_open = threading.Event(), threading.Event()
    write = cluster.write_checkpoint

    def slow():
        begun.set()
        assert is_open.wait(SECONDS_MAX)
        write()

    monkeypatch.setattr(cluster, "write_checkpoint", slow)

    async def load(turns):
        number = 0
        while not begun.is_set():
            await turns.execute(request("POST", PODS, pod(f"web-{number}")))
            number += 1
        assert cluster.is_resting
        for later in range(5):
            reply = await turns.execute(request("POST", PODS, pod(f"later-{later}")))
            assert reply.status == 201
        assert not cluster.store.get(("", "Pod"), "default/later-4").spec.node_name
        is_open.set()
        while not cluster.store.get(("", "Pod"), "default/later-4").spec.node_name:
            await turns.execute(request("GET", PODS))

    in_turns(cluster, load)
    assert cluster.world.log.checkpoints


def test_a_server_ends_after_the_checkpoint_that_it_writes(monkeypatch):
    cluster = bounded_cluster()
    begun, is_open, written = threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        assert is_open.wait(SECONDS_MAX)
        written.append(len(cluster.world.log))

    monkeypatch.setattr(cluster, "write_checkpoint", slow)

    async def load(turns):
        while not begun.is_set():
            await turns.execute(request("POST", PODS, pod(f"web-{len(cluster.world.log)}")))
        threading.Timer(0.05, is_open.set).start()

    in_turns(cluster, load)
    assert written == [len(cluster.world.log)]


def test_a_checkpoint_that_fails_ends_the_server(monkeypatch):
    cluster = bounded_cluster()

    def broken():
        raise MemoryError

    monkeypatch.setattr(cluster, "write_checkpoint", broken)

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        number = 0
        while not running.done():
            number += 1
            waiting = asyncio.create_task(
                turns.execute(request("POST", PODS, pod(f"web-{number}")))
            )
            await asyncio.wait((waiting, running), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        assert isinstance(running.exception(), MemoryError)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("log_events", "limits"), [(None, (500_000, 10 << 20)), (7, (7, sys.maxsize))]
)
def test_without_an_option_a_log_is_bounded_by_its_events_and_its_bytes(log_events, limits):
    (served,) = bounded_cluster(log_events).schedulers
    assert (served._log_events, served._log_bytes) == limits
