"""Statuses: their codes, what they count as, and the plugin that they come from.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go, Code and Status
"""

from __future__ import annotations

import pytest

from podwright.scheduler.framework import Code, Status


@pytest.mark.parametrize(
    ("status", "number", "label", "counts_as"),
    [
        pytest.param(Status.OK, 0, "Success", "success", id="success"),
        pytest.param(Status.error("a", "b"), 1, "Error", "", id="an error"),
        pytest.param(Status.unschedulable("a", "b"), 2, "Unschedulable", "rejection", id="full"),
        pytest.param(
            Status.unresolvable("a", "b"),
            3,
            "UnschedulableAndUnresolvable",
            "rejection",
            id="a rejection that preemption cannot undo",
        ),
        pytest.param(Status.wait("a", "b"), 4, "Wait", "", id="waiting"),
        pytest.param(Status.skip(), 5, "Skip", "skip", id="skipped"),
        pytest.param(Status.pending("a", "b"), 6, "Pending", "rejection", id="pending"),
    ],
)
def test_what_a_status_is(status: Status, number: int, label: str, counts_as: str) -> None:
    assert (status.code, status.code.label) == (Code(number), label)
    has_reasons = counts_as not in ("success", "skip")
    assert status.reasons == (("a", "b") if has_reasons else ())
    assert status.message == ("a, b" if has_reasons else "")
    counted = {
        "success": status.is_success,
        "skip": status.is_skip,
        "rejection": status.is_rejection,
    }
    assert [name for name, is_counted in counted.items() if is_counted] == (
        [counts_as] if counts_as else []
    )
    named = status.by("P")
    assert named == Status(status.code, status.reasons, "P")
    assert named.by("P") is named
    assert named.by("Q").plugin == "Q"
    assert status.plugin == ""
