"""What is said of a pod that two rule sets treat differently."""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object
from podwright.scheduler.assembly import Because
from podwright.scheduler.assembly.compare_rules import (
    ComparedPod,
    ComparisonFigures,
    compare_rules,
    figures_of,
    kind_of,
)
from podwright.scheduler.assembly.scheduler import Scheduler
from podwright.scheduler.assembly.tests.test_deciding import Keeps
from podwright.scheduler.config import KubeSchedulerConfiguration, Rules
from podwright.scheduler.framework import Decision
from podwright.testing import make_node, make_pod


def sides(*objects: Object, **settings: Any) -> tuple[Scheduler, Scheduler]:
    modern = Scheduler()
    classic = Scheduler(KubeSchedulerConfiguration(rules=Rules(name="classic"), **settings))
    for scheduler in (modern, classic):
        scheduler.add(*objects)
    return modern, classic


def only(*objects: Object, **settings: Any) -> ComparedPod:
    (pod,) = compare_rules(*sides(*objects, **settings))
    return pod


def test_a_pod_that_both_treat_alike_needs_no_reason() -> None:
    pod = only(make_node("n1"), make_pod("web"))
    assert (pod.is_same, pod.because) == (True, (None, None))
    nowhere = only(make_node("n1", cpu="1"), make_pod("web", cpu="2"))
    assert (nowhere.is_same, nowhere.because) == (True, (None, None))


def test_a_predicate_that_only_one_side_has() -> None:
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "host",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a"}},
            }
        ]
    }
    pod = only(
        make_node("n1", cpu="8", labels={"host": "n1"}),
        make_node("n2", cpu="1", labels={"host": "n2"}),
        make_pod("old", labels={"app": "a"}, cpu="1", node="n1"),
        make_pod("new", labels={"app": "a"}, cpu="1", spec=spread),
    )
    modern, classic = pod.because
    assert [decision.node for decision in pod.decisions] == ["n2", "n1"]
    assert modern is not None
    assert (modern.kind, modern.rule) == ("predicate", "PodTopologySpread")
    assert classic is not None
    assert (classic.kind, classic.rule) == ("priority", "BalancedResourceAllocation")
    assert classic.margin == sum(score.weighted for score in classic.scores)
    assert kind_of(pod) == "predicate"


def test_a_gate_that_1_16_did_not_know() -> None:
    pod = only(make_node("n1"), make_pod("web", gates=["wait"]))
    modern, _ = pod.because
    assert modern is not None
    assert (modern.kind, modern.rule) == ("gated", "SchedulingGates")
    assert pod.decisions[1].node == "n1"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([], "n1: the only candidate"),
        (
            [make_node("n2", cpu="2"), make_pod("middle", cpu="2", node="n2", priority=5)],
            "n1: lowest priority of the first victim",
        ),
    ],
)
def test_whom_to_evict_is_judged_by_another_criterion(more: list[Object], reason: str) -> None:
    pod = only(
        make_node("n1", cpu="2"),
        make_pod("low", cpu="2", node="n1", priority=1),
        *more,
        make_pod("high", cpu="2", priority=9, spec={"preemptionPolicy": "Never"}),
    )
    modern, classic = pod.because
    assert modern is not None
    assert modern.reasons == ("it may not preempt",)
    assert classic is not None
    assert classic.kind == "preemption"
    assert classic.reasons == (reason,)


def test_a_node_that_was_not_looked_at_is_told_from_one_that_lost() -> None:
    nodes = [make_node(f"n{number}", cpu="1") for number in range(150)]
    taken = [make_pod(f"p{number}", cpu="900m", node=f"n{number}") for number in range(149)]
    pod = only(*nodes, *taken, make_pod("new", cpu="50m"), percentage_of_nodes_to_score=1)
    assert pod.decisions[0].node == "n149"
    _, classic = pod.because
    assert classic is not None
    assert classic.kind == "sampling"


@pytest.mark.parametrize("is_together", [False, True])
def test_sides_part_unless_one_follows_the_other(*, is_together: bool) -> None:
    modern, classic = sides(
        make_node("n1", cpu="8", memory="8Gi"),
        make_node("n2", cpu="8", memory="8Gi"),
        *(make_pod(f"p{number}", cpu="1", memory="1Gi") for number in range(12)),
    )
    compared = list(compare_rules(modern, classic, is_together=is_together))
    figures = figures_of(compared)
    assert figures.pod_count == 12
    assert figures.placed_counts == (12, 12)
    assert figures.differing_count == sum(figures.kinds.values())
    assert list(figures.kinds) == sorted(figures.kinds)
    if is_together:
        assert figures.parted_count == 0
        nodes = [
            {key: s.cluster.nodes.names[placed.slot] for key, placed in s.cluster.pods.items()}
            for s in (modern, classic)
        ]
        assert nodes[0] == nodes[1]


