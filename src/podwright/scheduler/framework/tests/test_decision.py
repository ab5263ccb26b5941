"""The texts of decisions.

Upstream: pkg/scheduler/framework/types.go, FitError.Error
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from podwright.scheduler.framework import Decision, PostFilterResult, Status
from podwright.scheduler.framework.decision import BatchReport, Diagnosis, Rejection
from podwright.scheduler.framework.profile import Profile, TieRule
from podwright.testing import make_pod

POD = make_pod("web")
TAINTED = Status.unresolvable("tainted").by("TaintToleration")
FULL = Status.unschedulable("Insufficient cpu", "Insufficient memory").by("NodeResourcesFit")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"rejections": (Rejection(TAINTED, 3),)},
            "0/9 nodes are available: 3 tainted.",
            id="one",
        ),
        pytest.param(
            {"rejections": (Rejection(FULL, 1), Rejection(TAINTED, 2))},
            "0/9 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 2 tainted.",
            id="several reasons of a node",
        ),
        pytest.param(
            {"rejections": (Rejection(TAINTED, 2), Rejection(FULL, 10))},
            "0/9 nodes are available: 10 Insufficient cpu, 10 Insufficient memory, 2 tainted.",
            id="sorted as texts",
        ),
        pytest.param(
            {"rejections": (Rejection(TAINTED, 2), Rejection(TAINTED.by("Other"), 5))},
            "0/9 nodes are available: 7 tainted.",
            id="equal reasons of two plugins are added",
        ),
        pytest.param({}, "0/9 nodes are available:", id="no reason"),
        pytest.param(
            {"pre_filter": TAINTED, "rejections": (Rejection(FULL, 1),)},
            "0/9 nodes are available: tainted.",
            id="PreFilter alone",
        ),
        pytest.param(
            {"rejections": (Rejection(TAINTED, 3),), "post_filter_message": "preemption: no."},
            "0/9 nodes are available: 3 tainted. preemption: no.",
            id="what PostFilter adds",
        ),
    ],
)
def test_a_diagnosis_counts_reasons(given: dict[str, Any], message: str) -> None:
    diagnosis = Diagnosis(node_count=9, **given)
    assert diagnosis.message == message
    assert Decision(pod=POD, diagnosis=diagnosis).message == message


REJECTED = Diagnosis(node_count=1, rejections=(Rejection(TAINTED, 1),))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"node": "n"}, "", id="a node"),
        pytest.param(
            {"diagnosis": REJECTED}, "0/1 nodes are available: 1 tainted.", id="none fits"
        ),
        pytest.param(
            {"diagnosis": Diagnosis(node_count=0)},
            "no nodes available to schedule pods",
            id="there is none",
        ),
        pytest.param(
            {"error": Status.error("broken"), "diagnosis": REJECTED}, "broken", id="an error"
        ),
        pytest.param(
            {"gated_by": Status.unresolvable("gated"), "error": Status.error("broken")},
            "gated",
            id="a gate comes first",
        ),
        pytest.param(
            {"ignored": "not ours", "gated_by": Status.unresolvable("gated")},
            "not ours",
            id="another scheduler's pod",
        ),
    ],
)
def test_a_decision_says_why_there_is_no_node(given: dict[str, Any], message: str) -> None:
    decision = Decision(pod=POD, **given)
    assert decision.message == message
    assert repr(decision) == f"<Decision for default/web: {message or 'n'}>"


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        pytest.param(
            {"node": "n", "total": 0, "feasible_count": 3, "evaluated_count": 4, "tie_count": 2},
            {"Node": "n", "Score": "0", "Feasible nodes": "3", "Evaluated nodes": "4"}
            | {"Tied nodes": "2"},
            id="a node",
        ),
        pytest.param(
            {"diagnosis": REJECTED, "evaluated_count": 1},
            {"Message": "0/1 nodes are available: 1 tainted.", "Feasible nodes": "0"}
            | {"Evaluated nodes": "1", "Tied nodes": "0"},
            id="no node",
        ),
    ],
)
def test_a_decision_is_shown_without_what_is_not_known(
    given: dict[str, Any], rows: dict[str, str]
) -> None:
    shown = Decision(pod=POD, **given)._repr_html_()
    assert "Decision for default/web" in shown
    texts = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>.*?</t[hd]>", shown)]
    assert dict(zip(texts[::2], texts[1::2], strict=True)) == rows


def test_post_filter_says_nothing_after_success() -> None:
    assert PostFilterResult(status=Status.OK).message == ""
    assert PostFilterResult(status=FULL).message == "Insufficient cpu, Insufficient memory"


def test_a_decision_of_a_pod_without_a_cycle_has_counted_nothing() -> None:
    made = Decision(pod=POD)
    assert (made.node, made.slot, made.total, made.message) == ("", -1, None, "")
    assert (made.feasible_count, made.evaluated_count, made.tie_count) == (0, 0, 0)
    assert (made.ignored, made.error, made.diagnosis, made.batch) == ("", None, None, None)


def test_a_profile_without_plugins_scores_all_nodes_and_draws() -> None:
    made = Profile(scheduler_name="s")
    assert made.tie_rule is TieRule.DRAWN
    assert made.draws_preemption_offset is True
    assert made.percentage_of_nodes_to_score is None
    assert {getattr(made, field) for field in made.__struct_fields__[1:13]} == {()}


def test_a_batch_that_was_not_used_has_no_hint() -> None:
    made = BatchReport()
    assert (made.hint, made.is_used, made.flushed) == ("", False, ())
