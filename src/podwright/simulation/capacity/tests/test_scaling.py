"""Plans of an autoscaler: which pods get nodes, and how its progress is reported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import podwright as pw
from podwright._progress import NO_METER, Meter, set_display
from podwright.apimachinery.objects import Object
from podwright.simulation.autoscaling import parse_node_groups
from podwright.simulation.autoscaling.tests.test_scale_up import group
from podwright.simulation.capacity import drains, planned_scaling, scaling
from podwright.simulation.capacity.scaling import _moves
from podwright.simulation.capacity.tests.test_rules import owned
from podwright.simulation.world import START_NS
from podwright.testing import make_node, make_pod

MINUTE_NS = 60_000_000_000


def test_a_copy_runs_in_sixty_parts_and_tells_what_was_added():
    autoscaling = parse_node_groups({"groups": [group("a", cpu="4")]}, "groups")
    objects: list[Object] = [make_node("old", cpu="1"), make_pod("big", cpu="3")]
    seen: list[tuple[int, int]] = []
    shown: list[str] = []

    def display(what: str, *_: object) -> Meter:
        shown.append(what)
        return NO_METER

    set_display(display)
    try:
        plan = planned_scaling(
            objects,
            autoscaling,
            pw.SchedulerOptions(),
            10 * MINUTE_NS,
            advance=lambda done, total: seen.append((done, total)),
        )
    finally:
        set_display(None)
    assert shown == []
    assert [(each.pod, each.chosen) for each in plan.pods] == [("default/big", ("a",))]
    (node,) = plan.new_nodes
    assert (node["kind"], node["status"]["allocatable"]["cpu"]) == ("Node", "4")
    (move,) = plan.moves
    assert (move.pod, move.node, move.to) == ("default/big", "", node["metadata"]["name"])
    # How long the pods take to settle before that is not known.
    assert [each for each in seen if each[1]] == [(part, 60) for part in range(1, 61)]


def test_a_plan_says_what_keeps_nodes_at_its_start():
    autoscaling = parse_node_groups({"groups": [group("a", cpu="4")]}, "groups")
    nodes = [make_node(name, cpu="4", labels={"pool": "a"}) for name in ("idle", "held")]
    objects: list[Object] = [*nodes, make_node("other"), make_pod("alone", node="held")]
    plan = planned_scaling(objects, autoscaling, pw.SchedulerOptions(), MINUTE_NS)
    assert [(each.node, each.group, each.reason, each.message) for each in plan.nodes] == [
        ("idle", "a", "", ""),
        ("held", "a", "NotReplicated", "default/alone is not replicated"),
        ("other", "", "NotAutoscaled", "it is of no node group"),
    ]


@pytest.mark.parametrize(
    ("start_ns", "begin_ns"),
    [
        pytest.param(0, START_NS, id="that of every world"),
        pytest.param(START_NS + MINUTE_NS, START_NS + MINUTE_NS, id="that of the options"),
    ],
)
@pytest.mark.parametrize("planner", [drains, scaling])
def test_the_time_of_a_copy_begins(planner, start_ns, begin_ns, monkeypatch):
    given: list[int] = []

    def planned_world(objects: Any, options: pw.SchedulerOptions, *more: Any, **rest: Any) -> Any:
        given.append(options.start_ns)
        return drains_world(objects, options, *more, **rest)

    drains_world = drains.planned_world
    monkeypatch.setattr(planner, "planned_world", planned_world)
    options = pw.SchedulerOptions(start_ns=start_ns)
    if planner is drains:
        pw.drain_plan([make_node("n")], "n", options)
    else:
        autoscaling = parse_node_groups({"groups": [group("a", cpu="4")]}, "groups")
        planned_scaling([make_node("n")], autoscaling, options, MINUTE_NS)
    assert given[0] == begin_ns


def test_a_pod_that_left_is_replaced_by_a_new_pod_and_by_none_that_was_there():
    before = [owned("left", "n1"), owned("stayed", "n2"), owned("moved"), owned("waits")]
    after = [
        owned("stayed", "n2"), owned("moved", "n3"), owned("waits"), owned("new", "n4"),
    ]  # fmt: skip
    world: Any = SimpleNamespace(pods=after)
    moves = [(each.pod, each.node, each.replacement, each.to) for each in _moves(before, world)]
    assert moves == [
        ("default/moved", "", "default/moved", "n3"),
        ("default/left", "n1", "default/new", "n4"),
    ]