def compared(*because: Because | None, nodes: tuple[str, str], has_parted: bool) -> ComparedPod:
    pod = make_pod("web")
    one, other = (Decision(pod=pod, node=node) for node in nodes)
    reasons = (because[0], because[1]) if because else (None, None)
    return ComparedPod(
        pod=pod.key, decisions=(one, other), is_same=nodes[0] == nodes[1], has_parted=has_parted,
        because=reasons,
    )  # fmt: skip


def test_the_figures_count_pods_kinds_and_rules() -> None:
    full, spread = Because(kind="predicate", rule="Fit"), Because(kind="priority", rule="Spread")
    draw = Because(kind="draw")
    figures = figures_of([
        compared(nodes=("a", "a"), has_parted=False),
        compared(full, Because(kind="gated", rule="Gates"), nodes=("", "b"), has_parted=False),
        compared(spread, full, nodes=("a", "b"), has_parted=True),
        compared(draw, full, nodes=("a", ""), has_parted=True),
        compared(draw, None, nodes=("a", "b"), has_parted=True),
        compared(spread, draw, nodes=("a", "b"), has_parted=True),
        compared(spread, draw, nodes=("", "b"), has_parted=True),
        compared(nodes=("", ""), has_parted=True),
    ])  # fmt: skip
    assert figures == ComparisonFigures(
        pod_count=8,
        same_count=2,
        placed_counts=(5, 6),
        parted_count=5,
        kinds={"draw": 1, "gated": 1, "predicate": 2, "priority": 2},
        rules=({"Spread": 3, "Fit": 1}, {"Fit": 2, "Gates": 1}),
    )
    # In the order of names, and the most frequent first.
    assert list(figures.kinds) == ["draw", "gated", "predicate", "priority"]
    assert [list(counts) for counts in figures.rules] == [["Spread", "Fit"], ["Fit", "Gates"]]


def test_a_side_that_follows_takes_over_nominations() -> None:
    one, other = sides(
        make_node("n1", cpu="2"),
        make_pod("low", cpu="2", node="n1"),
        make_pod("high", cpu="2", priority=9),
    )
    other.add(make_node("n2", cpu="2"))
    (pod,) = compare_rules(one, other, is_together=True)
    assert [decision.node for decision in pod.decisions] == ["", "n2"]
    assert list(other.cluster.pods) == ["default/low"]
    assert other.pending["default/high"].status.nominated_node_name == "n1"


def test_a_side_that_follows_takes_a_pod_back_that_the_other_does_not_place() -> None:
    one, other = sides(make_node("n1", cpu="2"), make_pod("web", gates=["wait"]))
    (pod,) = compare_rules(one, other, is_together=True)
    assert [decision.node for decision in pod.decisions] == ["", "n1"]
    assert not pod.has_parted
    assert (list(other.cluster.pods), list(other.pending)) == ([], ["default/web"])


def test_a_side_that_does_not_follow_keeps_its_own_decision() -> None:
    one, other = sides(make_node("n1", cpu="2"), make_pod("web", gates=["wait"]))
    list(compare_rules(one, other))
    assert (list(other.cluster.pods), list(other.pending)) == (["default/web"], [])


class Avoids(pw.Plugin):
    """Rejects one pod on every node."""

    name = "Avoids"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        is_avoided = cycle.pod.metadata.name == "b"
        return pw.Status.unschedulable("avoided") if is_avoided else pw.Status()


def test_what_a_side_reserved_is_kept_where_both_agree_and_dropped_where_it_follows() -> None:
    one, other = Scheduler(plugins=[Avoids]), Scheduler(plugins=[Keeps])
    for scheduler in (one, other):
        scheduler.add(make_node("n1"), make_pod("a"), make_pod("b"))
    same, differs = compare_rules(one, other, is_together=True)
    assert (same.is_same, differs.is_same) == (True, False)
    assert list(other.bookkeeping().reservations) == ["default/a"]
    assert other.pending["default/b"].status.nominated_node_name == ""


def test_pods_after_the_first_difference_have_parted() -> None:
    one, other = sides(
        make_node("n1", cpu="2"),
        make_pod("a", priority=3),
        make_pod("b", priority=2, gates=["wait"]),
        make_pod("c", priority=1),
        make_pod("d"),
    )
    found = [(pod.is_same, pod.has_parted) for pod in compare_rules(one, other)]
    assert found == [(True, False), (False, False), (True, True), (True, True)]
