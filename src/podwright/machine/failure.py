"""What happens to a pod whose attempt failed, at any extension point.

It returns to the queue with the names of the plugins that rejected it, its nomination is set or
cleared, and an Event and a condition report the failure. Without such a plugin the pod waits in
the error backoff, even if the condition's reason is Unschedulable (rejections by PreBind).

Upstream: pkg/scheduler/schedule_one.go, `handleSchedulingFailure`
"""

from __future__ import annotations

import msgspec

from podwright.framework import NO_NODES, Decision, Rejection, Status, fit_error
from podwright.machine.extension_path import ExtensionPath
from podwright.machine.groups import GANG_SCHEDULING
from podwright.machine.reporting import emit_failed, patch_status
from podwright.machine.state import State
from podwright.objects import Condition, Pod
from podwright.queueing import QueuedPod


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


def fits_nowhere(decision: Decision) -> Failure:
    """Describe a decision without a node."""
    if decision.error is not None:
        return failed(decision.error)
    diagnosis = decision.diagnosis
    assert diagnosis is not None, f"pod {decision.pod.key} has a node: {decision.node}"
    if not diagnosis.node_count:
        return Failure(message=NO_NODES, is_rejected=True)
    result = decision.post_filter
    return Failure(
        message=diagnosis.message,
        is_rejected=True,
        rejected_by=diagnosis.rejected_by,
        pending=diagnosis.pending,
        nominated_node="" if result is None else result.nominated_node,
    )


def handle_failure(
    state: State,
    queued: QueuedPod,
    pod: Pod,
    failure: Failure,
    *,
    started_ns: int | None = None,
    path: ExtensionPath | None = None,
) -> None:
    """Return the pod to its queue, and report the failure by an Event and a condition.

    Parameters
    ----------
    queued : QueuedPod
        The queue's entry of the pod.
    pod : Pod
        The version that the attempt was made with.
    started_ns : int, optional
        When the attempt began; None: with the scheduling cycle.
    path : ExtensionPath, optional
        The extension points that a pod passed after a node was chosen.
    """
    queue, now_ns = state.queue, state.now_ns
    state.metrics.failed(
        pod.spec.scheduler_name,
        "unschedulable" if failure.is_rejected else "error",
        started_ns=state.cycle_started_ns if started_ns is None else started_ns,
        now_ns=now_ns,
        path=path,
    )
    if state.on_failure is not None:
        state.on_failure(pod, failure, now_ns)
    newest = state.pods.get(pod.key)
    if newest is not None and newest.metadata.uid != queued.uid:
        # A new pod of that name, which this failure does not affect.
        newest = None
    if newest is None or newest.spec.node_name:
        # Deleted in the meantime, or bound by another scheduler: nothing to retry.
        queue.done(queued, now_ns)
    else:
        queue.park(
            queued,
            now_ns,
            unschedulable_plugins=failure.rejected_by,
            pending_plugins=failure.pending,
            pod=newest,
            # Members of a group are retried together, whatever events came in between.
            always_backoff=state.groups.group_of(GANG_SCHEDULING, pod) is not None,
        )
    queue.nominate(newest or pod, failure.nominated_node)
    emit_failed(state, pod, failure.message)
    patch_status(
        state,
        newest or pod,
        condition=Condition(
            type="PodScheduled",
            status="False",
            reason="Unschedulable" if failure.is_rejected else "SchedulerError",
            message=failure.message,
        ),
        nominated_node=failure.nominated_node,
    )
