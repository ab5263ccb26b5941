"""Tests of garbage collection beside a turn loop."""

import gc

from podwright._garbage import frozen_creations


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
