"""Who wants to hear of which event, and what they say about a pod.

One table per profile, made from what its plugins register. Looking an event up is one
dictionary access after the first time.

Upstream: pkg/scheduler/scheduler.go (buildQueueingHintMap),
pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing)
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from podwright.framework import (
    ALL_RESOURCES,
    NODE,
    ActionType,
    ClusterEvent,
    EventHint,
    Hint,
    HintFunction,
)
from podwright.objects import Pod
from podwright.queueing.pod import QueuedPod

__all__ = ["HintTable", "Interested", "Requeue"]


class Requeue(enum.Enum):
    """What an event means for a pod."""

    SKIP = "skip"
    AFTER_BACKOFF = "after_backoff"
    IMMEDIATELY = "immediately"


class Interested(NamedTuple):
    """An event's label, and who registered it with which hint functions."""

    label: str
    functions_of: dict[str, tuple[HintFunction | None, ...]]


class HintTable:
    """The registrations of one profile, taken as they are; see also `from_plugins`.

    Parameters
    ----------
    registrations : mapping of plugin name to sequence of EventHint
        Who is interested in what.
    """

    def __init__(self, registrations: Mapping[str, Sequence[EventHint]]) -> None:
        self._registrations = {plugin: tuple(hints) for plugin, hints in registrations.items()}
        self._interested: dict[ClusterEvent, Interested] = {}
        # One event is asked about for every waiting pod in turn, and hashing it costs more
        # than most hints: it is recognised by identity.
        self._last_event: ClusterEvent | None = None
        self._last_found = Interested("", {})
        self.executions: Counter[tuple[str, str, str]] = Counter()
        """Hint calls by (plugin, event label, answer)."""

    @classmethod
    def from_plugins(cls, registrations: Mapping[str, Sequence[EventHint] | None]) -> HintTable:
        """Make the table of a profile from what its plugins say of themselves.

        Parameters
        ----------
        registrations : mapping of plugin name to sequence of EventHint, or None
            None is a plugin without `events_to_register`: every event concerns it, and it
            always answers `QUEUE`. An empty sequence is a plugin that no event concerns.

        Notes
        -----
        Every plugin that registers the addition of nodes without `UPDATE_NODE_TAINT` gets
        that too, answering `QUEUE`: upstream's guard against nodes that are added before
        they are ready, kept although its cause is gone.
        """
        return cls({plugin: _complete(hints) for plugin, hints in registrations.items()})

    def concerns(self, plugin: str, event: ClusterEvent) -> bool:
        """Tell whether the plugin registered the event."""
        return plugin in self.interested(event).functions_of

    def interested(self, event: ClusterEvent) -> Interested:
        """Return the plugins that registered the event, with their hint functions."""
        if event is self._last_event:
            return self._last_found
        found = self._interested.get(event)
        if found is None:
            functions_of = {
                plugin: functions
                for plugin, hints in self._registrations.items()
                if (functions := tuple(hint.hint for hint in hints if hint.event.matches(event)))
            }
            found = self._interested[event] = Interested(event.label, functions_of)
        self._last_event, self._last_found = event, found
        return found

    def answers(
        self, pod: Pod, event: ClusterEvent, old: object | None, new: object | None
    ) -> dict[str, Hint]:
        """Ask every interested plugin, as if each had rejected the pod."""
        found = self.interested(event)
        return {plugin: self._ask(found, plugin, pod, old, new) for plugin in found.functions_of}

    def requeue(
        self, queued: QueuedPod, event: ClusterEvent, old: object | None, new: object | None
    ) -> Requeue:
        """Decide what the event means for a rejected pod.

        Only the plugins that rejected it are asked. A pending plugin's `QUEUE` skips the
        backoff, any other's does not.
        """
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return Requeue.AFTER_BACKOFF
        if event.is_wildcard:
            # A wildcard with an object is meant for that pod alone.
            if new is not None and not (isinstance(new, Pod) and new.metadata.uid == queued.uid):
                return Requeue.SKIP
            return Requeue.AFTER_BACKOFF
        return self._ask_rejectors(queued, event, old, new)

    def _ask_rejectors(
        self, queued: QueuedPod, event: ClusterEvent, old: object | None, new: object | None
    ) -> Requeue:
        found = self.interested(event)
        pod = queued.pod
        pending = queued.pending_plugins
        if pending:
            for plugin in found.functions_of:
                if plugin in pending and self._ask(found, plugin, pod, old, new) is Hint.QUEUE:
                    return Requeue.IMMEDIATELY
        rejectors = (
            queued.unschedulable_plugins - pending if pending else queued.unschedulable_plugins
        )
        for plugin in found.functions_of:
            if plugin in rejectors and self._ask(found, plugin, pod, old, new) is Hint.QUEUE:
                return Requeue.AFTER_BACKOFF
        return Requeue.SKIP

    def _ask(
        self, found: Interested, plugin: str, pod: Pod, old: object | None, new: object | None
    ) -> Hint:
        for function in found.functions_of[plugin]:
            answer = "Queue"
            if function is not None:
                try:
                    if function(pod, old, new) is Hint.SKIP:
                        answer = "QueueSkip"
                # A hint that fails must not strand the pod: upstream takes it for Queue.
                except Exception:  # noqa: BLE001 - a user's plugin may raise anything
                    answer = "Error"
            self.executions[plugin, found.label, answer] += 1
            if answer != "QueueSkip":
                return Hint.QUEUE
        return Hint.SKIP


def _complete(hints: Sequence[EventHint] | None) -> tuple[EventHint, ...]:
    """Add what upstream adds to a plugin's registrations."""
    if hints is None:
        return tuple(EventHint(resource, ActionType.ALL) for resource in ALL_RESOURCES)
    node_actions = ActionType.NONE
    for hint in hints:
        if hint.resource == NODE:
            node_actions |= hint.actions
    if ActionType.ADD in node_actions and ActionType.UPDATE_NODE_TAINT not in node_actions:
        return (*hints, EventHint(NODE, ActionType.UPDATE_NODE_TAINT))
    return tuple(hints)
