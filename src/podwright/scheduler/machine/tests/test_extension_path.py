from __future__ import annotations

import pytest

from podwright.scheduler.framework.decision import Decision, Diagnosis, PostFilterResult
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.machine.cycles.plugin_calls import BOUND, binding_path, decision_path
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
    ("path", "points"),
    [
        pytest.param(
            binding_path("Reserve", Code.UNSCHEDULABLE),
            "Reserve=Unschedulable Unreserve=Success",
            id="refused at Reserve",
        ),
        pytest.param(
            binding_path("Permit", Code.ERROR),
            "Reserve=Success Permit=Error Unreserve=Success",
            id="an error at Permit",
        ),
        pytest.param(
            binding_path("PreBindPreFlight", Code.SKIP, has_waited=True),
            "Reserve=Success Permit=Wait PreBindPreFlight=Skip Unreserve=Success",
            id="refused while it waited",
        ),
        pytest.param(
            binding_path("Bind", Code.ERROR, has_work=True),
            "Reserve=Success Permit=Success PreBindPreFlight=Success PreBind=Success Bind=Error"
            " Unreserve=Success",
            id="not bound",
        ),
    ],
)
def test_a_placed_pod_went_through(path, points):
    assert repr(path) == points
    assert not path.is_bound


def test_a_bound_pod_went_through_all():
    assert binding_path("PostBind", Code.SUCCESS) is BOUND
    assert [point for point, _ in BOUND.points] == [
        "Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind",
    ]  # fmt: skip
    assert BOUND.is_bound
