"""The hint tables of all profiles."""

from __future__ import annotations

from collections.abc import Mapping

from podwright.scheduler.framework import WILDCARD, ClusterEvent
from podwright.scheduler.queueing.hints import HintTable, Requeue
from podwright.scheduler.queueing.in_flight import InFlight
from podwright.scheduler.queueing.pod import QueuedPod
from podwright.scheduler.queueing.unschedulable import UnschedulablePods

_NO_HINTS = HintTable({})


class HintTables:
    """Finds the hint table for a pod or the pods for an event.

    Parameters
    ----------
    tables : mapping of str to HintTable
        By schedulerName.
    """

    __slots__ = ("_last_event", "_last_rejectors", "_watched", "tables")

    def __init__(self, tables: Mapping[str, HintTable]) -> None:
        self.tables = tables
        # Consecutive events are often the same: victims are deleted, pods are bound.
        self._last_event: ClusterEvent | None = None
        self._last_rejectors: tuple[tuple[str, str], ...] = ()
        self._watched: dict[tuple[str, frozenset[str]], tuple[tuple[str, str], ...]] = {}

    def watched(self, queued: QueuedPod) -> tuple[tuple[str, str], ...]:
        """Return the (profile, plugin) pairs whose events concern a pod; empty for all events."""
        profile = queued.pod.spec.scheduler_name
        if profile not in self.tables:
            # The profile has no hints.
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
        """Return whether and how an event requeues a pod."""
        table = self.tables.get(queued.pod.spec.scheduler_name)
        if table is not None:
            return table.requeue(queued, event, old, new)
        # A profile without a table is a caller's error; as upstream, its pods are requeued.
        if event.is_wildcard:
            return _NO_HINTS.requeue(queued, event, old, new)
        return Requeue.AFTER_BACKOFF

    def verdict_in_flight(self, queued: QueuedPod, in_flight: InFlight) -> Requeue:
        """Run the hints of the rejectors for all events during the attempt."""
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
        """Return the pods that the event may concern; None if no plugin registered it."""
        if event.is_wildcard:
            return unschedulable.in_order()
        if event is not self._last_event:
            self._last_event = event
            self._last_rejectors = tuple(
                [
                    (profile, plugin)
                    for profile, table in self.tables.items()
                    for plugin in table.registered(event).functions_of
                ]
            )
        rejectors = self._last_rejectors
        return unschedulable.rejected_by(rejectors) if rejectors else None

    def moving_events(self, queued: QueuedPod) -> dict[str, tuple[str, ...]]:
        """Return the labels of the events for which hints of a pod's rejectors are run.

        Of a gated pod, only the plugin that gates it counts. `WILDCARD` is every event.
        """
        table = self.tables.get(queued.pod.spec.scheduler_name)
        rejectors = {queued.gating_plugin} if queued.is_gated else queued.rejectors
        if table is None or not rejectors:
            return {WILDCARD: ()}
        found: dict[str, tuple[str, ...]] = {}
        for plugin in sorted(rejectors):
            for label in table.labels_of(plugin):
                found[label] = (*found.get(label, ()), plugin)
        return dict(sorted(found.items()))

    def can_ungate(self, queued: QueuedPod, event: ClusterEvent) -> bool:
        """Whether the plugin that gates the pod registered the event."""
        table = self.tables.get(queued.pod.spec.scheduler_name)
        return table is not None and table.concerns(queued.gating_plugin, event)
