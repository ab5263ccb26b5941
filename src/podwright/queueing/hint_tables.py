"""The hint tables of all profiles, asked about a pod or an event."""

from __future__ import annotations

from collections.abc import Mapping

from podwright.framework import ClusterEvent
from podwright.queueing.hints import HintTable, Requeue
from podwright.queueing.in_flight import InFlight
from podwright.queueing.pod import QueuedPod
from podwright.queueing.unschedulable import UnschedulablePods

_NO_HINTS = HintTable({})


class HintTables:
    """What the plugins of each profile registered.

    Parameters
    ----------
    tables : mapping of str to HintTable
        By schedulerName.
    """

    __slots__ = ("_last_event", "_last_rejectors", "_watched", "tables")

    def __init__(self, tables: Mapping[str, HintTable]) -> None:
        self.tables = tables
        # Mostly the same event again: a victim of preemption goes, a pod is bound.
        self._last_event: ClusterEvent | None = None
        self._last_rejectors: tuple[tuple[str, str], ...] = ()
        self._watched: dict[tuple[str, frozenset[str]], tuple[tuple[str, str], ...]] = {}

    def watched(self, queued: QueuedPod) -> tuple[tuple[str, str], ...]:
        """Return the (profile, plugin) pairs whose events concern a pod; empty: every event."""
        profile = queued.pod.spec.scheduler_name
        if profile not in self.tables:
            # There are no hints to ask.
            return ()
        key = (profile, queued.rejectors)
        found = self._watched.get(key)
        if found is None:
            plugins = sorted(queued.rejectors)
            found = self._watched[key] = tuple([(profile, plugin) for plugin in plugins])
        return found

    def verdict(
        self, queued: QueuedPod, event: ClusterEvent, old: object | None, new: object | None
    ) -> Requeue:
        """Say what an event means for a pod."""
        table = self.tables.get(queued.pod.spec.scheduler_name)
        if table is not None:
            return table.requeue(queued, event, old, new)
        # A profile without a table is a mistake of the caller's; upstream does not strand
        # its pods either.
        if event.is_wildcard:
            return _NO_HINTS.requeue(queued, event, old, new)
        return Requeue.AFTER_BACKOFF

    def verdict_in_flight(self, queued: QueuedPod, in_flight: InFlight) -> Requeue:
        """Ask the rejectors about everything that happened during the attempt."""
        if not queued.rejectors or queued.uid not in in_flight:
            return Requeue.AFTER_BACKOFF
        verdict = Requeue.SKIP
        for recorded in in_flight.events_since_pop(queued.uid):
            answer = self.verdict(queued, recorded.event, recorded.old, recorded.new)
            if answer is Requeue.IMMEDIATELY:
                return answer
            if answer is Requeue.AFTER_BACKOFF:
                verdict = answer
                if not queued.pending_plugins:
                    break
        return verdict

    def candidates(
        self, event: ClusterEvent, unschedulable: UnschedulablePods
    ) -> list[QueuedPod] | None:
        """Return the pods the event may concern; None if no plugin registered it."""
        if event.is_wildcard:
            return unschedulable.in_order()
        if event is not self._last_event:
            self._last_event = event
            self._last_rejectors = tuple(
                [
                    (profile, plugin)
                    for profile, table in self.tables.items()
                    for plugin in table.interested(event).functions_of
                ]
            )
        rejectors = self._last_rejectors
        return unschedulable.rejected_by(rejectors) if rejectors else None

    def can_ungate(self, queued: QueuedPod, event: ClusterEvent) -> bool:
        """Tell whether the plugin that holds the pod registered the event."""
        table = self.tables.get(queued.pod.spec.scheduler_name)
        return table is not None and table.concerns(queued.gating_plugin, event)
