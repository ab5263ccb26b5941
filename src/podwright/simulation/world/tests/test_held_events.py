"""Events that wait while the scheduler is suspended by a call to an extender."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from podwright.scheduler.config import ExtenderCall, ExtenderReply, read_configuration
from podwright.scheduler.machine import CycleDue, ObjectPut
from podwright.simulation.world import World
from podwright.simulation.world.world_scheduler import ROUND_MAX
from podwright.testing import make_node, make_pod

EXTENDED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "extenders": [{"urlPrefix": "http://e.example", "filterVerb": "filter"}],
}
PODS = [f"held-{number:03}" for number in range(200)]
DOWN = ExtenderReply(status=0, error="connection refused")


def all_nodes(call: ExtenderCall) -> ExtenderReply:
    nodes = msgspec.json.decode(call.body)["Nodes"]
    return ExtenderReply(status=200, body=msgspec.json.encode({"Nodes": nodes}))


def suspended_world() -> tuple[World, list[tuple[int, ExtenderCall]]]:
    """Return a world whose scheduler waits for the reply for a first pod, with other pods added."""
    calls: list[tuple[int, ExtenderCall]] = []
    world = World(
        read_configuration(EXTENDED, source="test"),
        begin_extender_call=lambda number, call: calls.append((number, call)),
        stages=(),
    )
    world.add(make_node("n1", pods=500), make_pod("first"))
    while not world.catch_up(world.now_ns, lambda: False):
        pass
    assert len(calls) == 1
    for name in PODS:
        world.add(make_pod(name))
    return world, calls


def test_held_events_reach_the_scheduler_a_few_at_a_time():
    world, calls = suspended_world()
    world.extender_replied(calls.pop()[0], DOWN)
    counts = [len(world.log)]
    while world.step_until_ns(world.now_ns):
        counts.append(len(world.log))
    assert counts[-1] - counts[0] > len(PODS)
    assert max(after - before for before, after in pairwise(counts)) == ROUND_MAX
    received = [each.event for each in world.log.entries() if isinstance(each.event, ObjectPut)]
    pods = [event.obj.name for event in received if event.obj.name in PODS]
    assert pods == PODS


def test_cycles_begin_only_after_the_held_events():
    world, calls = suspended_world()
    number, call = calls.pop()
    world.extender_replied(number, all_nodes(call))
    while not world.catch_up(world.now_ns, lambda: False):
        pass
    kinds = [type(each.event) for each in world.log.entries()]
    second = [index for index, kind in enumerate(kinds) if kind is CycleDue][1]
    assert kinds[:second].count(ObjectPut) >= len(PODS) + 2


def test_all_pods_are_bound_when_each_is_delayed_by_the_extender():
    world, calls = suspended_world()
    while calls:
        number, call = calls.pop()
        world.extender_replied(number, all_nodes(call))
        while not world.catch_up(world.now_ns, lambda: False):
            pass
    assert all(pod.spec.node_name == "n1" for pod in world.pods)
    world.machine.validate()


def test_what_happens_while_events_are_held_comes_after_them():
    world, calls = suspended_world()
    world.extender_replied(calls.pop()[0], DOWN)
    last = f"default/{PODS[-1]}"
    world.step_until_ns(world.now_ns)
    world.step_until_ns(world.now_ns)
    assert world.machine.queue.get(last) is None
    world.remove(make_pod(PODS[-1]))
    while not world.catch_up(world.now_ns, lambda: False):
        pass
    assert world.machine.queue.get(last) is None
    assert last not in {pod.key for pod in world.pods}


def test_nothing_is_due_for_pods_in_backoff_while_an_extender_is_called():
    calls: list[tuple[int, ExtenderCall]] = []
    world = World(
        read_configuration(EXTENDED, source="test"),
        begin_extender_call=lambda number, call: calls.append((number, call)),
        stages=(),
        controllers=(),
    )
    world.add(make_node("n1"), make_pod("tried"))
    world.catch_up(world.now_ns, lambda: False)
    world.extender_replied(calls.pop()[0], DOWN)
    world.catch_up(world.now_ns, lambda: False)
    assert not calls
    due_ns = world.next_due_ns
    assert due_ns is not None
    assert due_ns > world.now_ns
    world.add(make_pod("asked"))
    world.catch_up(world.now_ns, lambda: False)
    assert len(calls) == 1
    assert world.next_due_ns is None
