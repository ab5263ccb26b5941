"""What followed an attempt, in words."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.simulation.recording.explanations import recorded
from podwright.simulation.recording.explanations.outcome import AttemptOutcome, OutcomeKind

SECOND = 1_000_000_000


def after(kind: OutcomeKind, **fields: Any) -> AttemptOutcome:
    return AttemptOutcome(kind=kind, **({"now_ns": 13 * SECOND} | fields))


QUEUED, BINDING = OutcomeKind.QUEUED, OutcomeKind.BINDING


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (after(OutcomeKind.BOUND, node="n1"), "bound to n1 3s later"),
        (after(OutcomeKind.BOUND, node="n1", now_ns=10 * SECOND), "bound to n1 immediately"),
        (after(OutcomeKind.GONE), "the pod was deleted 3s later"),
        (after(BINDING, node="n1"), "binding to n1 had not completed 3s later"),
        (after(BINDING), "binding had not completed 3s later"),
        (after(QUEUED, place="unschedulable"), "requeued as unschedulable"),
        (after(QUEUED, place="error_backoff"), "requeued as backoff after an error"),
        (after(QUEUED, place="in_flight"), "requeued as in flight"),
        (after(QUEUED, place="other"), "requeued as other"),
        (
            after(QUEUED, place="unschedulable", waits_for=("A", "B")),
            "requeued as unschedulable, waiting for A, B",
        ),
        (
            after(QUEUED, place="backoff", backoff_end_ns=12 * SECOND),
            "requeued as backoff, with a backoff of 2s",
        ),
        (after(QUEUED, place="backoff", backoff_end_ns=10 * SECOND), "requeued as backoff"),
        (after(QUEUED, place="active", nominated_node="n2"), "requeued as active, nominated to n2"),
        (
            after(QUEUED, place="error_backoff", node="n1", error="no licence"),
            "the attempt on n1 failed: no licence; requeued as backoff after an error",
        ),
        (
            after(
                QUEUED,
                place="backoff",
                waits_for=("A",),
                backoff_end_ns=11 * SECOND,
                nominated_node="n2",
            ),
            "requeued as backoff, waiting for A, with a backoff of 1s, nominated to n2",
        ),
    ],
)
def test_what_followed_an_attempt_is_one_phrase(outcome, text):
    assert recorded._then(outcome, 10 * SECOND) == text


def test_an_outcome_has_nothing_but_its_kind_and_its_time():
    found = after(BINDING)
    assert (found.node, found.error, found.place, found.nominated_node) == ("", "", "", "")
    assert (found.waits_for, found.backoff_end_ns) == ((), -1)
