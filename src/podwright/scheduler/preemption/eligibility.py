"""Eligibility: whether a pod may preempt others."""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import priority_of
from podwright.scheduler.framework import Code, FailedCycle, Status

NEVER = Status.unschedulable("not eligible due to preemptionPolicy=Never.")
WAITS = Status.unschedulable("not eligible due to a terminating pod on the nominated node.")


def eligibility(failed: FailedCycle) -> Status:
    """Return whether the pod may preempt.

    Returns
    -------
    Status
        OK, or UNSCHEDULABLE: its policy is Never, or others are making room for it already.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
    `PodEligibleToPreemptOthers`, `podTerminatingByPreemption`.
    """
    pod = failed.pod
    if pod.spec.preemption_policy == "Never":
        return NEVER
    name = pod.status.nominated_node_name
    cluster = failed.cluster
    slot = cluster.nodes.slot_of.get(name, -1) if name else -1
    if slot < 0:
        return Status.OK
    if failed.status_of(name).code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        # The pod can no longer run on the nominated node, so it does not wait for it.
        return Status.OK
    priority = priority_of(pod)
    for placed in cluster.pods_on[slot].values():
        if priority_of(placed.pod) < priority and is_terminating_by_preemption(placed.pod):
            return WAITS
    return Status.OK


def is_terminating_by_preemption(pod: Pod) -> bool:
    """Return whether a pod is being deleted because the scheduler preempted it."""
    if pod.metadata.deletion_timestamp is None:
        return False
    return any(
        condition.type == "DisruptionTarget"
        and condition.status == "True"
        and condition.reason == "PreemptionByScheduler"
        for condition in pod.status.conditions
    )
