"""A decision as a document: its outcome, its node, and why nodes were rejected."""

from __future__ import annotations

import pytest

from podwright.scheduler.assembly import Scheduler, UnknownPod
from podwright.scheduler.framework import (
    Decision,
    Diagnosis,
    PostFilterResult,
    Rejection,
    Status,
)
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.preemption import Candidate, Choice, DryRun, Preemption
from podwright.simulation.recording.explanations.decision import (
    decision_document,
    nomination_of,
    outcome_of,
)
from podwright.simulation.recording.explanations.outcome import main_reason
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


CPU = Status.unschedulable("no cpu").by("Fit")
TAINT = Status.unresolvable("tainted", "drained").by("Taints")
LEFT_OUT = Status.unresolvable("not named")
NOT_READY = Status.unresolvable("not ready").by("Volumes")


def test_the_document_of_a_pod_without_a_node_has_each_field():
    diagnosis = Diagnosis(
        node_count=9,
        pre_filter=NOT_READY,
        rejections=(Rejection(CPU, 2), Rejection(TAINT, 3), Rejection(LEFT_OUT, 4)),
    )
    decision = Decision(
        pod=make_pod("p", namespace="a", priority=-5),
        feasible_count=1,
        evaluated_count=6,
        tie_count=2,
        diagnosis=diagnosis,
        post_filter=PostFilterResult(status=Status(), nominated_node="n1", details=PREEMPTION),
    )
    assert decision_document(decision) == {
        "pod": "a/p", "outcome": "Unschedulable", "node": None, "message": decision.message,
        "priority": -5, "feasibleNodes": 1, "examinedNodes": 6, "tiedNodes": 2, "score": None,
        "nominatedNode": "n1", "victims": ["default/a", "default/b"],
        "rejections": [
            {"plugin": "Volumes", "code": "UnschedulableAndUnresolvable",
             "reasons": ["not ready"], "nodeCount": 9},
            {"plugin": "Fit", "code": "Unschedulable", "reasons": ["no cpu"], "nodeCount": 2},
            {"plugin": "Taints", "code": "UnschedulableAndUnresolvable",
             "reasons": ["tainted", "drained"], "nodeCount": 3},
            {"plugin": None, "code": "UnschedulableAndUnresolvable", "reasons": ["not named"],
             "nodeCount": 4},
        ],
    }  # fmt: skip
    assert decision.message
    plain = decision_document(Decision(pod=make_pod("p"), node="n2", total=0, tie_count=3))
    assert plain == {
        "pod": "default/p", "outcome": "Scheduled", "node": "n2", "message": "", "priority": 0,
        "feasibleNodes": 0, "examinedNodes": 0, "tiedNodes": 3, "score": 0,
    }  # fmt: skip
    empty = decision_document(Decision(pod=make_pod("p"), diagnosis=Diagnosis(node_count=0)))
    assert empty["rejections"] == []


@pytest.mark.parametrize(
    ("rejections", "reason"),
    [
        pytest.param([(CPU, 2), (TAINT, 1)], "no cpu", id="most nodes"),
        pytest.param([(CPU, 1), (LEFT_OUT, 2)], "not named", id="not the first"),
        pytest.param([(LEFT_OUT, 1), (CPU, 1)], "no cpu", id="equal: by name"),
        pytest.param([(TAINT, 1)], "drained", id="two reasons of one node"),
        pytest.param(
            [(LEFT_OUT, 2), (CPU, 1), (Status.unschedulable("x", "no cpu"), 2)],
            "no cpu",
            id="of two rejections together",
        ),
    ],
)
def test_the_main_reason_is_that_of_most_nodes(rejections, reason):
    diagnosis = Diagnosis(node_count=9, rejections=tuple(Rejection(*each) for each in rejections))
    assert main_reason(Decision(pod=make_pod("p"), diagnosis=diagnosis)) == reason


def test_the_main_reason_of_a_decision_without_rejected_nodes():
    pod = make_pod("p")
    rejected = Diagnosis(node_count=1, pre_filter=NOT_READY, rejections=(Rejection(CPU, 1),))
    assert main_reason(Decision(pod=pod, diagnosis=rejected)) == NOT_READY.message
    failed = Decision(pod=pod, diagnosis=rejected, error=Status.error("broken"))
    assert main_reason(failed) == "SchedulerError"
    gated = Decision(pod=pod, gated_by=Status.unschedulable("wait"))
    nowhere = Decision(pod=pod, diagnosis=Diagnosis(node_count=0))
    for decision in (gated, nowhere):
        assert decision.message
        assert main_reason(decision) == decision.message
