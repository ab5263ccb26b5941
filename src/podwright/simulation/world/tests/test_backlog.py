"""When a world is late, and what it does first then."""

from podwright.cluster.api import CreateObject
from podwright.simulation.world import World
from podwright.simulation.world.world_steps import SLICES_MAX, Backlog, Backlogged
from podwright.testing import make_node, make_pod


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


def test_time_passes_in_a_world_that_is_late():
    world = World(stages=(), controllers=())
    world.add(make_node("n1", cpu="64", pods=2_000), *(make_pod(f"p{n}") for n in range(500)))
    start_ns = world.now_ns
    while not world.backlog.is_late:
        assert not world.catch_up(start_ns, lambda: True)
    checks = iter(range(200))
    assert not world.catch_up(start_ns + 5, lambda: next(checks, None) is None)
    assert world.now_ns == start_ns + 5
    assert 0 < len(world.node_of) < 500
    assert world.catch_up(start_ns + 5, lambda: False)
    assert len(world.node_of) == 500


def test_what_somebody_wrote_to_the_store_is_due_now():
    world = World(controllers=())
    world.api.handle(CreateObject(make_pod("web"), "test"), "test", world.now_ns)
    assert world.next_due_ns == world.now_ns
    world.run()
    world.activate("default/web")
    assert world.next_due_ns == world.now_ns
