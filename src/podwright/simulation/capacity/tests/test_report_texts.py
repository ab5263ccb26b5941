"""The texts of reports, whole: findings, figures and tables of answers that are given."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.simulation.capacity import capacity_report, drain_report, purchase_report
from podwright.simulation.capacity.buying import NodePurchase
from podwright.simulation.capacity.counting import (
    Capacity,
    CapacityQuestion,
    Headroom,
    TemplateCapacity,
)
from podwright.simulation.capacity.drains import (
    BlockedNode,
    DrainPlan,
    DrainStep,
    Move,
    Unfit,
)
from podwright.simulation.capacity.filling import CapacityStop, StopReason
from podwright.simulation.capacity.losses import Loss, PendingAfter
from podwright.simulation.capacity.node_types import NodeType
from podwright.testing import make_pod

REASONS = (
    StopReason(reason="Insufficient cpu", plugin="NodeResourcesFit", nodes=2),
    StopReason(reason="no claim", plugin="", nodes=1),
)
STOP = CapacityStop(type="Unschedulable", message="0/3 nodes", pod="default/p-4", reasons=REASONS)
REACHED = CapacityStop(type="LimitReached", message="Maximum number of pods simulated: 9")


def template(name, count, **fields):
    given: dict[str, Any] = {"kind": "Pod", "pod": make_pod(name), "weight": 1, **fields}
    places: dict[str, Any] = {"nodes": {}, "zones": {}, "pools": {}}
    return TemplateCapacity(name=name, count=count, **{**places, **given})


def texts(report):
    return [(each.text, *each.details) for each in report.findings]


def rows(report):
    return {each.title: (each.heads, each.rows, each.shown) for each in report.tables}


def test_the_report_of_templates():
    first = template("p", 3, nodes={"n0": 2, "n1": 1}, zones={"a": 2, "": 1}, pools={"x": 3})
    answer = Capacity(
        node_count=2, pending_scheduled=3, pending_unscheduled=2, sets=1, stop=STOP,
        templates=(first, template("q", 1)), evicted=("default/low",),
    )  # fmt: skip
    report = capacity_report(answer, CapacityQuestion())
    assert report.title == "Capacity"
    assert texts(report) == [
        ("3 of p and 1 of q fit on 2 nodes (1 sets).",),
        ("1 pods of lower priority are evicted.",),
        ("3 of 5 pending pods of the cluster were scheduled before.",),
        ("Unschedulable: 0/3 nodes",),
    ]
    assert report.figures == [
        ("p by zone", {"a": 2, "": 1}), ("p by pool", {"x": 3}), ("q by zone", {}),
        ("q by pool", {}), ("Pending pods after the loss of", {}),
    ]  # fmt: skip
    tables = rows(report)
    assert tables["Nodes"] == (
        ("PODS", "NODE", "COUNT"), [("p", "n0", "2"), ("p", "n1", "1")], 0,
    )  # fmt: skip
    assert tables["Where"] == (
        ("PODS", "OF", "NAME", "COUNT"),
        [("p", "zone", "a", "2"), ("p", "zone", "<none>", "1"), ("p", "pool", "x", "3")],
        None,
    )
    assert tables["What stops default/p-4"] == (
        ("NODES", "PLUGIN", "REASON"),
        [("2", "NodeResourcesFit", "Insufficient cpu"), ("1", "PreFilter", "no claim")],
        None,
    )


@pytest.mark.parametrize(
    ("templates", "node_count", "text"),
    [
        ((template("p", 0),), 1, "0 of p fit on 1 node."),
        ((template("p", 1),), 0, "1 of p fit on 0 nodes."),
    ],
)
def test_a_single_template_has_no_sets(templates, node_count, text):
    answer = Capacity(node_count=node_count, stop=REACHED, templates=templates)
    report = capacity_report(answer, CapacityQuestion())
    assert texts(report) == [(text,), (f"LimitReached: {REACHED.message}",)]


def test_what_preemption_would_evict_is_a_finding():
    stop = CapacityStop(
        type="Unschedulable", message="m", nominated_node="n", victims=("default/a", "default/b")
    )
    report = capacity_report(Capacity(node_count=1, stop=stop), CapacityQuestion())
    assert texts(report)[-1] == (
        "Preemption would evict default/a, default/b from n: --preemption.",
    )


def headroom(key, count, running=1, stop=STOP):
    return Headroom(kind="ReplicaSet", key=key, running=running, count=count, stop=stop)


def test_the_report_of_a_headroom():
    bare = CapacityStop(type="Unschedulable", message="no nodes")
    found = (
        headroom("d/full", 0), headroom("d/none", 0, stop=bare), headroom("d/some", 3, 7),
        headroom("d/many", 9, stop=REACHED),
    )  # fmt: skip
    report = capacity_report(
        Capacity(node_count=1, headroom=found), CapacityQuestion(headroom=True)
    )
    assert texts(report) == [
        ("No more pods of these workloads fit: replicaset/d/full, replicaset/d/none.",)
    ]
    why = "2 Insufficient cpu, 1 no claim"
    assert rows(report)["How many more pods of each workload fit"] == (
        ("WORKLOAD", "PODS", "MORE", "STOPPED BY"),
        [
            ("replicaset/d/full", "1", "0", why),
            ("replicaset/d/none", "1", "0", "no nodes"),
            ("replicaset/d/some", "7", "3", why),
            ("replicaset/d/many", "1", "9+", ""),
        ],
        None,
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({}, []),
        ({"headroom": True}, ["No workload of the cluster has pods on nodes."]),
        ({"loss": ("zone",)}, ["No node has a label that names its zone."]),
        ({"loss": ("zone", "pool")}, ["No node has a label that names its zone or pool."]),
    ],
)
def test_what_was_asked_and_is_not_there_is_said(question, expected):
    report = capacity_report(Capacity(node_count=1), CapacityQuestion(**question))
    assert [each.text for each in report.findings] == expected


def loss(name, pending=0, **fields):
    after = tuple(PendingAfter(pod=f"d/{n}", stop=STOP) for n in range(pending))
    given = {"of": "node", "nodes": 1, "recreated": 4, "gone": (), **fields}
    return Loss(name=name, pending=after, **given)


def test_the_report_of_losses():
    found = (loss("a", 5, gone=("d/x",), of="zone", nodes=3), loss("b", 1), loss("c"))
    report = capacity_report(Capacity(node_count=1, losses=found), CapacityQuestion(loss=("zone",)))
    assert texts(report) == [
        ("Pods that no controller recreates are gone: d/x.",),
        ("5 pods pending after the loss of zone a:", "d/0: 0/3 nodes"),
        ("1 pod pending after the loss of node b:", "d/0: 0/3 nodes"),
    ]
    title = "Pending pods after the loss of"
    assert report.figures == [(title, {"zone a": 5, "node b": 1, "node c": 0})]
    assert rows(report)[title] == (
        ("LOSS", "NAME", "NODES", "RECREATED", "PENDING", "GONE", "PENDING PODS"),
        [
            ("zone", "a", "3", "4", "5", "1", "d/0, d/1, d/2 and 2 more"),
            ("node", "b", "1", "4", "1", "0", "d/0"),
            ("node", "c", "1", "4", "0", "0", ""),
        ],
        10,
    )


def purchase(**fields):
    given: dict[str, Any] = {
        "nodes": {"large": 2, "small": 1}, "price": 10.5, "bound": 8.4, "is_cheapest": True,
        "pending": 9, "scheduled": 7, "mixes": 1, "unplaced": (),
    }  # fmt: skip
    return NodePurchase(**{**given, **fields})


TYPES = [NodeType(name="small", price=2.5), NodeType(name="large", price=4)]


def test_the_report_of_a_purchase():
    other = msgspec.structs.replace(STOP, pod="default/q", message="no")
    report = purchase_report(purchase(unplaced=(STOP, other, STOP)), TYPES)
    assert report.title == "Purchase"
    assert texts(report) == [
        ("3 nodes for 10.5: 7 of 9 pending pods have a node then.",),
        ("The lower bound is 8.4 (20.0% less); no cheaper mix fits (1 mix tried).",),
        (
            "default/p-4, default/p-4 have no node even then, nor on one more of each type:",
            "0/3 nodes",
        ),
        ("default/q has no node even then, nor on one more of each type:", "no"),
    ]
    assert report.figures == [("Nodes of each type", {"large": 2, "small": 1})]
    assert rows(report) == {
        "Nodes to buy": (
            ("TYPE", "NODES", "PRICE", "TOTAL"),
            [("large", "2", "4", "8"), ("small", "1", "2.5", "2.5")],
            None,
        )
    }
    unlike = [msgspec.structs.replace(STOP, message=f"{number // 2}") for number in range(25)]
    *_, last, more = texts(purchase_report(purchase(unplaced=tuple(unlike)), TYPES))
    assert last[1] == "9"
    assert more == ("5 more pods have no node, for other reasons: -o json.",)
    given = purchase(is_cheapest=False, mixes=2, nodes={"small": 1}, price=2.5, bound=2.5)
    assert texts(purchase_report(given, TYPES)) == [
        ("1 node for 2.5: 7 of 9 pending pods have a node then.",),
        ("The lower bound is 2.5 (0.0% less); cheaper mixes may fit (2 mixes tried).",),
    ]
    given = purchase(nodes={}, price=0, bound=0, pending=1, scheduled=1)
    text = "No nodes to buy: 1 of 1 pending pods fit on the existing nodes."
    assert texts(purchase_report(given, TYPES)) == [(text,)]


def move(pod, node, replacement="", to=""):
    return Move(pod=f"d/{pod}", node=node, replacement=replacement and f"d/{replacement}", to=to)


def unfit(pod, message="m", remedies=("r", "s")):
    return Unfit(pod=f"d/{pod}", message=message, remedies=remedies)


def test_the_report_of_a_drain_plan():
    steps = (
        DrainStep(
            nodes=("n0", "n1"), seconds=29.6,
            gone=("d/g",), local_data=("d/l",), protected=("d/k",),
            moves=(move("a", "n0", "b", "n4"), move("c", "n1"), move("e", "n1", "f")),
        ),
        DrainStep(
            nodes=("n2",), waits_for=("d/web",), seconds=3, moves=(move("h", "n2", "i", "n3"),),
            unfit=(unfit("u"), unfit("v"), unfit("w", "other"), unfit("x", remedies=())),
        ),
    )  # fmt: skip
    blocked = BlockedNode(
        node="n9", budgets=("d/web",), pods=("p", "q", "r", "s"), message="no", remedy="more"
    )
    plan = DrainPlan(steps=steps, blocked=(blocked,), is_complete=False)
    report = drain_report(plan)
    assert report.title == "Drain plan"
    again = ("it fits after this: r", "it fits after this: s")
    alone = ("each alone fits after this: r", "each alone fits after this: s")
    assert texts(report) == [
        ("3 nodes can be drained in 2 steps.",),
        ("Step 2: d/u and 1 more find no node:", "m", *alone),
        ("Step 2: d/w finds no node:", "other", *again),
        ("Step 2: d/x finds no node:", "m"),
        ("Pods that no controller recreates:", "d/g"),
        ("Pods that lose the data of an emptyDir:", "d/l"),
        ("Pods that ask autoscalers not to evict them, and that a drain evicts:", "d/k"),
        ("Node n9 cannot be drained: p, q, r and 1 more", "no", "more"),
    ]
    assert report.figures == [
        ("Evicted pods by step", {"1": 3, "2": 1}), ("Pods that nodes get", {"n3": 1, "n4": 1}),
    ]  # fmt: skip
    assert list(report.figures[1][1]) == ["n3", "n4"]
    assert rows(report) == {
        "Steps": (
            ("STEP", "NODES", "EVICTED", "WAITS FOR", "PENDING", "TIME"),
            [("1", "n0, n1", "3", "<none>", "0", "30s"), ("2", "n2", "1", "d/web", "4", "3s")],
            None,
        ),
        "What moves where": (
            ("STEP", "POD", "FROM", "REPLACED BY", "TO"),
            [
                ("1", "d/a", "n0", "d/b", "n4"),
                ("1", "d/c", "n1", "<none>", "<none>"),
                ("1", "d/e", "n1", "d/f", "<none>"),
                ("2", "d/h", "n2", "d/i", "n3"),
            ],
            0,
        ),
    }
    assert texts(drain_report(plan, 2))[-1][0].endswith(": p, q and 2 more")
    assert texts(drain_report(plan, None))[-1][0].endswith(": p, q, r, s")
    assert repr(plan) == "<DrainPlan: 2 steps, 1 nodes blocked>"


def test_the_report_of_a_surge_has_the_new_nodes_and_that_of_nothing_says_so():
    steps = (DrainStep(nodes=("a",), added=("a-new",)), DrainStep(nodes=("b",)))
    report = drain_report(DrainPlan(steps=steps, blocked=(), is_complete=True))
    assert rows(report)["Steps"][:2] == (
        ("STEP", "NODES", "NEW NODES", "EVICTED", "WAITS FOR", "PENDING", "TIME"),
        [("1", "a", "a-new", "0", "<none>", "0", "0s"), ("2", "b", "", "0", "<none>", "0", "0s")],
    )
    empty = drain_report(DrainPlan(steps=(), blocked=(), is_complete=True))
    assert texts(empty) == [("No node can be drained.",)]
    one = drain_report(DrainPlan(steps=steps[:1], blocked=(), is_complete=True))
    assert texts(one) == [("1 node can be drained in 1 step.",)]


def test_a_report_as_html_has_findings_figures_and_whole_tables_in_order():
    found = tuple(headroom(f"d/w{number}", 3) for number in range(12))
    answer = Capacity(node_count=1, headroom=found, losses=(loss("a", 2),))
    text = capacity_report(answer, CapacityQuestion(headroom=True)).html()
    parts = [
        "<title>Capacity</title>", "<li>2 pods pending after the loss of node a: d/0: 0/3 nodes",
        "<dt>node a</dt>", "Stopped by", "replicaset/d/w11", "Recreated",
    ]  # fmt: skip
    assert sorted(parts, key=text.index) == parts
