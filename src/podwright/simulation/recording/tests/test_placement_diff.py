"""What a comparison says about pods and nodes, as text and as tables."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects import with_fields, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Because
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import CallDone
from podwright.simulation.recording.comparison.diff import diff, placements_of_run
from podwright.simulation.recording.comparison.placement_diff import changes_of, compare
from podwright.simulation.recording.comparison.placements import (
    ClusterUse,
    Placements,
    PodPlacement,
    Replicas,
    controller_of_replica,
    counterparts,
    paired_replicas,
)
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.tests.recording import Recorded
from podwright.testing import make_node, make_pod

pytest.importorskip("pyarrow")


def use(*nodes: tuple[str, str, int, int], resource: str = "cpu") -> ClusterUse:
    """Return the use of nodes: name, zone, allocatable, and requested by as many pods."""
    requested = np.array([[each[3]] for each in nodes], dtype=np.int64).reshape(-1, 1)
    return ClusterUse(
        nodes=tuple(each[0] for each in nodes),
        zones=tuple(each[1] for each in nodes),
        resources=(resource,),
        allocatable=np.array([[each[2]] for each in nodes], dtype=np.int64).reshape(-1, 1),
        requested=requested,
        pods=requested[:, 0],
        movable_pods=requested[:, 0],
    )


def side(found: ClusterUse, **pods: PodPlacement) -> Placements:
    return Placements({f"default/{name}": each for name, each in pods.items()}, found, len(pods))


def on(node: str) -> PodPlacement:
    return PodPlacement(node=node)


def nominated(node: str) -> PodPlacement:
    return PodPlacement(nominated=node, message="0/1 nodes are available")


ONE = use(("n1", "a", 4, 1))


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (on("n1"), on("n1"), None),
        (on("n1"), on("n2"), "moved"),
        (on("n1"), nominated("n1"), "newly pending"),
        (nominated("n1"), on("n1"), "no longer pending"),
        (nominated("n1"), nominated("n1"), None),
        (nominated("n1"), nominated("n2"), "nominated elsewhere"),
        (nominated(""), nominated("n2"), "nominated elsewhere"),
        (None, on("n1"), "added"),
        (nominated(""), None, "removed"),
    ],
)
def test_how_a_placement_differs(before, after, change):
    pods = [{} if each is None else {"p": each} for each in (before, after)]
    first, second = (side(ONE, same=on("n1"), **each) for each in pods)
    assert changes_of(first, second) == ({} if change is None else {"default/p": change})
    found = compare(first, second, {})
    assert found.counts == ({} if change is None else {change: 1})
    assert found.is_same is (change is None)
    lists = {
        "moved": found.moved,
        "newly pending": found.newly_pending,
        "no longer pending": found.no_longer_pending,
    }
    assert {name for name, pods in lists.items() if pods} == {change} & lists.keys()


def test_nodes_that_one_side_has_are_added_or_removed():
    before = side(use(("both", "a", 4, 1), ("gone", "a", 4, 1), ("idle", "", 4, 0)))
    after = side(use(("both", "a", 4, 0), ("idle", "", 4, 2), ("new", "b", 4, 1)))
    found = compare(before, after, {})
    nodes = found.nodes
    assert (nodes.used, nodes.emptied, nodes.newly_used) == ((2, 2), ("both",), ("idle",))
    assert (nodes.added, nodes.removed) == (("new",), ("gone",))
    assert found.zones == {"": (0, 2), "a": (2, 0), "b": (0, 1)}
    assert not found.is_same
    (cpu,) = [each for each in found.resources if each.resource == "cpu"]
    assert (cpu.requested, cpu.allocatable) == ((2, 3), (12, 12))
    assert cpu.share == (2 / 12, 3 / 12)
    # Those that a side does not have are there with nothing.
    (memory,) = [each for each in found.resources if each.resource == "memory"]
    assert (memory.requested, memory.allocatable) == ((0, 0), (0, 0))
    assert (memory.share, memory.spread) == ((None, None), (None, None))


def test_nodes_and_resources_are_listed_in_order():
    gone, kept = [(f"g{n}", "", 4, 0) for n in range(6)], ("kept", "", 4, 1)
    before, after = side(use(*reversed(gone), kept)), side(use(kept))
    assert compare(before, after, {}).nodes.removed == tuple(each[0] for each in gone)
    assert compare(after, before, {}).nodes.added == tuple(each[0] for each in gone)
    amounts = np.array([[4, 4]])
    resources = ("a.example/idle", "b.example/used")
    found = dataclasses.replace(
        use(("n1", "", 4, 1)), resources=resources, allocatable=amounts, requested=amounts * [0, 1]
    )
    listed = [each.resource for each in compare(side(found), side(found), {}).resources]
    assert listed == ["cpu", "memory", "pods", "b.example/used"]


def test_a_pod_follows_others_that_differ_before_it_on_any_side():
    moved = {"a": on("n2"), "b": on("n2")}
    before = side(ONE, a=on("n1"), b=on("n1"))
    after = side(ONE, **dict(reversed(moved.items())))
    found = {each.pod: each.follows for each in compare(before, after, {}).differences}
    assert found == {"default/a": True, "default/b": True}


@pytest.mark.parametrize(("requested", "is_shown"), [(1, True), (0, False)])
def test_a_resource_that_no_pod_requests_is_left_out(requested, is_shown):
    idle = side(use(("n1", "", 4, 0), resource="example.com/gpu"))
    used = side(use(("n1", "", 4, requested), resource="example.com/gpu"))
    without = side(use(("n1", "", 4, 1)))
    for before, after in ((idle, used), (used, idle), (used, without), (without, used)):
        found = {each.resource: each for each in compare(before, after, {}).resources}
        assert ("example.com/gpu" in found) is is_shown
        assert list(found)[:3] == ["cpu", "memory", "pods"]


def test_the_tables_have_a_row_for_each_difference():
    score: Any = type("Score", (), {"rule": "ImageLocality", "weighted": 7})()
    because = Because(kind="priority", rule="ImageLocality", scores=(score,), margin=7)
    draw = Because(kind="draw")
    before = side(
        use(("n1", "a", 4, 2), ("n2", "b", 4, 0), ("old", "a", 4, 1)),
        p=on("n1"), q=on("n1"), r=nominated("n1"),
    )  # fmt: skip
    after = side(
        use(("n1", "a", 4, 0), ("n2", "b", 4, 2), ("new", "b", 4, 1)),
        p=on("n2"), q=nominated(""), r=nominated("n2"),
    )  # fmt: skip
    found = compare(before, after, {"default/p": (because, draw)}, {"default/p": "default/other"})
    tables = {name: table.to_pylist() for name, table in found.tables.items()}
    assert tables["pods"] == [
        {"namespace": "default", "pod": "p", "counterpart": "other", "change": "moved",
         "before": "n1", "after": "n2", "kind_before": "priority", "kind_after": "draw",
         "rule_before": "ImageLocality", "rule_after": None, "follows": False},
        {"namespace": "default", "pod": "q", "counterpart": None, "change": "newly pending",
         "before": "n1", "after": None, "kind_before": None, "kind_after": None,
         "rule_before": None, "rule_after": None, "follows": True},
        {"namespace": "default", "pod": "r", "counterpart": None, "change": "nominated elsewhere",
         "before": None, "after": None, "kind_before": None, "kind_after": None,
         "rule_before": None, "rule_after": None, "follows": True},
    ]  # fmt: skip
    assert tables["scores"] == [
        {"namespace": "default", "pod": "p", "side": "before", "plugin": "ImageLocality",
         "weighted": 7},
    ]  # fmt: skip
    assert tables["nodes"] == [
        {"node": "n1", "change": "emptied"},
        {"node": "n2", "change": "newly used"},
        {"node": "new", "change": "added"},
        {"node": "old", "change": "removed"},
    ]
    assert tables["zones"] == [
        {"zone": "a", "pods_before": 3, "pods_after": 0},
        {"zone": "b", "pods_before": 0, "pods_after": 3},
    ]
    cpu = tables["resources"][0]
    assert set(cpu) == {"resource"} | {
        f"{name}_{which}" for name in ("requested", "allocatable", "share", "spread")
        for which in ("before", "after")
    }  # fmt: skip
    assert (cpu["requested_before"], cpu["allocatable_after"], cpu["share_after"]) == (3, 12, 0.25)


def test_a_comparison_is_shown_with_its_counts():
    before, after = side(ONE, p=on("n1"), q=on("n1")), side(ONE, p=on("n2"), q=nominated(""))
    found = compare(before, after, {})
    assert repr(found) == "<PlacementDiff: 2 pods, 1 moved, 1 newly pending>"
    assert [repr(each) for each in found.differences] == [
        "<PodDifference: default/p moved, from n1 to n2>",
        "<PodDifference: default/q newly pending, from n1 to no node>",
    ]
    text = found._repr_html_()
    assert "Differences of 2 pods" in text
    assert "25.00%" in text
    assert "No pod is placed differently." not in text
    same = compare(before, before, {})
    assert repr(same) == "<PlacementDiff: 2 pods, no difference>"
    assert "No pod is placed differently." in same._repr_html_()


def test_pods_of_a_workload_are_paired_in_the_order_of_their_creation():
    web, db = ("Deployment", "default/web"), ("StatefulSet", "default/db")
    before = {"a1": web, "same": web, "a2": web, "d": db, "a3": web}
    after = {"b1": web, "same": web, "b2": web, "x": ("Deployment", "default/x")}
    pairs = counterparts(before, after, pods_before=before, pods_after=after)
    assert pairs == {"a1": "b1", "a2": "b2"}
    pairs = counterparts(after, before, pods_before=after, pods_after=before)
    assert pairs == {"b1": "a1", "b2": "a2"}


def replicas(*nodes: str, controller: str = "Job a/x", **named: str) -> Replicas:
    numbered = {str(number): node for number, node in enumerate(nodes)}
    return {key: (controller, node) for key, node in (numbered | named).items()}


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        pytest.param(replicas("n1", "n2"), replicas("n1", "n2"), "00 11", id="as they are"),
        pytest.param(replicas("n1", "n2"), replicas("n2", "n1"), "01 10", id="by node"),
        pytest.param(replicas("", "n2"), replicas(a="n2", b=""), "0b 1a", id="by no node"),
        pytest.param(replicas("n1", "n1"), replicas("n1", a="n1"), "00 1a", id="a name first"),
        pytest.param(replicas("n1", "n2"), replicas(**{"1": "n4"}, a="n3"), "0a 11", id="names"),
        pytest.param(replicas("n1", "n2"), replicas(a="n3", b="n4"), "0a 1b", id="in order"),
        pytest.param(
            replicas("n1", "n2"), replicas("n3", a="n1"), "0a 10", id="a node, not a name"
        ),
        pytest.param(
            replicas("n1", "n2"), replicas(**{"1": "n1"}, a="n3"), "01 1a", id="a name is taken"
        ),
        pytest.param(replicas("n1"), replicas(a="n1", controller="Job a/y"), "", id="others"),
        pytest.param(replicas("n1", "n2"), replicas(a="n2"), "1a", id="one is gone"),
        pytest.param(replicas("n1"), replicas(a="n2", b="n1"), "0b", id="one is new"),
        # 0 would be the pod on n1; but it is a name of both sides, and would stand for two pods.
        pytest.param(replicas("n1"), replicas("n2", a="n1"), "00", id="a name is taken back"),
        pytest.param(
            replicas("n1", "n2"), replicas("n3", "n1", a="n2"), "00 11", id="and one after it"
        ),
    ],
)
def test_replicas_are_paired_by_node_then_by_name_then_in_order(before, after, pairs):
    found = paired_replicas(before, after)
    assert {f"{one}{other}" for one, other in found.items()} == set(pairs.split())


OWNER = {"apiVersion": "batch/v1", "controller": True, "name": "x", "uid": "u"}
JOB = [{**OWNER, "kind": "Job"}]


def owned(name: str, **metadata: Any) -> Any:
    return decode(make_pod(name).raw | {"metadata": {"name": name, "namespace": "a"} | metadata})


@pytest.mark.parametrize(
    ("metadata", "controller"),
    [
        ({"generateName": "x-", "ownerReferences": JOB}, "Job a/x"),
        ({"ownerReferences": JOB}, ""),
        ({"generateName": "x-"}, ""),
        ({"generateName": "x-", "ownerReferences": [{**OWNER, "kind": "StatefulSet"}]}, ""),
    ],
)
def test_replicas_have_generated_names_and_a_controller(metadata, controller):
    assert controller_of_replica(owned("x-1", **metadata)) == controller


def test_replicas_of_two_runs_that_differ_by_name_only_do_not_differ():
    def run_of(*names: str) -> DecisionLog:
        recorded = Recorded()
        pods = [owned(name, generateName="x-", ownerReferences=JOB) for name in names]
        recorded.attempt(make_node("n1"), *pods)
        return recorded.run.log

    same = diff(run_of("x-a", "x-b"), run_of("x-b", "x-c"))
    assert (same.is_same, same.differences) == (True, ())
    (added,) = diff(run_of("x-a"), run_of("x-b", "x-c")).differences
    assert (added.pod, added.change) == ("a/x-c", "added")


def test_a_replica_stands_for_one_replica_of_the_other_run():
    def run_of(*on_nodes: str) -> DecisionLog:
        recorded = Recorded()
        for each in on_nodes:
            name, node = each.split("@")
            recorded.attempt(make_node(node, cpu="1"))
            pod = owned(name, generateName="x-", ownerReferences=JOB)
            recorded.attempt(with_node_name(pod, node))
        return recorded.run.log

    (gone,) = diff(run_of("x-a@n1", "x-b@n2"), run_of("x-c@n1")).differences
    assert (gone.pod, gone.change, gone.counterpart) == ("a/x-b", "removed", "")
    (moved,) = diff(run_of("x-a@n1"), run_of("x-a@n2")).differences
    assert (moved.pod, moved.change, moved.counterpart) == ("a/x-a", "moved", "")


def placed(recorded: Recorded, name: str) -> PodPlacement:
    return placements_of_run(recorded.run.log).placements.pods[f"default/{name}"]


def test_a_pod_is_where_its_binding_succeeded_last():
    recorded = Recorded()
    recorded.attempt(make_node("n1", cpu="1"), make_pod("p", cpu="1"))
    recorded.attempt(make_pod("q", cpu="1"))
    assert placed(recorded, "p").node == "n1"
    waiting = placed(recorded, "q")
    assert (waiting.node, waiting.nominated) == ("", "")
    assert waiting.message.startswith("0/1 nodes are available: 1 Insufficient cpu")
    found = placements_of_run(recorded.run.log)
    assert list(found.cycles) == ["default/p", "default/q"]
    assert found.placements.tried_count == 2


@pytest.mark.parametrize("error", [CallError("gone"), None])
def test_a_binding_that_is_not_confirmed_counts_if_it_succeeded(error):
    recorded = Recorded()
    recorded.holds = {"Bind"}
    recorded.attempt(make_node("n1", cpu="1"), make_pod("p", cpu="1"))
    (bind,) = recorded.held
    assert placed(recorded, "p").node == "", "it is under way"
    recorded.tell(CallDone(bind.call, error))
    recorded.put(make_pod("p", cpu="1", labels={"changed": "before it is seen with its node"}))
    assert placed(recorded, "p").node == ("n1" if error is None else "")


def test_a_binding_of_an_earlier_pod_is_not_that_of_the_pod_of_its_name():
    recorded = Recorded()
    recorded.holds = {"Bind"}
    recorded.attempt(make_node("n1", cpu="1"), make_pod("p", cpu="1"))
    (bind,) = recorded.held
    recorded.put(with_fields(make_pod("p", cpu="1"), "metadata", uid="another"))
    recorded.tell(CallDone(bind.call))
    assert placed(recorded, "p") == PodPlacement()
    assert placements_of_run(recorded.run.log).workloads == {}


def test_a_pod_that_preempts_is_nominated_until_another_one_has_its_name():
    recorded = Recorded()
    recorded.attempt(make_node("n1", cpu="1"), make_pod("low", cpu="1"))
    recorded.attempt(make_pod("high", cpu="1", priority=7))
    assert placed(recorded, "high").nominated == "n1"
    recorded.put(with_fields(make_pod("high", cpu="1"), "metadata", uid="another"))
    assert placed(recorded, "high") == PodPlacement()


def test_a_nomination_ends_when_a_pod_of_higher_priority_takes_it():
    recorded = Recorded()
    recorded.attempt(make_node("n1", cpu="1"), make_pod("low", cpu="1"))
    recorded.holds = {"DeletePod"}
    recorded.attempt(make_pod("high", cpu="1", priority=7))
    recorded.attempt(make_pod("urgent", cpu="1", priority=9))
    assert (placed(recorded, "high").nominated, placed(recorded, "urgent").nominated) == ("", "n1")


USE = ClusterUse(
    nodes=("a", "b"),
    zones=("z", ""),
    resources=("cpu",),
    allocatable=np.array([[1], [2]]),
    requested=np.array([[0], [1]]),
    pods=np.array([0, 1]),
    movable_pods=np.array([0, 1]),
)


@pytest.mark.parametrize(
    ("change", "is_equal"),
    [
        ({}, True),
        ({"nodes": ("a", "c")}, False),
        ({"zones": ("z", "z")}, False),
        ({"resources": ("memory",)}, False),
        ({"allocatable": np.array([[1], [3]])}, False),
        ({"requested": np.array([[1], [1]])}, False),
        ({"pods": np.array([1, 1])}, False),
    ],
)
def test_two_uses_are_equal_if_their_nodes_have_the_same_requests(change, is_equal):
    assert USE.equals(dataclasses.replace(USE, **change)) is is_equal


def test_the_use_of_a_resource_has_sums_shares_and_spreads_of_both_sides():
    before = side(use(("n1", "", 4, 1), ("n2", "", 8, 0)))
    after = side(use(("n1", "", 4, 4), ("n2", "", 12, 0), ("n3", "", 0, 0)))
    (cpu,) = [each for each in compare(before, after, {}).resources if each.resource == "cpu"]
    assert (cpu.requested, cpu.allocatable) == ((1, 4), (12, 16))
    assert cpu.share == (1 / 12, 0.25)
    assert cpu.spread == (0.125, 0.5)  # of 0.25 and 0; of 1 and 0, without the node that has none
