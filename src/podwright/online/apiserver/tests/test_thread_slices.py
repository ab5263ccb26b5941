"""Threads beside a busy event loop get their share of the interpreter lock."""

import asyncio
import os
import queue
import threading
import zlib
from pathlib import Path

import pytest
from tests.waiting import SECONDS_MAX

from podwright.online.apiserver import ClusterClock, TurnLoop, turn_loop
from podwright.online.apiserver.computing_threads import ExtenderThreads, share_with_thread
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod, request
from podwright.scheduler.config import ExtenderCall, ExtenderReply

PODS = "/api/v1/namespaces/default/pods"
DATA = os.urandom(1 << 10)
CALL = ExtenderCall(extender=0, verb="filter", url="", body=b"", timeout_ns=1)
PARTS = 3_000


async def keep_busy(is_over):
    """Compute and release the interpreter lock at short intervals, as the sending of lists does."""
    while not is_over.is_set():
        step()
        await asyncio.sleep(0)


def step():
    for _ in range(50):
        sum(range(200))
    Path("/").stat()


def work():
    """Release the interpreter lock and take it back many times, as compression does."""
    for _ in range(PARTS):
        zlib.compress(DATA * 8)


def under_load(cluster, load):
    async def main():
        is_over = asyncio.Event()
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        busy = [asyncio.create_task(keep_busy(is_over)) for _ in range(4)]
        try:
            async with asyncio.timeout(SECONDS_MAX):
                await load(turns)
        finally:
            is_over.set()
            turns.stop()
            await asyncio.gather(running, *busy)

    asyncio.run(main())


def test_the_event_loop_goes_on_between_two_slices():
    is_done = threading.Event()
    iterations = []

    class Done(threading.Event):
        def wait(self, timeout=None):
            assert timeout == 0.001
            iterations.append(0)
            return is_done.is_set()

    async def main():
        share = asyncio.create_task(
            share_with_thread(Done(), slice_seconds=0.001, pause_seconds=0.0)
        )
        while len(iterations) < 5:
            iterations[-1:] = [each + 1 for each in iterations[-1:]]
            await asyncio.sleep(0)
        is_done.set()
        await share

    asyncio.run(main())
    assert all(iterations[:4])


def test_extenders_that_are_called_get_slices_until_all_have_replied():
    is_open = threading.Event()
    replied: queue.SimpleQueue[int] = queue.SimpleQueue()

    def call(_):
        assert is_open.wait(SECONDS_MAX)
        return ExtenderReply()

    threads = ExtenderThreads(call, lambda number, _: replied.put(number))
    assert threads.is_idle.is_set()
    for number in range(3):
        threads.begin(number, CALL)
    assert not threads.is_idle.wait(0.01)
    is_open.set()
    assert threads.is_idle.wait(SECONDS_MAX)
    assert sorted(replied.get_nowait() for _ in range(3)) == [0, 1, 2]


@pytest.mark.parametrize(("calls", "most"), [(1, 1), (18, 16)])
def test_a_call_gets_a_thread_if_none_is_free_and_the_most_is_not_reached(calls, most):
    replied: queue.Queue[int] = queue.Queue()
    may_end = threading.Event()
    used = set()

    def call(_):
        used.add(threading.current_thread().name)
        assert may_end.wait(SECONDS_MAX)
        return ExtenderReply()

    threads = ExtenderThreads(call, lambda number, _: replied.put(number))
    for _ in range(2):
        may_end.clear()
        for number in range(calls):
            threads.begin(number, CALL)
        may_end.set()
        for _ in range(calls):
            replied.get(timeout=SECONDS_MAX)
        assert threads.is_idle.wait(SECONDS_MAX)
    assert threads._threads == most
    assert used <= {f"extender-{number + 1}" for number in range(most)}


def test_a_checkpoint_is_written_while_the_event_loop_is_busy(monkeypatch):
    cluster = cluster_of()
    is_done = threading.Event()
    shares = []

    async def share(is_written, **slices):
        await share_with_thread(is_written, **slices)
        shares.append((is_written.is_set(), slices))

    def write():
        work()
        is_done.set()

    monkeypatch.setattr(
        type(cluster), "is_checkpoint_due", property(lambda _: not is_done.is_set())
    )
    monkeypatch.setattr(cluster, "write_checkpoint", write)
    monkeypatch.setattr(turn_loop, "share_with_thread", share)

    async def load(turns):
        await turns.execute(request("POST", PODS, pod("web")))
        assert await asyncio.to_thread(is_done.wait, SECONDS_MAX)
        # How long it takes depends on the computer, that it gets slices of time does not.
        while not shares:  # noqa: ASYNC110 - the turn loop has no event for it
            await asyncio.sleep(0)

    under_load(cluster, load)
    slices = {"slice_seconds": turn_loop.CHECKPOINT_SLICE_SECONDS, "pause_seconds": 0.0}
    assert shares == [(True, slices)]


def test_what_a_call_raises_is_its_reply():
    def call(_):
        raise ValueError("broken")

    replied: queue.Queue[tuple[int, ExtenderReply]] = queue.Queue()
    threads = ExtenderThreads(call, lambda number, reply: replied.put((number, reply)))
    threads.begin(7, CALL)
    number, reply = replied.get(timeout=SECONDS_MAX)
    assert (number, reply.error) == (7, "ValueError: broken")
    assert threads.is_idle.wait(SECONDS_MAX)
