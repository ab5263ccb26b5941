"""Tests of garbage collection beside a turn loop."""

import asyncio
import gc

from podwright._garbage import frozen_creations
from podwright.online.apiserver import ClusterClock, TurnLoop
from podwright.online.apiserver.free_memory import collect_young, short_collections
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of


def test_objects_of_a_large_block_are_not_visited_afterwards() -> None:
    assert gc.isenabled()
    try:
        with frozen_creations():
            made = [[number] for number in range(100_000)]
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_count()[0] < 10_000
        assert gc.get_freeze_count() >= len(made)
    finally:
        gc.unfreeze()


def test_objects_that_replace_others_do_not_stay_young() -> None:
    replaced = [[number] for number in range(20_000)]

    def replace(_: int) -> None:
        # The number of created objects less that of freed ones stays small.
        for number in range(len(replaced)):
            replaced[number] = [number]

    async def main() -> None:
        turns = TurnLoop(cluster_of(), ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        for _ in range(3):
            await turns.call(replace)
        assert len(gc.get_objects(generation=0)) < len(replaced) / 4
        turns.stop()
        await running

    with short_collections():
        asyncio.run(main())


def test_no_young_objects_are_collected_while_collection_is_disabled() -> None:
    with short_collections(), frozen_creations():
        before = gc.get_stats()
        collect_young()
        assert gc.get_stats() == before
    before = gc.get_stats()
    collect_young()
    assert gc.get_stats() != before
