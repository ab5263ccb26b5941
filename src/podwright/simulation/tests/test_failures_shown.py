"""Failures after a node was chosen, and before any was looked for, are shown as what they are."""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.framework import Plugin, Status
from podwright.testing import make_node, make_pod

pytest.importorskip("pyarrow")

SECOND = 1_000_000_000


def plugin_with(point: str, answer: Any) -> type[Plugin]:
    def method(*_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return type("Broken", (Plugin,), {"name": "Broken", point: method})


REFUSED = Status.unschedulable("no licence is left")
CASES = [
    ("reserve", REFUSED, "Unschedulable", "no licence is left"),
    ("reserve", ValueError("oops"), "SchedulerError", "oops"),
    ("permit", (REFUSED, 0), "Unschedulable", "no licence is left"),
    ("permit", ValueError("oops"), "SchedulerError", "oops"),
    ("permit", (Status.wait("later"), SECOND), "Unschedulable", "timeout"),
    ("pre_bind", REFUSED, "Unschedulable", "no licence is left"),
    ("pre_bind", ValueError("oops"), "SchedulerError", "oops"),
]


@pytest.mark.parametrize(("point", "answer", "result", "text"), CASES)
def test_an_attempt_that_fails_on_its_node_is_not_shown_as_scheduled(point, answer, result, text):
    run = pw.simulate(
        [make_node("n"), make_pod("p")], plugins=[plugin_with(point, answer)], until="5s"
    )
    table = run.tables["decisions"].to_pylist()
    failed = [row for row in table if row["result"] == result]
    assert failed
    assert all(text in row["message"] for row in failed)
    assert {row["node"] for row in failed} == {"n"}
    # What fails in a later event than the one of the cycle has a row of its own then.
    is_late = point == "pre_bind" or (isinstance(answer, tuple) and answer[1] > 0)
    assert 0 <= len(table) - len(failed) * (1 + is_late) <= is_late
    assert text in run.pending["default/p"]
    assert "not tried yet" not in run.summary.pending
    assert sum(run.summary.pending.values()) == 1
    assert run.summary.counts.failed_decisions == len(failed)
    if result == "SchedulerError":
        assert run.summary.pending == {"SchedulerError": 1}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(REFUSED, "no licence is left"), (ValueError("oops"), "oops")],
)
def test_a_pod_that_is_held_back_at_pre_enqueue_says_by_whom_and_why(answer, reason):
    run = pw.simulate(
        [make_node("n"), make_pod("p")], plugins=[plugin_with("pre_enqueue", answer)], until="5s"
    )
    assert run.pending["default/p"].startswith('PreEnqueue plugin "Broken": ')
    assert reason in run.pending["default/p"]
    (shown,) = run.summary.pending
    assert reason in shown
    assert run.summary.pending_count == 1
