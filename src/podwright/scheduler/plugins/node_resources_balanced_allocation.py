"""NodeResourcesBalancedAllocation: prefers nodes whose resource use the pod balances.

**What it does.** Compares how evenly a node's resources are requested with the pod and without
it; 75 means no change. Pods that request none of the resources are not scored.

**Why it matters.** Free memory on a node without free CPU cannot be used. LeastAllocated alone
does not prevent this.

**Configuration.** ``resources``: the resources to compare, cpu and memory by default.

**Example.** A pod that requests only memory scores higher on a node whose CPU is requested.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go,
resource_allocation.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

import numpy as np

from podwright._arrays import I64Array
from podwright.apimachinery.objects import (
    Pod,
    is_scalar_resource,
    request_key,
    score_requests_balanced,
    status_changes_requests,
)
from podwright.scheduler.config import NodeResourcesBalancedAllocationArgs, ResourceSpec
from podwright.scheduler.framework import (
    Cycle,
    NodeColumns,
    Plugin,
    Reads,
    RequestScore,
    Scores,
    StateKey,
    Status,
    resources_fragment,
)
from podwright.scheduler.kernels import pair_scores, resource_scores
from podwright.scheduler.kernels.pair_scores import FEWEST

_DEFAULT_RESOURCES = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
_FIXED = ("cpu", "memory", "ephemeral-storage")

_PLAN: StateKey[I64Array] = StateKey("PreScoreNodeResourcesBalancedAllocation")


class NodeResourcesBalancedAllocation(Plugin):
    """Score nodes by the balance of their resources."""

    name = "NodeResourcesBalancedAllocation"
    key_reads_all_labels = False
    Args: ClassVar[type[NodeResourcesBalancedAllocationArgs]] = NodeResourcesBalancedAllocationArgs
    pre_score_reads = Reads.NOTHING
    score_reads = Reads.NODE | Reads.PODS
    scores_in_range = True
    key_varies = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None = None) -> None:
        self._resources = _DEFAULT_RESOURCES if args is None else args.resources

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the requests of the pod."""
        return resources_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return what decides the pod's requests."""
        return request_key(pod)

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return whether the key depends on the spec alone: the pod has not been resized."""
        return not status_changes_requests(pod)

    def pre_score(self, cycle: Cycle) -> Status:
        """Plan which resources to compare; skip pods that request none of them."""
        plan = self._plan(cycle)
        if plan is None:
            return Status.SKIPPED
        cycle.write(_PLAN, plan)
        return Status.OK

    def _plan(self, cycle: Cycle) -> I64Array | None:
        amounts = score_requests_balanced(cycle.pod)
        cycle.cluster.nodes.note_amounts(amounts.values())
        names = [resource.name for resource in self._resources]
        if not any(amounts.get(name) for name in names):
            return None
        nodes = cycle.cluster.nodes
        plan: list[int] = []
        for name in names:
            # An extended resource counts only if the pod requests it; cpu and memory always
            # count (resource_allocation.go, calculateResourceAllocatableRequest).
            if name in _FIXED or (amounts.get(name) and is_scalar_resource(name)):
                plan += (nodes.resource_index(name), amounts.get(name, 0))
        return np.array(plan, dtype=np.int64)

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Score with and without the pod.

        Notes
        -----
        Without PreScore the plan is made here, and pods that request none of the resources get
        0. Upstream: balanced_allocation.go, `Score`
        """
        plan = cycle.find(_PLAN)
        if plan is None:
            plan = self._plan(cycle)
        if plan is None:
            out.values[out.rows] = 0
            return
        if (
            len(out.rows) >= FEWEST
            and len(plan) == 4
            and pair_scores.pair_balanced_scores(
                nodes.allocatable, nodes.requested, plan, out.rows, out.values
            )
        ):
            return
        resource_scores.balanced_scores(
            nodes.allocatable, nodes.requested, plan, out.rows, out.values
        )

    def score_as_requests(self, cycle: Cycle) -> RequestScore | None:
        """Return the plan; None without its PreScore."""
        plan = cycle.find(_PLAN)
        return None if plan is None else RequestScore(plan, is_balance=True)
