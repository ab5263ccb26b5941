"""Statuses: their codes, what they count as, and the plugin that they come from.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go, Code and Status
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

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


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(
            lambda: Status.error(cast("Any", KeyError("disk"))),
            "a reason of a Status must be text, not something of type KeyError",
            id="an exception as a reason",
        ),
        pytest.param(
            lambda: Status.unschedulable("a", cast("Any", ["b"])),
            "a reason of a Status must be text, not something of type list",
            id="a list of reasons",
        ),
        pytest.param(
            lambda: Status(Code.ERROR, cast("Any", "no")),
            "the reasons of a Status must be a tuple, not something of type str",
            id="one text as the reasons",
        ),
        pytest.param(
            lambda: Status(cast("Any", "Unschedulable")),
            "the code of a Status must be a Code, not something of type str",
            id="the name of a code",
        ),
    ],
)
def test_a_plugin_cannot_make_a_status_that_is_none(
    make: Callable[[], Status], expected: str
) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value) == expected
