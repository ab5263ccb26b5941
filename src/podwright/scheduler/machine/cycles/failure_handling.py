"""What happens to a pod whose attempt failed, at any extension point.

It returns to the queue with the names of the plugins that rejected it, its nomination is set or
cleared, and an Event and a condition report the failure. Without such a plugin the pod waits in
the error backoff, even if the condition's reason is Unschedulable (rejections by PreBind).

Upstream: pkg/scheduler/schedule_one.go, `handleSchedulingFailure`
"""

from __future__ import annotations

from podwright.apimachinery.objects import Condition, Pod
from podwright.scheduler.machine.cycles.failure import Failure
from podwright.scheduler.machine.cycles.plugin_calls import ExtensionPath
from podwright.scheduler.machine.reporting import emit_failed, patch_status
from podwright.scheduler.machine.state import GANG_SCHEDULING, State
from podwright.scheduler.queueing import QueuedPod


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
        When the attempt started; None: with the scheduling cycle.
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
    if newest is None or newest.spec.node_name:
        # Deleted in the meantime, or bound by another scheduler: nothing to retry.
        queue.done(queued, now_ns)
    elif newest.metadata.uid != queued.uid:
        # A new pod of that name, which this failure does not affect.
        queue.done(queued, now_ns)
        return
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
        pod = newest
    queue.nominate(pod, failure.nominated_node)
    emit_failed(state, pod, failure.message)
    patch_status(
        state,
        pod,
        condition=Condition(
            type="PodScheduled",
            status="False",
            reason="Unschedulable" if failure.is_rejected else "SchedulerError",
            message=failure.message,
        ),
        nominated_node=failure.nominated_node,
    )
