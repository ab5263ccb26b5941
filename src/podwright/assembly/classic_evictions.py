"""Preemption under the v1.16 rules: in the cycle itself, all at once.

The preemptor has gone back to the queue and is nominated. Then every victim is deleted, and
the pods of lower priority that had been promised the node are told that they are not any more.
Nobody waits for any of that: the preemptor is tried again when a deletion is seen, since that
is a move request, and finds its victims gone or not.

Upstream waits for each call and stops at the first that fails. Here all go out together.

Upstream: pkg/scheduler/scheduler.go, `preempt` (1.16)
"""

from __future__ import annotations

from podwright.machine import DeletePod, Eviction, Evictions, emit, patch_status
from podwright.objects import Pod
from podwright.preemption import Preemption


class ClassicEvictions(Evictions):
    """Removes victims in the event in which they were chosen."""

    def is_wanted(self, preemption: Preemption) -> bool:
        """Report whether a pod is to be deleted, or a nomination to be cleared."""
        return bool(preemption.victims or preemption.cleared_nominations)

    def announce(
        self, preemptor: Pod, node: str, plugin: str, preemption: Preemption
    ) -> Eviction | None:
        """Note what is to be done once the preemptor is back in the queue; it is not held."""
        eviction = Eviction(preemptor, node, plugin, preemption.victims)
        eviction.to_clear = list(preemption.cleared_nominations)
        return eviction

    def start(self, eviction: Eviction) -> None:
        """Delete the victims, then take nominations back."""
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
