"""Queueing hints: which plugins registered an event, and whether it requeues a pod.

There is one table per profile, built from the registrations of its plugins. Looking up an event is
one dictionary access after the first time.

Upstream: pkg/scheduler/scheduler.go (buildQueueingHintMap),
pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing)
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import (
    ALL_RESOURCES,
    NODE,
    WILDCARD,
    ActionType,
    ClusterEvent,
    Concerned,
    EventHint,
    Hint,
    HintFunction,
)
from podwright.scheduler.queueing.events import InFlight, possible_events
from podwright.scheduler.queueing.pod import QueuedPod
from podwright.scheduler.queueing.subqueues import UnschedulablePods


class Requeue(enum.Enum):
    """Whether and how an event requeues a pod."""

    SKIP = "skip"
    AFTER_BACKOFF = "after_backoff"
    IMMEDIATELY = "immediately"


class Registered(NamedTuple):
    """An event's label, and the hint functions of the plugins that registered it.

    `concerns` are those of all these hints, and empty if one may concern any pod.
    """

    label: str
    functions_of: dict[str, tuple[HintFunction | None, ...]]
    concerns: tuple[Callable[[object | None, object | None], tuple[str, str] | None], ...] = ()


class HintTable:
    """The registrations of one profile as they are; see also `from_plugins`.

    Parameters
    ----------
    registrations : mapping of plugin name to sequence of EventHint
        The events and hints of each plugin.
    """

    def __init__(self, registrations: Mapping[str, Sequence[EventHint]]) -> None:
        self._registrations = {plugin: tuple(hints) for plugin, hints in registrations.items()}
        self._registered: dict[ClusterEvent, Registered] = {}
        self._labels: dict[str, tuple[str, ...]] = {}
        # An event is looked up for every waiting pod in turn, and hashing it costs more than
        # most hints, so a repeated event is recognized by identity.
        self._last_event: ClusterEvent | None = None
        self._last_found = Registered("", {})
        self.executions: Counter[tuple[str, str, str]] = Counter()
        """Answers by (plugin, event label, answer); pods that no hint needs to skip count too."""

    @classmethod
    def from_plugins(cls, registrations: Mapping[str, Sequence[EventHint] | None]) -> HintTable:
        """Build the table of a profile from the registrations of its plugins.

        Parameters
        ----------
        registrations : mapping of plugin name to sequence of EventHint, or None
            None is a plugin without `events_to_register`: every event concerns it, and its hint
            is always `QUEUE`. An empty sequence is a plugin that no event concerns.

        Notes
        -----
        A plugin that registers the addition of nodes but not `UPDATE_NODE_TAINT` is also
        registered for the latter, with the hint `QUEUE`. Upstream added this for nodes that are
        added before they are ready, and keeps it although the cause is fixed.
        """
        return cls({plugin: _complete(hints) for plugin, hints in registrations.items()})

    @property
    def resources(self) -> frozenset[str]:
        """The resources of the registered events."""
        hints = chain.from_iterable(self._registrations.values())
        return frozenset(hint.resource for hint in hints)

    def labels_of(self, plugin: str) -> tuple[str, ...]:
        """Return the labels of the events that a plugin registered."""
        found = self._labels.get(plugin)
        if found is None:
            hints = self._registrations.get(plugin, ())
            events = [
                event
                for event in possible_events()
                if any(hint.event.matches(event) for hint in hints)
            ]
            found = self._labels[plugin] = tuple(dict.fromkeys(event.label for event in events))
        return found

    def concerns(self, plugin: str, event: ClusterEvent) -> bool:
        """Whether the plugin registered the event."""
        return plugin in self.registered(event).functions_of

    def registered(self, event: ClusterEvent) -> Registered:
        """Return the plugins that registered the event, with their hint functions."""
        if event is self._last_event:
            return self._last_found
        found = self._registered.get(event)
        if found is None:
            functions_of = {
                plugin: functions
                for plugin, hints in self._registrations.items()
                if (functions := tuple(hint.hint for hint in hints if hint.event.matches(event)))
            }
            concerns = [
                hint.concern
                for hints in self._registrations.values()
                for hint in hints
                if hint.event.matches(event)
            ]
            narrow = tuple([concern for concern in concerns if concern is not None])
            found = self._registered[event] = Registered(
                event.label, functions_of, narrow if len(narrow) == len(concerns) else ()
            )
        self._last_event, self._last_found = event, found
        return found

    def answers(
        self, pod: Pod, event: ClusterEvent, old: object | None, new: object | None
    ) -> dict[str, Hint]:
        """Return the hint of every plugin that registered the event."""
        found = self.registered(event)
        return {
            plugin: self._run_hint(found, plugin, pod, old, new) for plugin in found.functions_of
        }

    def requeue(
        self, queued: QueuedPod, event: ClusterEvent, old: object | None, new: object | None
    ) -> Requeue:
        """Return whether and how the event requeues a rejected pod.

        Only the hints of the rejectors are run. `QUEUE` of a pending plugin skips the backoff;
        `QUEUE` of another plugin does not.
        """
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return Requeue.AFTER_BACKOFF
        if event.is_wildcard:
            # A wildcard event with an object concerns that pod only.
            if new is not None and not (isinstance(new, Pod) and new.metadata.uid == queued.uid):
                return Requeue.SKIP
            return Requeue.AFTER_BACKOFF
        return self._run_rejector_hints(queued, event, old, new)

    def _run_rejector_hints(
        self, queued: QueuedPod, event: ClusterEvent, old: object | None, new: object | None
    ) -> Requeue:
        found = self.registered(event)
        pod = queued.pod
        pending = queued.pending_plugins
        # Pending plugins come first: their QUEUE skips the backoff, whatever others answer.
        if pending:
            for plugin in found.functions_of:
                if plugin in pending and self._run_hint(found, plugin, pod, old, new) is Hint.QUEUE:
                    return Requeue.IMMEDIATELY
        rejectors = queued.unschedulable_plugins
        for plugin in found.functions_of:
            if plugin not in rejectors or plugin in pending:
                continue
            if self._run_hint(found, plugin, pod, old, new) is Hint.QUEUE:
                return Requeue.AFTER_BACKOFF
        return Requeue.SKIP

    def _run_hint(
        self, found: Registered, plugin: str, pod: Pod, old: object | None, new: object | None
    ) -> Hint:
        for function in found.functions_of[plugin]:
            answer = "Queue"
            if function is not None:
                try:
                    if function(pod, old, new) is Hint.SKIP:
                        answer = "QueueSkip"
                # As upstream, an error counts as Queue, so that the pod is not stuck.
                except Exception:  # noqa: BLE001 - a user's plugin may raise anything
                    answer = "Error"
            self.executions[plugin, found.label, answer] += 1
            if answer != "QueueSkip":
                return Hint.QUEUE
        return Hint.SKIP


def _complete(hints: Sequence[EventHint] | None) -> tuple[EventHint, ...]:
    """Return a plugin's registrations with upstream's additions."""
    if hints is None:
        return tuple(EventHint(resource, ActionType.ALL) for resource in ALL_RESOURCES)
    node_actions = ActionType.NONE
    for hint in hints:
        if hint.resource == NODE:
            node_actions |= hint.actions
    if ActionType.ADD in node_actions and ActionType.UPDATE_NODE_TAINT not in node_actions:
        return (*hints, EventHint(NODE, ActionType.UPDATE_NODE_TAINT))
    return tuple(hints)


# The hint tables of all profiles.

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

    def is_registered(self, event: ClusterEvent) -> bool:
        """Return whether a plugin of any profile registered the event."""
        return any(table.registered(event).functions_of for table in self.tables.values())

    def candidates(
        self,
        event: ClusterEvent,
        unschedulable: UnschedulablePods,
        old: object | None,
        new: object | None,
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
        if not rejectors:
            return None
        concerned = self._concerned(event, old, new)
        if concerned is None:
            return unschedulable.rejected_by(rejectors)
        found, skipped = unschedulable.concerned(rejectors, concerned)
        for (profile, plugin), count in skipped.items():
            self.tables[profile].executions[plugin, event.label, "QueueSkip"] += count
        return found

    def _concerned(
        self, event: ClusterEvent, old: object | None, new: object | None
    ) -> list[Concerned] | None:
        """Return which pods the event may concern by its object; None for any."""
        found: list[Concerned] = []
        for table in self.tables.values():
            registered = table.registered(event)
            if registered.functions_of and not registered.concerns:
                return None
            for concern in registered.concerns:
                concerned = concern(old, new)
                if concerned is None:
                    return None
                found.append(Concerned(*concerned))
        return found

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
