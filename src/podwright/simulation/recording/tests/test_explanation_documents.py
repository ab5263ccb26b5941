"""Explanations as documents and as columns: all fields, and those that are left out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.advice import Advice, NearNode, ReasonDetail, ReasonGroup, Remedy
from podwright.scheduler.assembly import Displacement
from podwright.scheduler.framework import (
    Code,
    Decision,
    Diagnosis,
    Explanation,
    ExtenderAnswers,
    FilterExplanation,
    PostFilterResult,
    Rejection,
    ScoreExplanation,
    Status,
)
from podwright.scheduler.preemption import Candidate, Choice, Criterion, DryRun, Preemption
from podwright.simulation.recording.explanations.decision import decision_document, rejections_of
from podwright.simulation.recording.explanations.document import (
    explanation_document,
    ordered_candidates,
    preemption_of,
    typed_explanation,
    typed_preemption,
)
from podwright.simulation.recording.explanations.document_structs import (
    ExplanationView,
    OutcomeDocument,
    RecordedAttempt,
    RecordedOutcome,
    RemedyChange,
    RemedyRequests,
    ReplicaOutcome,
    WorkloadView,
)
from podwright.simulation.recording.explanations.matrix import explanation_matrix, node_results
from podwright.testing import make_node, make_pod

POD = make_pod("p", cpu="1", priority=5, scheduler="s")
CPU = Status(Code.UNSCHEDULABLE, ("Insufficient cpu", "Too many pods"), "Fit")
TAINT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("untolerated taint",), "Taints")
LEFT_OUT = Status(Code.UNSCHEDULABLE, ("not among the nodes",))
BUSY = Status(Code.UNSCHEDULABLE, ("busy",), "Extender")

# n1 and n2 are feasible; n3 is rejected by two filters, n4 by the extender, n5 is left out by
# PreFilter, n6 was not evaluated; x exists for the extender only.
PLACED = Explanation(
    pod=POD,
    decision=Decision(
        pod=POD, node="n1", slot=0, feasible_count=3, evaluated_count=4, tie_count=2, total=90
    ),
    node_names=("n1", "n2", "n3", "n4", "n5", "n6"),
    pre_filter=Status(),
    skipped_filters=frozenset({"Ports"}),
    restricted_to=frozenset({"n4", "n3", "n2", "n1", "n6"}),
    restricted_by=("Affinity",),
    examined=("n1", "n2", "n3", "n4"),
    not_examined=("n6",),
    not_examined_reason="enoughFeasibleNodes",
    filters=(
        FilterExplanation(plugin="Fit", applies=True, rejected={"n3": CPU}),
        FilterExplanation(plugin="Ports", applies=False),
        FilterExplanation(plugin="Taints", applies=True, rejected={"n3": TAINT, "n5": TAINT}),
    ),
    rejected={"n3": CPU, "n4": BUSY, "n5": LEFT_OUT},
    feasible=("n1", "n2", "x"),
    skipped_scores=frozenset({"Z", "A"}),
    scores=(
        ScoreExplanation(
            plugin="Spread", weight=2, raw={"n1": 7, "n2": 0}, normalized={"n1": 35, "n2": 10}
        ),
    ),
    totals={"n1": 90, "n2": 20, "x": 90},
    winners=("n1", "x"),
    tied=("n1", "x"),
    extenders=(
        ExtenderAnswers(
            index=1,
            url="http://e",
            candidates=("n1", "n2", "n4"),
            kept=("n1", "n2", "x"),
            rejected={"n4": BUSY},
            scores={"n1": 20, "x": 90},
            errors=["late"],
        ),
        ExtenderAnswers(index=2, url="http://f"),
        ExtenderAnswers(index=3, url="http://g", candidates=("n1", "n2", "x"), kept=("n1", "n2")),
    ),
    custom_results={"k": "v"},
    attempt=3,
)

NONE = Explanation(
    pod=make_pod("q"),
    decision=Decision(
        pod=make_pod("q"),
        diagnosis=Diagnosis(node_count=1, pre_filter=LEFT_OUT, rejections=(Rejection(CPU, 1),)),
    ),
    node_names=("n1",),
    pre_filter=LEFT_OUT,
    skipped_filters=frozenset(),
)


def plain(document: object) -> Any:
    """Return a document as a client reads it."""
    return json.loads(msgspec.json.encode(document))


def test_the_columns_of_an_attempt_have_every_result_once():
    passed, rejected = {"kind": "passed", "code": "", "reasons": []}, "rejected"
    assert plain(explanation_matrix(PLACED)) == {
        "pod": "default/p",
        "outcome": "Scheduled",
        "node": "n1",
        "message": "",
        "attempt": 3,
        "notExaminedReason": "enoughFeasibleNodes",
        "nodes": ["n1", "n2", "n3", "n4", "n5", "n6", "x"],
        "results": [
            passed,
            {"kind": rejected, "code": "Unschedulable", "reasons": list(CPU.reasons)},
            {"kind": "excluded", "code": "", "reasons": []},
            {"kind": "notEvaluated", "code": "", "reasons": []},
            {
                "kind": rejected,
                "code": "UnschedulableAndUnresolvable",
                "reasons": ["untolerated taint"],
            },
            {"kind": rejected, "code": "Unschedulable", "reasons": ["busy"]},
            {"kind": rejected, "code": "", "reasons": []},
        ],
        "preFilter": None,
        "filters": [
            # A node of the extender's own was not among those that PreFilter left.
            {"plugin": "Fit", "applies": True, "results": [0, 0, 1, 0, 2, 3, 2]},
            {"plugin": "Ports", "applies": False, "results": []},
            {"plugin": "Taints", "applies": True, "results": [0, 0, 4, 0, 2, 3, 2]},
            {"plugin": "extenders[1]", "applies": True, "results": [0, 0, 3, 5, 3, 3, 0]},
            {"plugin": "extenders[3]", "applies": True, "results": [0, 0, 3, 3, 3, 3, 6]},
        ],
        "rejectedBy": [None, None, "Fit", "Extender", None, None, None],
        "scores": [
            {
                "plugin": "Spread",
                "weight": 2,
                "raw": [7, 0, None, None, None, None, None],
                "normalized": [35, 10, None, None, None, None, None],
                "weighted": [70, 20, None, None, None, None, None],
            },
            {
                "plugin": "extenders[1]",
                "weight": None,
                "raw": None,
                "normalized": None,
                "weighted": [20, None, None, None, None, None, 90],
            },
        ],
        "skippedScores": ["A", "Z"],
        "totals": [90, 20, None, None, None, None, 90],
        "winners": [0, 6],
    }


def test_the_columns_of_a_pod_that_is_rejected_as_a_whole_have_no_results():
    found = plain(explanation_matrix(NONE))
    rejection = {"kind": "rejected", "code": "Unschedulable", "reasons": ["not among the nodes"]}
    assert found == {
        "pod": "default/q",
        "outcome": "Unschedulable",
        "node": None,
        "message": "0/1 nodes are available: not among the nodes.",
        "attempt": None,
        "notExaminedReason": None,
        "nodes": ["n1"],
        "results": [{"kind": "passed", "code": "", "reasons": []}],
        "preFilter": rejection,
        "filters": [],
        "rejectedBy": [None],
        "scores": [],
        "skippedScores": [],
        "totals": [None],
        "winners": [],
    }


def test_the_result_of_a_filter_for_a_node():
    every = ["n1", "n3", "n5", "n6"]
    fit, _, taints = PLACED.filters
    assert [*node_results(fit, PLACED, every)] == ["passed", "rejected", "excluded", "notEvaluated"]
    free = msgspec.structs.replace(PLACED, restricted_to=None, not_examined=())
    assert [*node_results(taints, free, every)] == ["passed", "rejected", "rejected", "passed"]
    # PreFilter may leave no node at all.
    none = msgspec.structs.replace(PLACED, restricted_to=frozenset())
    assert [*node_results(fit, none, every)] == ["excluded"] * 4


DECIDED = {
    "pod": "default/p",
    "outcome": "Scheduled",
    "node": "n1",
    "message": "",
    "priority": 5,
    "feasibleNodes": 3,
    "examinedNodes": 4,
    "tiedNodes": 2,
    "score": 90,
}
REMEDY = Remedy(
    text="uncordon n1",
    edits=("n1: uncordon",),
    commands=("kubectl uncordon n1",),
    node="n1",
    node_count=2,
    alternatives=("n2",),
    victims=("default/v",),
    pod=POD,
    put=(make_node("n1"),),
    delete=("default/d",),
    drop=(make_pod("o", namespace="x"),),
)
REMEDY_DOCUMENT = {
    "remedy": "uncordon n1",
    "edits": ["n1: uncordon"],
    "commands": ["kubectl uncordon n1"],
    "node": "n1",
    "feasibleNodes": 2,
    "otherNodes": ["n2"],
    "victims": ["default/v"],
    "changedObjects": [{"kind": "Pod", "name": "default/p"}, {"kind": "Node", "name": "n1"}],
    "deletedPods": ["default/d"],
    "deletedObjects": [{"kind": "Pod", "name": "x/o"}],
}
RECORDED = RecordedAttempt(
    event=4,
    time="T",
    since_start="1s",
    attempt=1,
    attempts=2,
    then=OutcomeDocument(
        outcome="queued",
        time="U",
        node="n1",
        error="e",
        queue="backoff",
        waits_for=["Fit"],
        backoff_end="V",
        nominated_node="n2",
    ),
    next_attempt="W",
)


def test_an_explanation_as_a_document_has_all_that_is_known():
    view = ExplanationView(
        explanation=PLACED,
        reasons=[
            ReasonGroup(
                reason="Insufficient cpu",
                plugin="Fit",
                nodes=("n3",),
                details=(ReasonDetail("cpu 1 of 2", 1),),
            ),
            ReasonGroup(reason="left out", plugin="", nodes=("n5", "n6")),
        ],
        advice=Advice(remedies=(REMEDY, REMEDY), limits=("a limit",)),
        near=[NearNode(node="n3", plugins=("Fit",), lacks=("cpu 1",))],
        current_node="n2",
        placed_before=6,
        taken=Displacement(node="n3", node_count=1, pods=("default/a",)),
        workload=WorkloadView(kind="Job", key="x/j", pod_count=4, unfit=("x/j-1",)),
        past=RecordedOutcome(when="", then="", document=RECORDED),
        requests=(
            RemedyRequests(
                [
                    RemedyChange(
                        action="delete", api_version="v1", kind="Pod", namespace="x", name="o"
                    )
                ]
            ),
            RemedyRequests(None, "not known"),
        ),
        replicas=(
            ReplicaOutcome(workload="Job x/j", fit=1, total=2, is_rollout=True, kept=0, placed=0),
            None,
        ),
    )
    change = {
        "action": "delete",
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "x",
        "name": "o",
        "body": None,
        "command": "",
        "effect": "",
    }
    replicas = {"workload": "Job x/j", "fit": 1, "total": 2, "isRollout": True}
    replicas |= {"kept": 0, "placed": 0}
    cpu = {"plugin": "Fit", "code": "Unschedulable", "reasons": list(CPU.reasons)}
    busy = {"plugin": "Extender", "code": "Unschedulable", "reasons": ["busy"]}
    left_out = {"plugin": None, "code": "Unschedulable", "reasons": ["not among the nodes"]}
    taint = {
        "plugin": "Taints",
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["untolerated taint"],
    }
    of_nodes = {
        "restrictedTo": ["n1", "n2", "n3", "n4", "n6"],
        "totals": {"n1": 90, "n2": 20, "x": 90},
        "rejected": {"n3": cpu, "n4": busy, "n5": left_out},
        "filters": [
            {"plugin": "Fit", "applies": True, "rejected": {"n3": cpu}},
            {"plugin": "Ports", "applies": False, "rejected": {}},
            {"plugin": "Taints", "applies": True, "rejected": {"n3": taint, "n5": taint}},
        ],
        "scores": [
            {
                "plugin": "Spread",
                "weight": 2,
                "nodes": {
                    "n1": {"raw": 7, "normalized": 35, "weighted": 70},
                    "n2": {"raw": 0, "normalized": 10, "weighted": 20},
                },
            }
        ],
    }
    document = plain(explanation_document(view))
    assert document == {
        **DECIDED,
        "run": {
            "event": 4,
            "time": "T",
            "sinceStart": "1s",
            "attempt": 1,
            "attempts": 2,
            "then": {
                "outcome": "queued",
                "time": "U",
                "node": "n1",
                "error": "e",
                "queue": "backoff",
                "waitsFor": ["Fit"],
                "backoffEnd": "V",
                "nominatedNode": "n2",
            },
            "nextAttempt": "W",
        },
        "workload": {"kind": "Job", "name": "x/j", "pods": 4, "unfit": ["x/j-1"]},
        "schedulerName": "s",
        "currentNode": "n2",
        "placedBefore": 6,
        "nodeCount": 6,
        "preFilter": None,
        "restrictedBy": ["Affinity"],
        "notExamined": ["n6"],
        "notExaminedReason": "enoughFeasibleNodes",
        "feasible": ["n1", "n2", "x"],
        "winners": ["n1", "x"],
        "customResults": {"k": "v"},
        "reasons": [
            {
                "reason": "Insufficient cpu",
                "plugin": "Fit",
                "nodes": ["n3"],
                "details": [{"text": "cpu 1 of 2", "nodeCount": 1}],
            },
            {"reason": "left out", "plugin": None, "nodes": ["n5", "n6"]},
        ],
        "remedies": [
            REMEDY_DOCUMENT | {"changes": [change], "replicas": replicas},
            REMEDY_DOCUMENT | {"changes": None, "note": "not known"},
        ],
        "adviceLimits": ["a limit"],
        "displacement": {"node": "n3", "feasibleNodes": 1, "pods": ["default/a"]},
        "preemption": None,
        "skippedScores": ["A", "Z"],
        "extenders": [
            {
                "url": "http://e",
                "candidates": ["n1", "n2", "n4"],
                "kept": ["n1", "n2", "x"],
                "rejected": {"n4": busy},
                "scores": {"n1": 20, "x": 90},
                "errors": ["late"],
            },
            {
                "url": "http://f",
                "candidates": None,
                "kept": [],
                "rejected": {},
                "scores": {},
                "errors": [],
            },
            {
                "url": "http://g",
                "candidates": ["n1", "n2", "x"],
                "kept": ["n1", "n2"],
                "rejected": {},
                "scores": {},
                "errors": [],
            },
        ],
        "nearest": [{"node": "n3", "plugins": ["Fit"], "lacks": ["cpu 1"], "devices": []}],
        **of_nodes,
    }
    # A summary has the same without the parts with an entry per node.
    summary = plain(typed_explanation(view, has_nodes=False))
    assert summary == {name: value for name, value in document.items() if name not in of_nodes}


def test_a_summary_has_the_five_closest_nodes():
    near = [NearNode(node=f"n{number}", plugins=(), lacks=()) for number in range(7)]
    view = ExplanationView(explanation=NONE, reasons=[], advice=Advice(), near=near)
    assert typed_explanation(view, has_nodes=False).nearest == near[:5]
    assert typed_explanation(view).nearest == near


def test_an_explanation_as_a_document_leaves_out_what_concerns_others():
    view = ExplanationView(explanation=NONE, reasons=[], advice=Advice(remedies=(REMEDY,)), near=[])
    message = "0/1 nodes are available: not among the nodes."
    assert plain(explanation_document(view)) == {
        "pod": "default/q",
        "outcome": "Unschedulable",
        "node": None,
        "message": message,
        "priority": 0,
        "feasibleNodes": 0,
        "examinedNodes": 0,
        "tiedNodes": 0,
        "score": None,
        "workload": None,
        "schedulerName": "default-scheduler",
        "currentNode": None,
        "placedBefore": 0,
        "nodeCount": 1,
        "preFilter": {
            "plugin": None,
            "code": "Unschedulable",
            "reasons": ["not among the nodes"],
        },
        "restrictedTo": None,
        "restrictedBy": [],
        "notExamined": [],
        "notExaminedReason": None,
        "feasible": [],
        "winners": [],
        "totals": {},
        "rejected": {},
        "reasons": [],
        "remedies": [REMEDY_DOCUMENT],
        "adviceLimits": [],
        "displacement": None,
        "nearest": [],
        "preemption": None,
        "filters": [],
        "scores": [],
        "skippedScores": [],
        "extenders": [],
    }


A, B, C = (
    make_pod(name, priority=priority) for name, priority in (("a", 3), ("b", 2), ("c", None))
)
CANDIDATES = (
    Candidate(node="n3", victims=(A,)),
    Candidate(node="n2", victims=(A, C), spared=(B,), pdb_violations=1),
    Candidate(node="n1", victims=(B,)),
)


def preempted(choice: Choice | None, cleared: tuple[Pod, ...] = ()) -> Decision:
    """Return the decision of a pod that preempts."""
    dry_run = DryRun(
        candidates=CANDIDATES,
        rejections=(Rejection(CPU, 4),),
        visited_count=5,
        helpable_count=7,
    )
    details = Preemption(
        dry_run=dry_run, candidates=CANDIDATES, choice=choice, cleared_nominations=cleared
    )
    nominated = "n2" if choice is not None else None
    result = PostFilterResult(status=Status(), nominated_node=nominated, details=details)
    diagnosis = Diagnosis(node_count=9, rejections=(Rejection(CPU, 8), Rejection(LEFT_OUT, 1)))
    return Decision(pod=POD, evaluated_count=9, diagnosis=diagnosis, post_filter=result)


def test_preemption_as_a_document_has_the_chosen_candidate_first():
    choice = Choice(
        candidate=CANDIDATES[1], criterion=Criterion.FEWEST_VICTIMS, acceptable=("n2", "n3")
    )
    decision = preempted(choice, (B, C))
    found = preemption_of(decision)
    assert found is not None
    assert [one.node for one in ordered_candidates(found)] == ["n2", "n1", "n3"]
    a, b, c = (
        {"pod": f"default/{name}", "priority": n} for name, n in (("a", 3), ("b", 2), ("c", 0))
    )
    assert plain(typed_preemption(decision)) == {
        "nodesWhereRoomMayHelp": 7,
        "triedNodes": 5,
        "rejections": [{"reasons": list(CPU.reasons), "nodeCount": 4}],
        "candidates": [
            {"node": "n2", "victims": [a, c], "spared": [b], "violatedBudgets": 1},
            {"node": "n1", "victims": [b], "spared": [], "violatedBudgets": 0},
            {"node": "n3", "victims": [a], "spared": [], "violatedBudgets": 0},
        ],
        "chosen": "n2",
        "criterion": "fewest victims",
        "equallyGood": ["n2", "n3"],
        "losingNomination": ["default/b", "default/c"],
    }
    assert plain(decision_document(decision)) == {
        "pod": "default/p",
        "outcome": "Unschedulable",
        "node": None,
        "message": "0/9 nodes are available: 1 not among the nodes, 8 Insufficient cpu,"
        " 8 Too many pods.",
        "priority": 5,
        "feasibleNodes": 0,
        "examinedNodes": 9,
        "tiedNodes": 0,
        "score": None,
        "nominatedNode": "n2",
        "victims": ["default/a", "default/c"],
        "rejections": [
            {
                "plugin": "Fit",
                "code": "Unschedulable",
                "reasons": list(CPU.reasons),
                "nodeCount": 8,
            },
            {
                "plugin": None,
                "code": "Unschedulable",
                "reasons": ["not among the nodes"],
                "nodeCount": 1,
            },
        ],
    }


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        pytest.param(None, (["n1", "n2", "n3"], None, None, []), id="nothing helps"),
        pytest.param(
            Choice(candidate=CANDIDATES[0], criterion=None, acceptable=("n3",)),
            (["n3", "n1", "n2"], "n3", None, ["n3"]),
            id="no other was there to compare with",
        ),
    ],
)
def test_preemption_without_a_choice_or_a_criterion(choice, expected):
    found = typed_preemption(preempted(choice))
    assert found is not None
    nodes = [one.node for one in found.candidates]
    assert (nodes, found.chosen, found.criterion, found.equally_good) == expected
    assert found.losing_nomination == []


@pytest.mark.parametrize(
    "result",
    [
        None,
        PostFilterResult(status=Status()),
        PostFilterResult(status=Status(), nominated_node="n1", details="of a plugin"),
    ],
)
def test_no_preemption_has_no_document(result):
    decision = Decision(pod=POD, post_filter=result)
    assert preemption_of(decision) is None
    assert typed_preemption(decision) is None


def test_a_rejection_by_pre_filter_counts_for_all_nodes_and_comes_first():
    assert [*rejections_of(NONE.decision)] == [Rejection(LEFT_OUT, 1), Rejection(CPU, 1)]
    assert [*rejections_of(PLACED.decision)] == []


@pytest.mark.parametrize(
    ("fit", "total", "is_rollout", "kept", "placed", "share", "text"),
    [
        (2, 2, True, 0, 1, 1.0, "2 of 2 replicas of Job x/j fit with it"),
        (1, 2, True, 0, 0, 0.5, "only 1 of 2 replicas of Job x/j fit with it"),
        (1, 4, True, 2, 2, 0.75,
         "only 1 of 4 replicas of Job x/j fit with it, 2 of the old keep a node"),
        (1, 4, True, 1, 1, 0.5,
         "only 1 of 4 replicas of Job x/j fit with it, 1 of the old keeps a node"),
        (2, 4, True, 0, 2, 0.5, "only 2 of 4 replicas of Job x/j fit with it: as many as now"),
        (1, 4, True, 1, 3, 0.5,
         "only 1 of 4 replicas of Job x/j fit with it, 1 of the old keeps a node: fewer than now"),
        (2, 2, False, 3, 3, 1.0, "2 of 2 pending replicas of Job x/j fit then"),
        (0, 4, False, 4, 4, 0.5, "only 0 of 4 pending replicas of Job x/j fit then"),
        (0, 0, False, 0, 0, 1.0, "0 of 0 pending replicas of Job x/j fit then"),
    ],
)  # fmt: skip
def test_how_many_replicas_fit_as_a_clause(fit, total, is_rollout, kept, placed, share, text):
    outcome = ReplicaOutcome(
        workload="Job x/j",
        fit=fit,
        total=total,
        is_rollout=is_rollout,
        kept=kept,
        placed=placed,
    )
    assert (outcome.share, str(outcome)) == (share, text)
