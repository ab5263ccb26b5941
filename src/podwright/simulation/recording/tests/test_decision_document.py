"""A decision as a document: its outcome, its node, and why nodes were rejected."""

from __future__ import annotations

import pytest

from podwright.scheduler.assembly import Scheduler, UnknownPod
from podwright.scheduler.framework import Decision, PostFilterResult, Status
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.preemption import Candidate, Choice, DryRun, Preemption
from podwright.simulation.recording.explanations.decision import (
    decision_document,
    nomination_of,
    outcome_of,
)
from podwright.simulation.recording.explanations.present import explanation_of_pod, view_of_pod
from podwright.testing import make_node, make_pod


def scheduler() -> Scheduler:
    made = Scheduler(SchedulerOptions())
    made.add(
        make_node("n1", cpu="2"), make_node("n2", cpu="1", taints=["a=b:NoSchedule"]),
        make_pod("low", cpu="2", node="n1"), make_pod("small", cpu="1"),
        make_pod("high", cpu="2", priority=7),
    )  # fmt: skip
    return made


def test_a_pod_that_is_scheduled_has_its_node_and_no_rejections():
    made = Scheduler(SchedulerOptions())
    made.add(make_node("n1", cpu="2"), make_pod("p", cpu="1"))
    decision = made.schedule("default/p")
    assert outcome_of(decision) == "Scheduled"
    document = decision_document(decision)
    assert (document["pod"], document["outcome"], document["node"]) == (
        "default/p", "Scheduled", "n1"
    )  # fmt: skip
    assert (document["feasibleNodes"], document["examinedNodes"]) == (1, 1)
    assert document["priority"] == 0
    assert not {"nominatedNode", "victims", "rejections"} & set(document)


def test_a_pod_without_a_node_has_its_rejections_with_their_counts():
    document = decision_document(scheduler().schedule("default/small"))
    assert (document["outcome"], document["node"], document["score"]) == (
        "Unschedulable", None, None
    )  # fmt: skip
    assert document["message"].startswith("0/2 nodes are available: ")
    found = {each["plugin"]: each for each in document["rejections"]}
    assert found["NodeResourcesFit"]["reasons"] == ["Insufficient cpu"]
    assert found["NodeResourcesFit"]["code"] == "Unschedulable"
    assert found["TaintToleration"]["code"] == "UnschedulableAndUnresolvable"
    assert [each["nodeCount"] for each in document["rejections"]] == [1, 1]
    assert "nominatedNode" not in document


def test_a_pod_that_preempts_has_its_node_and_victims():
    decision = scheduler().schedule("default/high")
    node, victims = nomination_of(decision)
    assert (node, [pod.key for pod in victims]) == ("n1", ["default/low"])
    document = decision_document(decision)
    assert (document["nominatedNode"], document["victims"]) == ("n1", ["default/low"])
    assert document["priority"] == 7


def test_a_pod_is_explained_if_it_waits_or_has_a_node():
    made = scheduler()
    assert explanation_of_pod(made, "default/small").decision.node == ""
    assert explanation_of_pod(made, "default/low").decision.node == "n1"
    for explain in (explanation_of_pod, view_of_pod):
        with pytest.raises(UnknownPod, match="pod default/x is neither pending nor on a node"):
            explain(made, "default/x")


VICTIMS = (make_pod("a"), make_pod("b"))
TAKEN = Candidate(node="n1", victims=VICTIMS)
PREEMPTION = Preemption(
    dry_run=DryRun(candidates=(TAKEN,)),
    candidates=(TAKEN,),
    choice=Choice(candidate=TAKEN, criterion=None, acceptable=("n1",)),
)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(None, ("", ()), id="no PostFilter"),
        pytest.param(PostFilterResult(status=Status()), ("", ()), id="no node"),
        pytest.param(PostFilterResult(status=Status(), nominated_node=""), ("", ()), id="cleared"),
        pytest.param(
            PostFilterResult(status=Status(), nominated_node="n1", details=PREEMPTION),
            ("n1", VICTIMS),
            id="preemption",
        ),
        pytest.param(
            PostFilterResult(status=Status(), nominated_node="n1", details="of a plugin"),
            ("n1", ()),
            id="another plugin",
        ),
    ],
)
def test_a_nomination_has_its_victims(result, expected):
    assert nomination_of(Decision(pod=make_pod("p"), post_filter=result)) == expected


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"node": "n1"}, "Scheduled"),
        ({"ignored": "it is deleted"}, "Ignored"),
        ({"gated_by": Status.unschedulable("gated")}, "SchedulingGated"),
        ({"error": Status.error("broken")}, "SchedulerError"),
        ({}, "Unschedulable"),
    ],
)
def test_the_outcome_of_a_decision(fields, outcome):
    assert outcome_of(Decision(pod=make_pod("p"), **fields)) == outcome
