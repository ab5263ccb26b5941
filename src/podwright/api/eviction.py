"""Whether a pod may be evicted, and what that does to its disruption budget.

One pure function, as `pods/eviction` decides; a drain asks it, and an API server can.

Upstream: pkg/registry/core/pod/storage/eviction.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from podwright.objects import (
    Condition,
    Document,
    Pod,
    PodDisruptionBudget,
    PodwrightError,
    decode_as,
    encode,
    is_ready,
    label_selector,
    timestamp_text,
    with_condition,
)

DISRUPTED_PODS_MAX: Final = 2_000
_RETRY_SECONDS: Final = 10


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to the wish to evict a pod.

    Attributes
    ----------
    code : int
        As HTTP has it: 201 the pod may be deleted, 429 not now, 403 and 500 not at all.
    message : str
        Why not, in upstream's words.
    retry_after_seconds : int
        What a client is told to wait for a budget that is still being worked out.
    budget : PodDisruptionBudget, optional
        With its status as it is to be written before the pod is deleted.
    """

    code: int = 201
    message: str = ""
    retry_after_seconds: int = 0
    budget: PodDisruptionBudget | None = None

    @property
    def is_allowed(self) -> bool:
        """Whether the pod may be deleted."""
        return self.code == 201


class EvictionRejected(PodwrightError):  # noqa: N818 - an answer of the API, not a failure
    """The API server does not evict a pod now, or not at all.

    Attributes
    ----------
    eviction : Eviction
        The code, the message and when to try again.
    """

    def __init__(self, eviction: Eviction) -> None:
        super().__init__(eviction.message)
        self.eviction = eviction


def decide_eviction(pod: Pod, budgets: Iterable[PodDisruptionBudget], now_ns: int) -> Eviction:
    """Decide whether a pod may be evicted.

    Parameters
    ----------
    pod : Pod
        As it is.
    budgets : iterable of PodDisruptionBudget
        Those of its namespace, whether they select it or not.
    now_ns : int
        When; written into the budget.
    """
    if pod.is_terminal or pod.is_terminating or pod.status.phase in {"", "Pending"}:
        return Eviction()
    covering = [
        budget
        for budget in budgets
        if budget.namespace == pod.namespace
        and label_selector(budget.spec.selector).matches(pod.metadata.labels)
    ]
    if not covering:
        return Eviction()
    if len(covering) > 1:
        return Eviction(
            code=500,
            message="This pod has more than one PodDisruptionBudget, which the eviction"
            " subresource does not support.",
        )
    budget = covering[0]
    if not is_ready(pod) and _lets_unhealthy_go(budget):
        return Eviction()
    return _charged(budget, pod.name, now_ns)


def _lets_unhealthy_go(budget: PodDisruptionBudget) -> bool:
    """Whether a budget does not care about a pod that is not ready."""
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    status = budget.status
    return status.current_healthy >= status.desired_healthy > 0


def _charged(budget: PodDisruptionBudget, pod_name: str, now_ns: int) -> Eviction:
    """Take one disruption from a budget.

    Notes
    -----
    Upstream: checkAndDecrement
    """
    status = budget.status
    if status.observed_generation < budget.metadata.generation:
        return Eviction(
            code=429,
            message=f"The disruption budget {budget.name} is still being processed by the server.",
            retry_after_seconds=_RETRY_SECONDS,
        )
    if status.disruptions_allowed < 0:
        return Eviction(code=403, message="pdb disruptions allowed is negative")
    if len(status.disrupted_pods) > DISRUPTED_PODS_MAX:
        return Eviction(
            code=403,
            message="DisruptedPods map too big - too many evictions not confirmed by PDB"
            " controller",
        )
    if status.disruptions_allowed == 0:
        return Eviction(
            code=429,
            message="Cannot evict pod as it would violate the pod's disruption budget. The"
            f" disruption budget {budget.name} needs {status.desired_healthy} healthy pods and has"
            f" {status.current_healthy} currently",
        )
    document = encode(budget)
    written: Document = dict(document.get("status") or {})
    left = status.disruptions_allowed - 1
    now = timestamp_text(now_ns)
    written["disruptionsAllowed"] = left
    written["disruptedPods"] = {**status.disrupted_pods, pod_name: now}
    if left == 0:
        written["conditions"] = _exhausted(written.get("conditions") or (), budget, now)
    charged = decode_as(document | {"status": written}, PodDisruptionBudget)
    return Eviction(budget=charged)


def _exhausted(
    conditions: Iterable[Document], budget: PodDisruptionBudget, now: str
) -> list[Document]:
    exhausted = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "lastTransitionTime": now,
        "observedGeneration": budget.status.observed_generation,
    }
    others = [each for each in conditions if each.get("type") != "DisruptionAllowed"]
    return [*others, exhausted]


def with_disruption_target(
    pod: Pod, reason: str, message: str, now_ns: int, *, sets_observed_generation: bool = True
) -> Pod:
    """Return a pod with the condition that says why it is about to be disrupted.

    Parameters
    ----------
    sets_observed_generation : bool
        Whether the condition says which generation of the pod it saw; the eviction API does
        not.
    """
    generation = pod.metadata.generation if sets_observed_generation else 0
    return with_condition(
        pod,
        Condition(
            type="DisruptionTarget",
            status="True",
            reason=reason,
            message=message,
            last_transition_time=timestamp_text(now_ns),
            observed_generation=generation or None,
        ),
    )
