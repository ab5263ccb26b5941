"""What is said of a pod that two rule sets treat differently."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Object
from podwright.scheduler.assembly.compare_rules import (
    ComparedPod,
    compare_rules,
    figures_of,
    kind_of,
)
from podwright.scheduler.assembly.scheduler import Scheduler
from podwright.scheduler.config import KubeSchedulerConfiguration, Rules
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
    assert pod.is_same
    assert pod.because == (None, None)


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


def test_whom_to_evict_is_judged_by_another_criterion() -> None:
    pod = only(
        make_node("n1", cpu="2"),
        make_pod("low", cpu="2", node="n1", priority=1),
        make_pod("high", cpu="2", priority=9, spec={"preemptionPolicy": "Never"}),
    )
    modern, classic = pod.because
    assert modern is not None
    assert modern.reasons == ("it may not preempt",)
    assert classic is not None
    assert classic.kind == "preemption"
    assert classic.reasons == ("n1: the only candidate",)


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
    if is_together:
        assert figures.parted_count == 0
        nodes = [
            {key: s.cluster.nodes.names[placed.slot] for key, placed in s.cluster.pods.items()}
            for s in (modern, classic)
        ]
        assert nodes[0] == nodes[1]
