"""The reason for which a scheduler does not decide as another one did."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.scheduler.assembly import Because, ScoreDifference, objection_to, outcome_of
from podwright.scheduler.assembly.decision_reasons import kind_of, reason_of
from podwright.scheduler.assembly.scheduler import Scheduler
from podwright.scheduler.framework import (
    Decision,
    Explanation,
    PostFilterResult,
    ScoreExplanation,
    Status,
)
from podwright.scheduler.framework.extenders.extender_calls import ExtenderAnswers
from podwright.testing import make_node, make_pod

POD = make_pod("web")


def explained(**fields: Any) -> Explanation:
    given: dict[str, Any] = {
        "pod": POD, "decision": Decision(pod=POD), "node_names": ("a", "b"),
        "pre_filter": Status.OK, "skipped_filters": frozenset(),
    }  # fmt: skip
    return Explanation(**given | fields)


def scored(plugin: str, weight: int, **normalized: int) -> ScoreExplanation:
    return ScoreExplanation(plugin=plugin, weight=weight, raw=normalized, normalized=normalized)


FULL = Status.unschedulable("full").by("Fit")
UNBOUND = Status.unresolvable("no claim").by("Volumes")


@pytest.mark.parametrize(
    ("explanation", "found"),
    [
        pytest.param(
            explained(pre_filter=UNBOUND, rejected={"b": FULL}),
            Because(kind="predicate", rule="Volumes", reasons=("no claim",)),
            id="PreFilter rejects the pod as a whole",
        ),
        pytest.param(
            explained(rejected={"b": FULL}, restricted_to=frozenset("a"), restricted_by=("X",)),
            Because(kind="predicate", rule="Fit", reasons=("full",)),
            id="a filter rejects the node",
        ),
        pytest.param(
            explained(restricted_to=frozenset("a"), restricted_by=("X", "Y"), not_examined=("b",)),
            Because(kind="predicate", rule="X, Y"),
            id="PreFilter leaves other nodes",
        ),
        pytest.param(
            explained(restricted_to=frozenset("ab"), not_examined=("b",), totals={"a": 1}),
            Because(kind="sampling"),
            id="the node was not examined",
        ),
        pytest.param(
            explained(totals={"b": 1}, not_examined=("b",)),
            Because(kind="sampling"),
            id="its own node has no total",
        ),
        pytest.param(
            explained(not_examined=("b",), not_examined_reason="nominatedNodeFits"),
            Because(kind="preemption", reasons=("it was nominated to a",)),
            id="only the node of an earlier preemption was evaluated",
        ),
        pytest.param(explained(totals={"a": 1}), None, id="the node is unknown"),
        pytest.param(explained(totals={"a": 5, "b": 5}), Because(kind="draw"), id="equal totals"),
        pytest.param(
            explained(
                totals={"a": 9, "b": 4},
                scores=(
                    scored("Even", 3, a=2, b=2), scored("Less", 2, a=1, b=4),
                    scored("More", 1, a=7, b=2), scored("Most", 1, a=6, b=0),
                ),
                extenders=(
                    ExtenderAnswers(index=1, url="http://e", scores={"a": 1, "c": 9}),
                    ExtenderAnswers(index=2, url="http://f", scores={"b": 1}),
                ),
            ),
            Because(
                kind="priority",
                rule="Most",
                scores=(
                    ScoreDifference("Less", -6), ScoreDifference("Most", 6),
                    ScoreDifference("More", 5), ScoreDifference("extenders[1]", 1),
                    ScoreDifference("extenders[2]", -1),
                ),
                margin=5,
            ),
            id="scores: the greatest difference first, the rule is the first that prefers its node",
        ),
        pytest.param(
            explained(totals={"a": 2, "b": 1}, scores=(scored("One", 1, a=2, b=1),)),
            Because(kind="priority", rule="One", scores=(ScoreDifference("One", 1),), margin=1),
            id="a score prefers its node by one",
        ),
        pytest.param(
            explained(totals={"a": 4, "b": 5}, scores=(scored("Less", 1, a=1, b=2),)),
            Because(
                kind="priority", scores=(ScoreDifference("Less", -1),), margin=-1
            ),
            id="no score prefers its node",
        ),
    ],
)  # fmt: skip
def test_what_a_side_has_against_the_node_of_the_other(explanation, found):
    assert objection_to(explanation, "a", "b") == found


@pytest.mark.parametrize(
    ("kinds", "strongest"),
    [
        (("draw", "preemption"), "preemption"),
        (("preemption", "priority"), "priority"),
        (("sampling", "priority"), "sampling"),
        (("sampling", "predicate"), "predicate"),
        (("predicate", "error"), "error"),
        (("error", "gated"), "gated"),
        ((None, "priority"), "priority"),
        ((None, None), "draw"),
    ],
)
def test_the_strongest_kind_of_both_sides_counts(kinds, strongest):
    for order in (kinds, kinds[::-1]):
        assert kind_of(kind and Because(kind=kind) for kind in order) == strongest


GATED = Status.unresolvable("closed").by("Gate")
FAILED = Status.error("broken").by("Fit")


@pytest.mark.parametrize(
    ("mine", "theirs", "found"),
    [
        pytest.param(
            Decision(pod=POD, gated_by=GATED), Decision(pod=POD, node="a"),
            Because(kind="gated", rule="Gate", reasons=("closed",)), id="a gate",
        ),
        pytest.param(
            Decision(pod=POD, error=FAILED), Decision(pod=POD),
            Because(kind="error", rule="Fit", reasons=("broken",)), id="a failure",
        ),
        pytest.param(
            Decision(pod=POD, node="a"), Decision(pod=POD), None,
            id="the other side places it nowhere, and this side has nothing against that",
        ),
        pytest.param(
            Decision(pod=POD), Decision(pod=POD),
            Because(kind="preemption", reasons=("it may not preempt",)),
            id="neither places it, and there was no preemption here",
        ),
        pytest.param(
            Decision(pod=POD), Decision(pod=POD, node="a"),
            Because(
                kind="predicate", rule="NodeResourcesFit", reasons=("Insufficient cpu",)
            ),
            id="it does not fit on the node of the other side",
        ),
    ],
)  # fmt: skip
def test_why_a_side_decides_differently(mine, theirs, found):
    scheduler = Scheduler()
    scheduler.add(make_node("a", cpu="1"), make_node("b", cpu="1"), make_pod("web", cpu="2"))
    assert reason_of(scheduler, mine, theirs) == found


def test_preemption_that_helps_nowhere_is_named_so():
    scheduler = Scheduler()
    scheduler.add(make_node("a", cpu="1"), make_pod("low", cpu="1", priority=5, node="a"))
    mine = scheduler.schedule(make_pod("web", cpu="1"))
    assert reason_of(scheduler, mine, Decision(pod=mine.pod)) == Because(
        kind="preemption", reasons=("preemption would not help on any node",)
    )


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        (Decision(pod=POD, node="a", slot=3), ("a", "", (), False, False)),
        (Decision(pod=POD, gated_by=GATED), ("", "", (), True, False)),
        (Decision(pod=POD, error=FAILED), ("", "", (), False, True)),
        (
            Decision(
                pod=POD, post_filter=PostFilterResult(status=Status.OK, nominated_node="a")
            ),
            ("", "a", (), False, False),
        ),
        (
            Decision(pod=POD, post_filter=PostFilterResult(status=GATED, nominated_node=None)),
            ("", "", (), False, False),
        ),
    ],
    ids=["placed", "gated", "failed", "nominated", "without a nomination"],
)  # fmt: skip
def test_what_two_equal_decisions_have_in_common(decision, outcome):
    assert outcome_of(decision) == outcome


def test_victims_are_part_of_an_outcome():
    scheduler = Scheduler()
    scheduler.add(make_node("a", cpu="2"), make_pod("low", cpu="2", node="a"))
    decision = scheduler.schedule(make_pod("high", cpu="1", priority=1))
    assert outcome_of(decision) == ("", "a", ("default/low",), False, False)
