"""Loops that wait for work: they take no turn while there is none."""

import asyncio

import pytest
import uvloop

from podwright.online.apiserver import (
    ClusterClock,
    ResultAnnotations,
    ScenarioController,
    TurnLoop,
)
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod_created

HEADERS = {"authorization": "Bearer secret"}
ROUNDS = 50


class LimitedEvent(asyncio.Event):
    """An event that fails if it is waited for again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.wait_count = 0

    async def wait(self):
        self.wait_count += 1
        assert self.wait_count < ROUNDS, "a loop does not clear the event that wakes it"
        return await super().wait()


class TurnCount:
    """A follower that counts turns."""

    count = 0

    def begin(self, store, now_ns):
        """Need nothing."""

    def append(self, now_ns):
        self.count += 1


async def idle():
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


def paused_clock():
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return clock


def test_a_turn_loop_without_work_takes_no_turns_until_it_is_woken():
    counter = TurnCount()

    async def main():
        turns = TurnLoop(cluster_of(), paused_clock(), [counter])
        running = asyncio.create_task(turns.run())
        counts = []
        for work in (lambda: pod_created(turns, "web"), idle, idle):
            await work()
            await turns.call(lambda _: None)
            await idle()
            counts.append(counter.count)
        turns.wake()
        await idle()
        counts.append(counter.count)
        turns.stop()
        await running
        return counts

    first, *later = uvloop.run(main())
    assert [each - first for each in later] == [1, 2, 3]


@pytest.mark.parametrize("controller", [ResultAnnotations, ScenarioController])
def test_a_controller_without_work_waits(controller, monkeypatch):
    async def main():
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "Event", LimitedEvent)
            made = controller(HEADERS)
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS), [made])
        running = asyncio.create_task(turns.run())
        keeping = asyncio.create_task(made.keep_up(turns))
        await pod_created(turns, "web")
        await idle()
        assert not keeping.done(), keeping.exception()
        keeping.cancel()
        turns.stop()
        await running

    uvloop.run(main())
