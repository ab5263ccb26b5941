"""Turns: what happens to requests when a turn fails."""

import asyncio

import pytest

from podwright.apiserver import ClusterClock, TurnLoop
from podwright.apiserver.tests.conftest import START_NS, cluster_of, pod, request
from podwright.store import ObjectStore, UnusableStore

PODS = "/api/v1/namespaces/default/pods"


class FullDisk:
    """A journal that cannot write any more once `is_full` is set."""

    is_full = False

    def append(self, *_: object) -> None:
        if self.is_full:
            raise UnusableStore("no space left")

    def discard(self, *_: object) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Close nothing."""


def test_a_request_whose_write_is_not_durable_is_not_answered():
    journal = FullDisk()
    cluster = cluster_of(store=ObjectStore(journal=journal))
    clock = ClusterClock(start_ns=START_NS)

    async def main():
        turns = TurnLoop(cluster, clock)
        running = asyncio.create_task(turns.run())
        assert (await turns.execute(request("POST", PODS, pod("first")))).status == 201
        journal.is_full = True
        with pytest.raises(asyncio.CancelledError):
            await turns.execute(request("POST", PODS, pod("second")))
        with pytest.raises(UnusableStore, match="no space left"):
            await running
        assert turns.is_stopping

    asyncio.run(main())


def test_a_function_is_called_in_a_turn_and_its_error_is_raised():
    cluster = cluster_of()

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        assert await turns.call(lambda now_ns: now_ns >= START_NS)
        with pytest.raises(ZeroDivisionError):
            await turns.call(lambda _: 1 // 0)
        assert (await turns.execute(request("GET", PODS))).status == 200
        turns.stop()
        await running

    asyncio.run(main())
