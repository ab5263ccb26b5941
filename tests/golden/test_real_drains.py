"""Plans of drains for a real cluster: executed in another world, they are blocked as they say.

A step that the plan names is never blocked, and each node that it calls blocked is.
"""

from __future__ import annotations

import pytest
from tests.golden.real_cluster import dump

import podwright as pw
from podwright.apimachinery.objects import Object
from podwright.apimachinery.schema import decode
from podwright.simulation.capacity import settle_world
from podwright.simulation.world import START_NS, Put

pytestmark = [pytest.mark.golden, pytest.mark.slow]


def loaded(objects: list[Object]) -> pw.World:
    """Return a world with the dump as it is; its new pods get other uids than the dump's."""
    world = pw.World(pw.SchedulerOptions(seed=1, start_ns=START_NS))
    for obj in objects:
        world.do(Put(obj))
    settle_world(world)
    return world


@pytest.mark.parametrize("first", [0, 4, 8])
@pytest.mark.parametrize("state", ["mid", "end"])
def test_drains_of_a_real_cluster_are_blocked_only_where_the_plan_says_so(
    state: str, first: int
) -> None:
    items = dump(state)
    objects = [decode(item) for item in items]
    nodes = sorted(item["metadata"]["name"] for item in items if item["kind"] == "Node")
    names = nodes[first::11]
    plan = pw.drain_plan(objects, names, seed=0)
    assert plan.steps
    world = loaded(objects)
    for name in names:
        world.do(pw.Cordon(name))
    for step in plan.steps:
        for name in step.nodes:
            world.do(pw.Drain(name))
        assert settle_world(world), f"{step.nodes} are blocked"
    for blocked in plan.blocked:
        world.do(pw.Drain(blocked.node))
    assert settle_world(world) == (not plan.blocked)
