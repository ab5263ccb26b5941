"""The representations of the main objects are one short line."""

from __future__ import annotations

import podwright as pw
from podwright.testing import make_node, make_pod


def test_representations_are_short():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1", cpu="2"), make_node("n2", cpu="1"))
    scheduler.add(make_pod("web", cpu="2"), make_pod("huge", cpu="9"))
    assert repr(scheduler) == "<Scheduler: 2 nodes, 2 pending pods>"
    explained = repr(scheduler.explain("default/web"))
    assert explained == "<Explanation of default/web: n1; 1 of 2 nodes are feasible>"
    placed, refused = scheduler.schedule("default/web"), scheduler.schedule("default/huge")
    assert repr(placed) == "<Decision for default/web: n1>"
    assert repr(refused) == f"<Decision for default/huge: {refused.message}>"
    assert "0/2 nodes are available: " in refused.message


def test_the_representation_of_a_world_has_its_time():
    world = pw.World()
    world.add(make_node("n1"), make_pod("web"))
    run = world.run(world.start_ns + 90 * 10**9)
    assert repr(world) == "<World at 2026-01-01T00:01:30Z: 1 nodes, 1 pods>"
    assert repr(run) == "<Run: 1 pods on nodes, 0 pending>"
