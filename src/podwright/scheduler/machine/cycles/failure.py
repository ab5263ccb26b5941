"""Why the attempt to schedule a pod failed; `failure_handling` acts on it."""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import NO_NODES, Decision, Rejection, Status, fit_error


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an attempt failed.

    Parameters
    ----------
    message : str
        For the Event and the condition.
    is_rejected : bool
        The condition's reason is Unschedulable; otherwise SchedulerError.
    rejected_by, pending : frozenset of str
        Whose events may help; both empty: the pod is retried after the error backoff.
    nominated_node : str, optional
        Where the pod is nominated from now on; "" takes a nomination back, None leaves it.
    reason : str
        The plugin's own words, without those around them; "" if there are none.
    """

    message: str
    is_rejected: bool = False
    rejected_by: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    nominated_node: str | None = ""
    reason: str = ""


def error_text(pod: Pod, failure: Failure) -> str:
    """Return what to report of an attempt that failed by an error; "" for a rejection.

    Upstream: pkg/scheduler/schedule_one.go, handleSchedulingFailure
    """
    if failure.is_rejected:
        return ""
    return f"scheduling pod {pod.key} failed, and is tried again later: {failure.message}"


def refused(status: Status) -> Failure:
    """Describe a refusal at Reserve or Permit: a fit error about one node."""
    is_pending = status.code.label == "Pending"
    plugins = frozenset({status.plugin})
    return Failure(
        message=fit_error(1, None, (Rejection(status, 1),)),
        is_rejected=True,
        rejected_by=frozenset() if is_pending else plugins,
        pending=plugins if is_pending else frozenset(),
        reason=", ".join(status.reasons),
    )


def failed(status: Status) -> Failure:
    """Describe an error, or a rejection at a point after which no plugin is recorded."""
    return Failure(message=status.message, is_rejected=status.is_rejection)


def fits_nowhere(decision: Decision, *, nominated_node: str | None = "") -> Failure:
    """Describe a decision without a node.

    Parameters
    ----------
    nominated_node : str, optional
        As of a `Failure`, unless PostFilter decides about it.
    """
    if decision.error is not None:
        return msgspec.structs.replace(failed(decision.error), nominated_node=nominated_node)
    diagnosis = decision.diagnosis
    assert diagnosis is not None, f"pod {decision.pod.key} has a node: {decision.node}"
    if not diagnosis.node_count:
        return Failure(message=NO_NODES, is_rejected=True, nominated_node=nominated_node)
    result = decision.post_filter
    return Failure(
        message=diagnosis.message,
        is_rejected=True,
        rejected_by=diagnosis.rejected_by,
        pending=diagnosis.pending,
        nominated_node=nominated_node if result is None else result.nominated_node,
    )
