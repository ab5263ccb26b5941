"""Preemption under the v1.16 rules: within the cycle, all victims at once.

The preemptor is back in the queue and nominated. Then every victim is deleted, and the nominations
of pods of lower priority to the node are cleared. Nothing waits for these calls: each observed
deletion is a move request, which makes the preemptor schedulable again.

Upstream waits for each call and stops at the first failure. Here all calls are made together.

Upstream: pkg/scheduler/scheduler.go, `preempt` (1.16)
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.machine import DeletePod, Eviction, Evictions, emit, patch_status
from podwright.scheduler.preemption import Preemption


class ClassicEvictions(Evictions):
    """Deletes victims in the event in which they are chosen."""

    def is_needed(self, preemption: Preemption) -> bool:
        """Report whether a pod is to be deleted, or a nomination to be cleared."""
        return bool(preemption.victims or preemption.cleared_nominations)

    def announce(
        self, preemptor: Pod, node: str, plugin: str, preemption: Preemption
    ) -> Eviction | None:
        """Prepare the eviction; the preemptor is not gated."""
        eviction = Eviction(preemptor, node, plugin, preemption.victims)
        eviction.to_clear = list(preemption.cleared_nominations)
        return eviction

    def start(self, eviction: Eviction) -> None:
        """Delete the victims, then clear nominations."""
        state, preemptor = self._state, eviction.preemptor
        for victim in eviction.victims:
            state.actions.append(DeletePod(state.next_call(), victim.key, victim.metadata.uid))
            emit(
                state,
                victim,
                "Normal",
                "Preempted",
                "Preempting",
                f"Preempted by {preemptor.namespace}/{preemptor.name} on node {eviction.node}",
                controller=preemptor.spec.scheduler_name,
                related=preemptor.key,
            )
        for pod in eviction.to_clear:
            patch_status(state, pod, nominated_node="")
        state.metrics.preemption_tried(len(eviction.victims))
