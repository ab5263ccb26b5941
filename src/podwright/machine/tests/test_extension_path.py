from __future__ import annotations

import pytest

from podwright.framework.decision import Decision, Diagnosis, PostFilterResult
from podwright.framework.status import Code, Status
from podwright.machine.extension_path import BOUND, decision_path, placing_path
from podwright.testing import make_pod

POD = make_pod("web")
UNRESOLVABLE = Status.unresolvable("no")


@pytest.mark.parametrize(
    ("decision", "points"),
    [
        pytest.param(
            Decision(pod=POD, node="n1", slot=0, total=7),
            "PreFilter=Success Filter=Success PreScore=Success Score=Success",
            id="several nodes are scored",
        ),
        pytest.param(
            Decision(pod=POD, node="n1", slot=0),
            "PreFilter=Success Filter=Success",
            id="a single node is not scored",
        ),
        pytest.param(
            Decision(pod=POD, diagnosis=Diagnosis(node_count=2)),
            "PreFilter=Success Filter=Success",
            id="Filter succeeds though it leaves no node",
        ),
        pytest.param(
            Decision(
                pod=POD,
                diagnosis=Diagnosis(node_count=2, pre_filter=UNRESOLVABLE),
                post_filter=PostFilterResult(status=Status.unschedulable("no victims")),
            ),
            "PreFilter=UnschedulableAndUnresolvable PostFilter=Unschedulable",
            id="PostFilter after PreFilter",
        ),
        pytest.param(
            Decision(pod=POD, diagnosis=Diagnosis(node_count=0)), "", id="no plugin without nodes"
        ),
        pytest.param(
            Decision(pod=POD, error=Status.error("x")), "", id="an error does not say where"
        ),
    ],
)
def test_a_decision_went_through(decision, points):
    path = decision_path(decision)
    assert repr(path) == points
    assert decision_path(decision) is path


@pytest.mark.parametrize(
    ("last", "code", "has_waited", "points"),
    [
        ("Reserve", Code.UNSCHEDULABLE, False, "Reserve=Unschedulable Unreserve=Success"),
        ("Permit", Code.ERROR, False, "Reserve=Success Permit=Error Unreserve=Success"),
        ("Permit", Code.UNSCHEDULABLE, True, "Reserve=Success Permit=Wait Unreserve=Success"),
        (
            "Bind",
            Code.ERROR,
            True,
            "Reserve=Success Permit=Wait PreBind=Success Bind=Error Unreserve=Success",
        ),
    ],
)
def test_a_placed_pod_went_through(last, code, has_waited, points):
    assert repr(placing_path(last, code, has_waited=has_waited)) == points


def test_a_bound_pod_went_through_all():
    assert placing_path("PostBind", Code.SUCCESS) is BOUND
    assert [point for point, _ in BOUND.points] == [
        "Reserve", "Permit", "PreBind", "Bind", "PostBind",
    ]  # fmt: skip
