"""The nodes of a cluster whose pods another scheduler schedules, as columns.

A machine receives nodes and the pods on them from a watch, and schedules nothing. It is read in
parts, so that a large cluster does not delay the turn loop.
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Node, Pod
from podwright.cluster.store import POD, Cursor, Expired, ObjectStore, WatchEvent
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.machine import Machine, ObjectDeleted, ObjectPut, SchedulerOptions

PART_CHANGES: Final = 200
"""The most changes that `take` handles."""

_NODE: Final = ("", "Node")


class FollowedNodes:
    """The nodes of a store with their pods, as of the last `take`.

    Parameters
    ----------
    store : ObjectStore
    options : SchedulerOptions
        Its feature gates decide which resources of pods count.

    Attributes
    ----------
    machine : Machine
        Has the nodes, and the pods on them. Another one if too many changes were missed.
    """

    def __init__(self, store: ObjectStore, options: SchedulerOptions) -> None:
        self._store = store
        self._options = SchedulerOptions(gates=options.gates)
        self._begin()

    def _begin(self) -> None:
        self.machine: Machine = machine_of(self._options)
        self._pending: set[str] = set()
        # Nodes first: pods are put on nodes that are known.
        self._cursors: list[Cursor] = [self._store.watch(kind) for kind in (_NODE, POD)]

    def take(self, now_ns: int) -> bool:
        """Handle some changes, at most `PART_CHANGES`; return whether there may be more."""
        try:
            for cursor in self._cursors:
                was_initial = cursor.has_initial_events
                events = cursor.poll(PART_CHANGES)
                for event in events:
                    self._handle(event, now_ns)
                if events or was_initial:
                    return True
        except Expired:
            self._begin()
            return True
        return False

    def _handle(self, event: WatchEvent, now_ns: int) -> None:
        obj = event.object
        if isinstance(obj, Pod):
            is_gone = event.type == "DELETED"
            if is_gone or obj.spec.node_name or obj.is_terminal:
                self._pending.discard(obj.key)
            else:
                self._pending.add(obj.key)
                return
        elif isinstance(obj, Node):
            is_gone = event.type == "DELETED"
        else:
            return  # a bookmark
        self.machine.handle(ObjectDeleted(obj) if is_gone else ObjectPut(obj), now_ns)

    def count_pods(self) -> dict[str, int]:
        """Return the number of pods without a node (`pending`), and on nodes (`placed`)."""
        return {"pending": len(self._pending), "placed": len(self.machine.cluster.pods)}
