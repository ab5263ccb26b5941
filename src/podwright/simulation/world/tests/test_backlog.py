"""When a world is late, and what it does first then."""

from podwright.simulation.world.world_steps import SLICES_MAX, Backlog, Backlogged


def test_a_world_is_late_after_many_slices_at_one_time_until_all_is_done():
    backlog = Backlog()
    for now_ns in range(2 * SLICES_MAX):
        backlog.is_left(now_ns)
        assert not backlog.is_late
    for _ in range(SLICES_MAX - 1):
        assert not backlog.is_late
        backlog.is_left(2 * SLICES_MAX)
    backlog.is_left(2 * SLICES_MAX)
    assert backlog.is_late
    backlog.is_left(3 * SLICES_MAX)
    assert backlog.is_late
    backlog.is_done()
    for _ in range(SLICES_MAX - 1):
        backlog.is_left(3 * SLICES_MAX)
        assert not backlog.is_late
    backlog.is_left(3 * SLICES_MAX)
    assert backlog.is_late


def test_the_first_slices_count_from_one():
    backlog = Backlog()
    for _ in range(SLICES_MAX - 1):
        backlog.is_left(0)
    assert not backlog.is_late


def test_each_kind_of_work_has_its_turn():
    backlog = Backlog()
    kinds = [backlog.next_kind() for _ in range(6)]
    assert kinds == [Backlogged.CYCLES, Backlogged.SYNCS, Backlogged.TIME] * 2
