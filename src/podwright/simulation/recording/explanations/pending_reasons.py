"""Short reasons why pods have no node: from a decision, or from PreEnqueue."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import HELD, Machine
from podwright.scheduler.queueing import QueueName

FAILED: Final = "SchedulerError"
_GATED: Final = "gated at PreEnqueue"


def gated_pods(machine: Machine) -> dict[NamespacedName, tuple[str, str]]:
    """Return the pods that a PreEnqueue plugin gates, with the plugin and its reason.

    Pods with scheduling gates, and pods that wait for the deletion of their victims, are left out.
    """
    return {
        queued.key: (queued.gating_plugin, ", ".join(queued.gating_reasons) or _GATED)
        for queued in machine.queue.pods_in(QueueName.GATED)
        if queued.gating_plugin != "SchedulingGates" and queued.gating_reasons != (HELD,)
    }


def main_reason(decision: Decision) -> str:
    """Return the most frequent reason; of equally frequent ones, the first by name."""
    if decision.error is not None:
        return FAILED
    diagnosis = decision.diagnosis
    if diagnosis is None:
        return decision.message
    if diagnosis.pre_filter is not None:
        return diagnosis.pre_filter.message
    counts: dict[str, int] = {}
    for rejection in diagnosis.rejections:
        for reason in rejection.status.reasons:
            counts[reason] = counts.get(reason, 0) + rejection.count
    return min(counts, key=lambda name: (-counts[name], name), default=decision.message)
