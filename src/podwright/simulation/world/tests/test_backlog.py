"""When a world is late, and what it does first then."""

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject
from podwright.simulation.world import Create, World
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


REPLICA_SETS = [
    decode({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"r{number}"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "main", "image": "i"}]},
            },
        },
    })
    for number in range(60)
]  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "controllers"),
    [
        pytest.param([make_pod(f"p{n}") for n in range(400)], (), id="no syncs"),
        pytest.param(REPLICA_SETS, None, id="no scheduling cycles"),
    ],
)
def test_time_passes_in_its_turn_only_also_if_another_kind_has_no_work(
    objects: list[Any], controllers: Any
):
    world = World(stages=(), controllers=controllers)
    world.add(make_node("n1", cpu="64", pods=500), *objects)
    start_ns = world.now_ns
    while not world.backlog.is_late:
        assert not world.catch_up(start_ns, lambda: True)
    turns: list[tuple[int, int]] = []
    for now_ns in range(start_ns + 1, start_ns + 4):
        assert not world.catch_up(now_ns, lambda: world.backlog.steps >= 3 * len(turns) + 3)
        turns.append((world.backlog.steps, world.now_ns - start_ns))
    assert turns == [(3, 1), (6, 2), (9, 3)]


def test_what_is_due_now_takes_no_turn_of_a_world_that_is_late():
    world = World(stages=(), controllers=())
    world.add(make_node("n1", cpu="64"), *(make_pod(f"p{n}") for n in range(400)))
    while not world.backlog.is_late:
        assert not world.catch_up(world.now_ns, lambda: True)
    steps = world.backlog.steps
    for name in ("first", "second"):
        world.do(Create(make_node(name)), at="0s")
    world.catch_up(world.now_ns, lambda: len(world.nodes) == 3 or world.backlog.steps > steps)
    assert (len(world.nodes), world.backlog.steps) == (3, steps)


def test_the_load_is_that_of_the_objects_before_time_advances_first():
    """A driver may catch up many times before."""
    world = World(controllers=())
    world.add(make_node("n1", cpu="1"), make_pod("web", cpu="1"))
    assert world.catch_up(world.now_ns, lambda: False)
    world.add(make_pod("batch", cpu="1"))
    assert world.catch_up(world.now_ns + 1, lambda: False)
    world.add(make_pod("late", cpu="1"))
    estimate = world.report().estimate
    assert estimate is not None
    assert (estimate.pods, estimate.fitting, estimate.resource) == (2, 1, "cpu")
