"""Eviction: whether a pod may be evicted, and how that changes its disruption budget.

`decide_eviction` is a pure function with the semantics of the subresource `pods/eviction`.

Upstream: pkg/registry/core/pod/storage/eviction.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Condition,
    Document,
    Pod,
    PodDisruptionBudget,
    decode_as,
    encode,
    is_ready,
    label_selector,
    timestamp_text,
    with_condition,
)
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.rejections import Rejection, forbidden, too_many_requests

DISRUPTED_PODS_MAX: Final = 2_000
_RETRY_SECONDS: Final = 10

VIOLATION: Final = "Cannot evict pod as it would violate the pod's disruption budget."
"""The message of an eviction that a budget does not allow."""


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """The body of an eviction.

    Attributes
    ----------
    uid, version : str
        Preconditions; empty for none.
    read_options : callable
        Returns the options of the deletion, or raises why they are not valid.
    """

    uid: str = ""
    version: str = ""
    read_options: Callable[[], DeleteOptions]


def decide_eviction(
    pod: Pod, budgets: Iterable[PodDisruptionBudget], now_ns: int
) -> Rejection | PodDisruptionBudget | None:
    """Decide whether a pod may be evicted.

    Returns the rejection, or the budget with the status to store before the pod is deleted, or None
    if no budget is charged.

    Parameters
    ----------
    pod : Pod
        The current object.
    budgets : iterable of PodDisruptionBudget
        The budgets of its namespace, whether they select the pod or not.
    now_ns : int
        The time of the eviction, which is stored in the budget.
    """
    if pod.is_terminal or pod.is_terminating or pod.status.phase == "Pending":
        return None
    covering = [
        budget
        for budget in budgets
        if budget.namespace == pod.namespace
        and label_selector(budget.spec.selector).matches(pod.metadata.labels)
    ]
    if not covering:
        return None
    if len(covering) > 1:
        text = (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does"
            " not support."
        )
        return Rejection(500, "", text, about=tuple(budget.name for budget in covering))
    budget = covering[0]
    if not is_ready(pod) and _lets_unhealthy_go(budget):
        return None
    found = _charged(budget, pod.name, now_ns)
    if isinstance(found, Rejection):
        found.about = (budget.name,)
    return found


def _lets_unhealthy_go(budget: PodDisruptionBudget) -> bool:
    """Whether a budget allows the eviction of an unready pod without using a disruption."""
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    status = budget.status
    # An unready pod is not among the healthy ones, so its eviction leaves the budget satisfied.
    return status.current_healthy >= status.desired_healthy > 0


def _charged(
    budget: PodDisruptionBudget, pod_name: str, now_ns: int
) -> Rejection | PodDisruptionBudget:
    """Take one disruption from a budget.

    Notes
    -----
    Upstream: checkAndDecrement
    """
    status = budget.status
    if status.observed_generation < budget.metadata.generation:
        cause = f"The disruption budget {budget.name} is still being processed by the server."
        return _not_now(cause, _RETRY_SECONDS)
    if status.disruptions_allowed < 0:
        return _forbidden(budget, "pdb disruptions allowed is negative")
    if len(status.disrupted_pods) > DISRUPTED_PODS_MAX:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        return _forbidden(budget, text)
    document = encode(budget)
    written: Document = dict(document.get("status") or {})
    if status.disruptions_allowed == 0:
        return _not_now(_cause(budget, written.get("conditions") or ()))
    left = status.disruptions_allowed - 1
    now = timestamp_text(now_ns)
    written["disruptionsAllowed"] = left
    written["disruptedPods"] = {**status.disrupted_pods, pod_name: now}
    if left == 0:
        written["conditions"] = _exhausted(written.get("conditions") or (), budget, now)
    return decode_as(document | {"status": written}, PodDisruptionBudget)


def _not_now(cause: str, retry_seconds: int = 0) -> Rejection:
    found = {"reason": "DisruptionBudget", "message": cause}
    return too_many_requests(VIOLATION, cause=found, retry_seconds=retry_seconds)


def _forbidden(budget: PodDisruptionBudget, text: str) -> Rejection:
    return forbidden("policy", "poddisruptionbudget", budget.name, text)


_CONDITION: Final = "DisruptionAllowed"


def _cause(budget: PodDisruptionBudget, conditions: Iterable[Document]) -> str:
    """Return why a budget allows no disruption, with what its condition says."""
    status = budget.status
    condition = next((each for each in conditions if each.get("type") == _CONDITION), {})
    reason, message = condition.get("reason"), condition.get("message")
    has_message = condition.get("status") == "False" and message
    refused = f"The disruption budget {budget.name} does not allow evicting pods currently"
    # The numbers are not those of the pods if the last sync failed.
    if has_message and reason == "SyncFailed":
        return f"{refused} because it failed sync: {message}"
    if status.current_healthy <= status.desired_healthy:
        return (
            f"The disruption budget {budget.name} needs {status.desired_healthy} healthy pods"
            f" and has {status.current_healthy} currently"
        )
    return f"{refused} ({reason}): {message}" if has_message else refused


def _exhausted(
    conditions: Iterable[Document], budget: PodDisruptionBudget, now: str
) -> list[Document]:
    """Return the conditions of a budget that has no disruption left.

    Upstream: staging/src/k8s.io/component-helpers/apps/poddisruptionbudget/helpers.go,
    UpdateDisruptionAllowedCondition
    """
    exhausted = {
        "type": _CONDITION,
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": budget.status.observed_generation,
    }
    listed = list(conditions)
    for index, each in enumerate(listed):
        if each.get("type") == _CONDITION:
            time = each.get("lastTransitionTime") if each.get("status") == "False" else now
            listed[index] = each | exhausted | {"lastTransitionTime": time}
            return listed
    return [*listed, exhausted | {"lastTransitionTime": now}]


def with_disruption_target(
    pod: Pod, reason: str, message: str, now_ns: int, *, sets_observed_generation: bool = True
) -> Pod:
    """Return a pod with the condition DisruptionTarget, which announces its deletion.

    Parameters
    ----------
    sets_observed_generation : bool
        Whether to set `observedGeneration`; the eviction API does not.
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
