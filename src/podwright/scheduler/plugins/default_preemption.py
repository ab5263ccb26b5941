"""DefaultPreemption: evicts pods of lower priority for a pod that fits on no node.

**What it does.** If a pod fits on no node, simulates on each node where preemption could help
that all pods of lower priority are removed, reprieves as many of them as possible, and chooses
the node with the lowest cost: fewest violated disruption budgets, least important victims, and
so on. The pod is nominated to that node, and the victims are evicted.

**Why it matters.** Without it, important pods would wait until other pods end.

**Configuration.** ``minCandidateNodesPercentage`` and ``minCandidateNodesAbsolute`` set the
number of candidates at which the search ends. With the feature gate WorkloadAwarePreemption it
does nothing for a pod of a PodGroup, for which victims are found for the group as a whole; with
TopologyAwareWorkloadScheduling, for a pod of a group with scheduling constraints.

**Example.** On a full node, a pod with priority 1000 preempts one with priority 0. Where
preemption does not help, the message ends with ``preemption: 0/1 nodes are available: 1 No
preemption victims found for incoming pod.``

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from podwright.apimachinery.objects import Pod, PodGroup
from podwright.scheduler import preemption
from podwright.scheduler.config import DEFAULT_GATES, DefaultPreemptionArgs, Gates
from podwright.scheduler.framework import (
    POD,
    ActionType,
    Cycle,
    EventHint,
    FailedCycle,
    FilteredCycle,
    Hint,
    Plugin,
    PostFilterResult,
    Status,
    Steps,
)
from podwright.scheduler.preemption import Limits, preempt


class DefaultPreemption(Plugin):
    """Nominate the pod to the node where it costs least to make room.

    Asynchronous preemption will add `pre_enqueue`: it holds the pod back until the last of
    its victims has been evicted.
    """

    name = "DefaultPreemption"
    Args: ClassVar[type[DefaultPreemptionArgs]] = DefaultPreemptionArgs
    takes_gates = True

    def __init__(
        self, args: DefaultPreemptionArgs | None = None, *, gates: Gates = DEFAULT_GATES
    ) -> None:
        args = DefaultPreemptionArgs() if args is None else args
        self._is_for_groups = "WorkloadAwarePreemption" in gates
        self._has_placements = "TopologyAwareWorkloadScheduling" in gates
        self.limits = Limits(args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute)

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return deleted pods; they are registered, but the hint never queues a pod."""
        return (EventHint(POD, ActionType.DELETE, after_pod_deleted),)

    def post_filter(
        self, cycle: Cycle, failed: FailedCycle
    ) -> PostFilterResult | Steps[PostFilterResult]:
        """Find victims; `details` is a `podwright.scheduler.preemption.Preemption`."""
        assert isinstance(failed, FilteredCycle), type(failed).__name__
        if why_not := self._left_to_the_group(cycle.pod):
            return PostFilterResult(status=Status.unschedulable(f"preemption: {why_not}"))
        if any(extender.settings.preempt_verb for extender in failed.extenders):
            return _with_prefix_steps(preemption.preempt_with_extenders(failed, self.limits))
        return _with_prefix(preempt(failed, self.limits))

    def _left_to_the_group(self, pod: Pod) -> str:
        """Return why no victims are looked for on behalf of one pod of a group; "" if they are.

        Upstream: default_preemption.go, PostFilter
        """
        group = pod.spec.scheduling_group
        if group is None or self.handle is None:
            return ""
        if self._has_placements:
            name = f"{pod.metadata.namespace}/{group.pod_group_name}"
            pod_group = self.handle.find(PodGroup, name)
            if pod_group is None:
                return "pod group for pod not found"
            if pod_group.spec.scheduling_constraints is not None:
                return "not eligible due to placement-based pod group scheduling limitation"
        return "not eligible due to workload aware preemption enabled" * self._is_for_groups


def _with_prefix(result: PostFilterResult) -> PostFilterResult:
    message = result.message
    if not message:
        return result
    status = Status(result.status.code, (f"preemption: {message}",))
    return msgspec.structs.replace(result, status=status)


def _with_prefix_steps(steps: Steps[PostFilterResult]) -> Steps[PostFilterResult]:
    return _with_prefix((yield from steps))


# The hints of events: whether one may have undone the rejection of a pod.


def after_pod_deleted(_pod: Pod, _old: object | None, _new: object | None) -> Hint:
    """Skip: the preemptor is activated when its last victim is deleted."""
    return Hint.SKIP
