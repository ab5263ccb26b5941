"""Pods that wait at Permit: the plugins that have not allowed them yet, and the verdict.

A waiting pod is kept apart from its binding cycle, as upstream does, and stays if the binding
cycle fails before it waits (a pre-flight that fails). The pod's next binding cycle then finds the
old verdict; see golden case cycle-t-0015.

Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.config import format_duration
from podwright.scheduler.framework import Code, Status

LONGEST_WAIT_NS = 15 * 60 * 1_000_000_000
"""The longest time that a plugin can make a pod wait."""


class WaitingPod:
    """One pod at Permit.

    It is decided once: by the last plugin that allows it, or by the first rejection, timeout or
    preemption. Later calls are ignored.

    Attributes
    ----------
    number : int
        Counts waiting pods; timers know them by it.
    pending : dict of str to int
        The plugins that have not allowed it, with the time they hold it at most.
    verdict : Status or None
        SUCCESS: allowed. UNSCHEDULABLE: refused, signed by the plugin. ERROR: preempted.
    """

    __slots__ = ("key", "number", "pending", "uid", "verdict")

    def __init__(self, number: int, key: NamespacedName, uid: str, pending: dict[str, int]) -> None:
        self.number = number
        self.key = key
        self.uid = uid
        self.pending = pending
        self.verdict: Status | None = None

    def allow(self, plugin: str) -> bool:
        """Take one plugin off the list; returns whether that decides."""
        self.pending.pop(plugin, None)
        return not self.pending and self._decide(Status.OK)

    def reject(self, plugin: str, message: str) -> bool:
        """Refuse the pod; returns whether that decides."""
        return self._decide(Status(Code.UNSCHEDULABLE, (message,), plugin))

    def time_out(self, plugin: str) -> bool:
        """Refuse the pod because a plugin's time is up; returns whether that decides."""
        if plugin not in self.pending:
            return False
        waited = format_duration(self.pending[plugin])
        return self.reject(
            plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}"
        )

    def preempt(self, plugin: str) -> bool:
        """End the wait because the room is needed; returns whether that decides."""
        return self._decide(Status(Code.ERROR, ("preempted",), plugin))

    def _decide(self, verdict: Status) -> bool:
        if self.verdict is not None:
            return False
        self.verdict = verdict
        return True
