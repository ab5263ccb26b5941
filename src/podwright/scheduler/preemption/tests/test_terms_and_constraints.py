"""Victims that matter to affinity and to spreading: the dry run tells these plugins who is gone.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
SelectVictimsOnNode, which calls RemovePod and AddPod of each PreFilter plugin's extensions
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import Code
from podwright.scheduler.preemption import Preemption
from podwright.scheduler.preemption.tests.situations import attempt, pod

ZONE = "topology.kubernetes.io/zone"


def node(name: str, zone: str) -> Any:
    head = {"name": name, "labels": {"kubernetes.io/hostname": name, ZONE: zone}}
    allocatable = {"cpu": "3", "memory": "8Gi", "pods": "110"}
    document = {"apiVersion": "v1", "kind": "Node", "metadata": head}
    return decode(document | {"status": {"allocatable": allocatable}})


def term(kind: str, app: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    terms = [{"topologyKey": ZONE, "labelSelector": selector}]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def spread(app: str) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint]}


def placed(name: str, on: str, cpu: str = "1", **more: Any) -> Pod:
    """Return a pod whose label `app` is the first letter of its name."""
    return pod(name, cpu, on=on, labels={"app": name[0]}, **more)


WAITING = pod("w1", nominated="n1", priority=10, labels={"app": "w"})
FULL = placed("high", "n2", "3", priority=20)


@pytest.mark.parametrize(
    ("spec", "others", "victims"),
    [
        pytest.param(
            term("podAntiAffinity", "a"),
            [placed("a1", "n1"), placed("b1", "n1")],
            ["a1"],
            id="who is avoided has to go, and no other pod",
        ),
        pytest.param(
            term("podAntiAffinity", "a"),
            [placed("a1", "n1"), placed("a2", "n1"), placed("b1", "n1")],
            ["a1", "a2"],
            id="all of them",
        ),
        pytest.param(
            {},
            [placed("a1", "n1", **term("podAntiAffinity", "p")), placed("b1", "n1")],
            ["a1"],
            id="who avoids the preemptor",
        ),
        pytest.param(
            term("podAffinity", "a"),
            [placed("a1", "n1", priority=20), placed("b1", "n1", priority=1), placed("c1", "n1")],
            ["c1"],
            id="who is needed stays",
        ),
        pytest.param(
            term("podAffinity", "a"),
            [placed("a1", "n1", priority=1), placed("b1", "n1"), placed("c1", "n1")],
            None,
            id="who is needed is less important: all less important ones go at first",
        ),
        pytest.param(
            term("podAntiAffinity", "a"),
            [placed("a1", "n1"), placed("b1", "n1"), WAITING],
            ["a1"],
            id="a nominated pod needs its room, and no more than that",
        ),
        pytest.param(
            term("podAffinity", "w"),
            [placed("a1", "n1", "3"), WAITING],
            None,
            id="it may never come, so it does not help",
        ),
        pytest.param(
            term("podAntiAffinity", "w"),
            [placed("a1", "n1", "3"), WAITING],
            None,
            id="it may come, so it hurts",
        ),
        pytest.param(
            spread("p"),
            [placed("p1", "n1"), placed("p2", "n1", priority=1), placed("b1", "n1")],
            ["p2", "p1"],
            id="the other zone has none: both have to go",
        ),
        pytest.param(
            spread("p"),
            [
                placed("p1", "n1"),
                placed("p2", "n1", priority=1),
                placed("b1", "n1"),
                placed("p3", "n2", "0", priority=20),
            ],
            ["p1"],
            id="the other zone has one: the more important one may stay",
        ),
    ],
)
def test_who_makes_room(spec: dict[str, Any], others: list[Pod], victims: list[str] | None) -> None:
    preemptor = pod("p", priority=10, labels={"app": "p"}, **spec)
    decision = attempt(preemptor, node("n1", "x"), node("n2", "y"), FULL, *others)
    assert decision.post_filter is not None
    details = decision.post_filter.details
    assert isinstance(details, Preemption)
    found = None if details.choice is None else [one.metadata.name for one in details.victims]
    assert found == victims


def test_pods_that_leave_one_node_during_its_dry_run_stay_during_that_of_the_next() -> None:
    # Each node has one of two pods that the preemptor avoids in the zone of both.
    preemptor = pod("p", "3", priority=10, **term("podAntiAffinity", "b"))
    nodes = [node(name, "x") for name in ("n1", "n2")]
    decision = attempt(preemptor, *nodes, placed("b1", "n1"), placed("b2", "n2"))
    assert decision.post_filter is not None
    assert decision.post_filter.status.code is Code.UNSCHEDULABLE
    assert decision.post_filter.details.choice is None
