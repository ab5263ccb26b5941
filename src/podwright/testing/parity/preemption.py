"""The result of PostFilter, in the form of the vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podwright.apimachinery.objects import Pod, timestamp_ns
from podwright.scheduler.framework import Code, Decision
from podwright.scheduler.preemption import Choice, Preemption
from podwright.testing.parity.comparison import Check, equal, only

NOW_NS = timestamp_ns("2030-01-01T00:00:00Z") or 0
"""Later than every start time in the vectors."""


_FIELDS = frozenset({
    "acceptable", "candidates", "criterion", "message", "nominated_node", "status", "victims",
})  # fmt: skip


def compare_preemption(expect: dict[str, Any] | None, decision: Decision) -> Check:
    """Compare `expect.preemption` with what PostFilter did."""
    result = decision.post_filter
    if expect is None or result is None:
        yield equal("preemption", expect, None if result is None else result.status.code.label)
        return
    yield from only("preemption", expect, _FIELDS)
    yield equal("preemption.status", expect.get("status"), result.status.code.label)
    yield equal("preemption.message", expect.get("message"), result.message)
    details = result.details
    choice = details.choice if isinstance(details, Preemption) else None
    if choice is None or not isinstance(details, Preemption):
        expected = expect.get("nominated_node", "missing")
        yield equal("preemption.nominated_node", expected, result.nominated_node)
        for field in ("acceptable", "candidates", "criterion", "victims"):
            yield equal(f"preemption.{field}", expect.get(field), None)
        return
    assert result.status.code == Code.SUCCESS, result.status
    # Of equal nodes both name the first.
    yield equal("preemption.nominated_node", expect.get("nominated_node"), result.nominated_node)
    yield equal("preemption.acceptable", expect.get("acceptable"), list(choice.acceptable))
    yield equal("preemption.criterion", expect.get("criterion"), _criterion(choice))
    candidates = {
        candidate.node: {
            "victims": keys_of(candidate.victims),
            "pdb_violations": candidate.pdb_violations,
        }
        for candidate in details.candidates
    }
    yield equal("preemption.candidates", expect.get("candidates"), candidates)
    yield equal("preemption.victims", expect.get("victims"), keys_of(details.victims))


def keys_of(pods: Iterable[Pod]) -> list[str]:
    """Return "namespace/name" of pods."""
    return [pod.key for pod in pods]


def _criterion(choice: Choice) -> int | None:
    return None if choice.criterion is None else int(choice.criterion)
