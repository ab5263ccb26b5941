"""Plans of drains and of scaling step by step, with a world that is given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, decode
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import parse_node_groups
from podwright.simulation.autoscaling.tests.test_scale_up import deployment, group
from podwright.simulation.capacity import planned_scaling
from podwright.simulation.capacity.drains import (
    BlockedNode,
    DrainStep,
    Unfit,
    _Planner,
    evicted_pods,
    planned_world,
)
from podwright.simulation.capacity.filling import _place_all, settle
from podwright.simulation.capacity.scaling import _moves
from podwright.simulation.capacity.stand_ins import with_stand_ins
from podwright.simulation.capacity.tests.test_counting import owned
from podwright.simulation.world import START_NS, World
from podwright.testing import make_node, make_pod

MINUTE_NS = 60_000_000_000


def budget(name, app, allowed, namespace="default"):
    return decode(
        {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed},
        }
    )  # fmt: skip


def world_of(pods, budgets=(), **fields):
    store = SimpleNamespace(list=lambda _: SimpleNamespace(objects=list(budgets)))
    world: Any = SimpleNamespace(pods=pods, store=store, **fields)
    return world


def planner(world, most_nodes=0, surge=0):
    return _Planner(world, SchedulerOptions(), surge=surge, most_nodes=most_nodes)


def pods(**apps):
    """Return pods: by node, their applications."""
    return [
        make_pod(f"{node}-{index}", node=node, labels={"app": app})
        for node, names in apps.items()
        for index, app in enumerate(names.split())
    ]


@pytest.mark.parametrize(
    ("allowed", "most", "chosen", "waits_for"),
    [
        pytest.param((1, 0), 0, ["free", "one"], (), id="the least first"),
        pytest.param((2, 0), 0, ["free", "one"], (), id="no room for two more"),
        pytest.param((3, 0), 0, ["free", "one", "two"], (), id="exactly enough"),
        pytest.param((3, 1), 0, ["free", "one", "two"], (), id="of the other one too few"),
        pytest.param((5, 1), 0, ["free", "one", "two", "both"], (), id="all"),
        pytest.param((5, 1), 1, ["free"], (), id="one at a time"),
        pytest.param((5, 1), 2, ["free", "one"], (), id="two at a time"),
    ],
)
def test_the_nodes_that_budgets_allow_are_drained_together(allowed, most, chosen, waits_for):
    given = pods(two="web web", one="web", both="web web db", free="other")
    budgets = [budget("web", "web", allowed[0]), budget("db", "db", allowed[1])]
    found = planner(world_of(given, budgets), most)._choose(["two", "one", "both", "free"])
    assert found == (chosen, waits_for)


@pytest.mark.parametrize(
    ("allowed", "node", "waits_for"),
    [
        ((0, 0), "web", ("default/web",)),
        ((1, 0), "web", ("default/web",)),
        ((0, 9), "web", ("default/web",)),
        ((9, 0), None, ()),
    ],
)
def test_the_node_that_waits_least_is_drained_alone(allowed, node, waits_for):
    given = pods(most="web web web db", web="web web")
    budgets = [budget("web", "web", allowed[0]), budget("db", "db", allowed[1])]
    found = planner(world_of(given, budgets))._choose(["most", "web"])
    assert found == (([node], waits_for) if node else (["web"], ()))


def test_only_the_budgets_without_room_are_waited_for():
    given = pods(a="web web db", b="web web web db db")
    budgets = [budget("web", "web", 1), budget("db", "db", 1), budget("web2", "web", 0, "other")]
    found = planner(world_of(given, budgets))._choose(["b", "a"])
    assert found == (["a"], ("default/web",))


class Scripted(_Planner):
    """A planner whose steps are given: None for one that is blocked."""

    def __init__(self, world, outcomes, surge=0):
        super().__init__(world, SchedulerOptions(), surge=surge, most_nodes=0)
        self._outcomes = iter(outcomes)
        self.chosen = []

    def _choose(self, nodes):
        self.chosen.append(list(nodes))
        return [nodes[0]], ()

    def _step(self, nodes, waits_for):
        if next(self._outcomes):
            return DrainStep(nodes=tuple(nodes)), []
        blocked = [
            BlockedNode(node=each, budgets=(), pods=(), message="", remedy="") for each in nodes
        ]
        return None, blocked


@pytest.mark.parametrize(
    ("outcomes", "chosen", "blocked", "progress"),
    [
        ([True, True], [["a", "b"], ["b"]], [], [1, 2]),
        ([False, False], [["a", "b"], ["b"]], ["a", "b"], [1, 2]),
        ([False, True, True], [["a", "b"], ["b"], ["a"]], [], [1, 1, 2]),
        ([False, True, False], [["a", "b"], ["b"], ["a"]], ["a"], [1, 1, 2]),
        ([True, False], [["a", "b"], ["b"]], ["b"], [1, 2]),
    ],
)
def test_a_node_that_was_blocked_is_tried_after_the_next_step(outcomes, chosen, blocked, progress):
    done: list[Any] = []
    world = world_of([], do=done.append)
    planner = Scripted(world, outcomes)
    seen: list[tuple[int, int]] = []
    plan = planner.plan(["a", "b"], lambda *part: seen.append(part))
    assert planner.chosen == chosen
    assert [each.node for each in plan.blocked] == blocked
    assert plan.is_complete is (not blocked)
    assert len(plan.steps) == sum(outcomes)
    assert seen == [(number, 2) for number in progress]
    assert done == [pw.Cordon("a"), pw.Cordon("b")]


def test_the_nodes_of_a_surge_are_not_cordoned_before():
    done: list[Any] = []
    Scripted(world_of([], do=done.append), [True], surge=1).plan(["a"], lambda *_: None)
    assert done == []


def test_what_blocks_is_said_of_the_drains_under_way():
    def drain(node, blocked=(), by=()):
        found = [SimpleNamespace(pod=pod, message=f"no {pod}") for pod in blocked]
        return SimpleNamespace(node=node, blocked_pods=found, blocked_by=by)

    drains = [
        drain("done"), drain("a", ["default/x", "default/y"], ("default/web",)), drain("b"),
    ]  # fmt: skip
    world = world_of(
        pods(b="web web"), [budget("web", "web", 0)], draining_nodes={"a", "b"},
        report=lambda: SimpleNamespace(drains=drains),
    )  # fmt: skip
    unfit = (Unfit(pod="default/new", message="no node"),)
    first, second = planner(world)._blocked(world, unfit)
    assert first.unfit == second.unfit == unfit
    assert (first.node, first.budgets, first.pods, first.message) == (
        "a", ("default/web",), ("default/x", "default/y"), "no default/x",
    )  # fmt: skip
    assert first.remedy.startswith("budget default/web never allows an eviction")
    assert (second.node, second.budgets, second.pods, second.message, second.remedy) == (
        "b", (), ("default/b-0", "default/b-1"), "evicted pods do not end", "",
    )  # fmt: skip


def ended(pod):
    return decode({**pod.raw, "status": {"phase": "Succeeded"}})


def test_a_drain_evicts_the_pods_of_a_node_that_run():
    daemon = owned("d", "n", "1")
    owners = [{**daemon.raw["metadata"]["ownerReferences"][0], "kind": "DaemonSet"}]
    daemon = decode(
        {**daemon.raw, "metadata": {**daemon.raw["metadata"], "ownerReferences": owners}}
    )
    given = [
        make_pod("own", node="n"), make_pod("other", node="m"), make_pod("pending"),
        ended(make_pod("ended", node="n")), daemon,
    ]  # fmt: skip
    found = evicted_pods(world_of(given))
    assert {node: [pod.name for pod in pods] for node, pods in found.items()} == {
        "n": ["own"], "m": ["other"],
    }  # fmt: skip


def test_pods_of_one_workload_share_remedies_only_if_they_are_alike():
    """A workload may have had another template when some of its pods were created."""
    given = [owned("a", "", "3"), owned("b", "", "3"), owned("c", "", "5")]
    world = planned_world([make_node("n", cpu="1"), *given], SchedulerOptions(start_ns=START_NS))
    found = {each.pod: each.remedies[0] for each in planner(world)._unfit(world, given)}
    reduced = "reduce the cpu request from {} to 1"
    assert found == {
        "default/a": reduced.format(3), "default/b": reduced.format(3),
        "default/c": reduced.format(5),
    }  # fmt: skip


def test_a_budget_of_another_namespace_protects_nothing():
    foreign = decode(budget("web", "web", 0, "other").raw | {"status": {}})
    pod = make_pod("p", node="n", labels={"app": "web"})
    objects: list[Any] = [make_node("n"), pod, foreign]
    with pytest.raises(InputError) as caught:
        pw.drain_plan(objects, ["n"])
    assert str(caught.value) == (
        "PodDisruptionBudget other/web: spec.selector: selects no pod of the cluster"
    )


def test_a_budget_with_labels_that_no_pod_has_protects_nothing():
    other = decode(budget("web", "other", 0).raw | {"status": {}})
    pod = make_pod("p", node="n", labels={"app": "web"})
    objects: list[Any] = [make_node("n"), pod, other]
    with pytest.raises(InputError) as caught:
        pw.drain_plan(objects, ["n"])
    assert str(caught.value) == (
        "PodDisruptionBudget default/web: spec.selector: selects no pod of the cluster"
    )


def test_each_new_node_of_a_surge_is_like_the_one_that_it_replaces():
    world = World()
    world.add(make_node("n0", cpu="1"), make_node("n1", cpu="2", labels={"a": "b"}))
    assert planner(world)._new_node(world, "n1") == "n1-new"
    world.run_until("1s")
    (made,) = [node for node in world.nodes if node.name == "n1-new"]
    assert made.status.allocatable["cpu"] == "2"
    assert made.metadata.labels["a"] == "b"


@pytest.mark.parametrize(("is_owned", "is_again"), [(True, True), (False, False)])
def test_evicted_pods_are_scheduled_again_if_a_controller_creates_them(is_owned, is_again):
    low = owned("low", "n", "4") if is_owned else make_pod("low", cpu="4", node="n")
    scheduler = Scheduler()
    scheduler.add(make_node("n"), low, make_pod("high", cpu="4", priority=9))
    decisions = settle(scheduler, preemption=True)
    assert decisions["default/high"].node == "n"
    assert ("default/low" in decisions) is is_again
    assert ("default/low" in scheduler.pending) is is_again


# -------------------------------------------------------------------------------- stand-ins


def test_each_pod_whose_owner_is_missing_has_a_stand_in():
    objects = [make_pod("alone"), owned("x", "n", "1"), ended(owned("y", "n", "1"))]
    kinds = [each.kind for each in with_stand_ins(objects)]
    assert kinds.count("ReplicaSet") == 1
    assert kinds.count("Pod") == 3


# ---------------------------------------------------------------------------------- scaling


def scaled(objects, **options):
    autoscaling = parse_node_groups({"groups": [group("a")], "options": options}, "groups")
    return planned_scaling(objects, autoscaling, SchedulerOptions(), 4 * MINUTE_NS)


def test_moves_are_those_of_pods_with_another_node_and_of_their_replacements():
    before = [
        make_pod("stays", node="n"), make_pod("placed", cpu="1"), make_pod("waits"),
        owned("left", "n", "1"), make_pod("gone"), ended(make_pod("ended", node="n")),
    ]  # fmt: skip
    after = [
        make_pod("stays", node="n"), make_pod("placed", cpu="1", node="m"), make_pod("waits"),
        owned("new", "m", "1"),
    ]  # fmt: skip
    new = {
        **after[3].raw["metadata"],
        "ownerReferences": before[3].raw["metadata"]["ownerReferences"],
    }
    after[3] = decode({**after[3].raw, "metadata": new})
    found = list(_moves(before, world_of(after)))
    assert [(each.pod, each.node, each.replacement, each.to) for each in found] == [
        ("default/placed", "", "default/placed", "m"),
        ("default/left", "n", "default/new", "m"),
    ]
    assert found[0].requests["cpu"] == 1000


def test_a_plan_of_scaling_explains_pending_pods_and_adds_nodes_of_the_group():
    ended = make_pod("ended", cpu="1").raw
    objects = [
        make_node("old", cpu="1m"), make_pod("big", cpu="3"), make_pod("huge", cpu="9"),
        decode({**ended, "status": {"phase": "Failed"}}), deployment("web", 1, cpu="5"),
    ]  # fmt: skip
    plan = scaled(objects)
    assert [(each.pod, each.chosen) for each in plan.pods] == [
        ("default/big", ("a",)), ("default/huge", ()),
    ]  # fmt: skip
    (node,) = plan.new_nodes
    assert node["metadata"]["labels"]["podwright.dev/node-group"] == "a"
    assert plan.removed_nodes == ()
    assert "default/huge" in plan.pending
    assert "default/ended" not in plan.pending
    assert "default/big" not in plan.pending


def test_a_plan_of_scaling_names_the_nodes_that_go():
    objects = [make_node(name, labels={"pool": "a"}) for name in ("b", "a")]
    quick = {"scaleDownUnneededTime": "30s", "scaleDownDelayAfterAdd": "0s"}
    assert scaled(objects, **quick).removed_nodes == ("a", "b")


@pytest.mark.parametrize("seed", [0, 1, 2, 7])
def test_uids_of_a_plan_are_not_those_of_the_cluster(seed):
    """They are functions of the seed."""
    options = SchedulerOptions(seed=seed, start_ns=START_NS)
    served = make_node("n").raw
    served = {**served, "metadata": {**served["metadata"], "uid": "u"}}
    assert planned_world([decode(served)], options).store.seed != seed
    assert planned_world([make_node("n")], options).store.seed == seed


@pytest.mark.parametrize(
    ("cpus", "placed"), [(["2", "2"], 2), (["2", "3"], 0), (["1", "2", "3"], 0), (["1", "1"], 2)]
)
def test_pods_that_belong_together_are_placed_as_a_whole(cpus, placed):
    scheduler = Scheduler()
    keys = [f"default/p{number}" for number in range(len(cpus))]
    scheduler.add(
        make_node("n"), *(make_pod(f"p{number}", cpu=cpu) for number, cpu in enumerate(cpus))
    )
    unfit, evicted = _place_all(scheduler, keys, preemption=False)
    assert (unfit is None) is bool(placed)
    assert evicted == []
    assert len(scheduler.cluster.pods) == placed


@pytest.mark.parametrize(("expands", "count"), [(True, 3), (False, None)])
def test_the_pods_of_workloads_are_bought_for_if_they_are_expanded(expands, count):
    types = [pw.NodeType(name="t", price=1.0, allocatable={"cpu": "4", "memory": "64Gi"})]
    objects = [deployment("web", 3, cpu="3")]
    if count is None:
        with pytest.raises(InputError):
            pw.buy_nodes(objects, types, expands_workloads=expands)
    else:
        assert pw.buy_nodes(objects, types, expands_workloads=expands).nodes == {"t": count}
