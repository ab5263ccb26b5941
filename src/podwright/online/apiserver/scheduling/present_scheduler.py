"""A `Scheduler` with the objects of a cluster as they are now, for explanations and comparisons.

It has the configuration of the cluster's scheduler and draws as its next cycle does, but is another
one: what it decides changes nothing in the cluster. Reader processes use it.
"""

from __future__ import annotations

from typing import Final, cast

from podwright.apimachinery.objects import Node, Object, Pod
from podwright.cluster.store import POD, Cursor, Expired, ObjectStore, WatchEvent
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.scheduler.assembly import Scheduler, machine_of
from podwright.scheduler.machine import (
    UNWATCHED_KINDS,
    Machine,
    ObjectDeleted,
    ObjectPut,
    SchedulerOptions,
)
from podwright.simulation.recording import placed_objects
from podwright.simulation.world import World

_SHORT_LIVED: Final = ("Event", "Lease")
"""Kinds that a simulation makes anew."""


def present_objects(scheduler: ServedScheduler) -> list[Object]:
    """Return the objects that a scheduler of a cluster reads, in the order of their arrival.

    Pods that are being bound have their nodes.
    """
    world = scheduler.world
    if not world.components.options.has_scheduler:
        # Another scheduler runs, and the machine receives nothing.
        store = world.store
        read = [kind for kind in store.kinds() if kind not in UNWATCHED_KINDS]
        return cast(list[Object], [obj for kind in read for obj in store.list(kind).objects])
    return [*placed_objects(world.machine), *_undelivered(world)]


def _undelivered(world: World) -> list[Pod]:
    """Return the pods that were created in this turn; they are delivered in the next slice."""
    store, machine = world.store, world.machine
    # By names alone: a reader that touches a pod copies its page of memory.
    missing = sorted(store.keys(POD) - machine.pods().keys())
    return [pod for key in missing if (pod := store.get(Pod, key)) is not None]


def stored_objects(store: ObjectStore) -> list[Object]:
    """Return the objects of a cluster that a simulation of it starts with."""
    kinds = [kind for kind in store.kinds() if kind[1] not in _SHORT_LIVED]
    return cast(list[Object], [obj for kind in kinds for obj in store.list(kind).objects])


def present_scheduler(cluster: Cluster, served: ServedScheduler | None = None) -> Scheduler:
    """Return a scheduler with the objects of a cluster, and the draw of its next cycle.

    It decides in the columns of the cluster's machine, which takes tens of milliseconds where
    building them again for 25,000 objects takes half a second. So it is for readers only: the
    cluster must not continue. Extenders are called by the caller of the cluster.

    Parameters
    ----------
    cluster : Cluster
    served : ServedScheduler, optional
        The scheduler of the cluster whose configuration and draws it has; the first one if left
        out.
    """
    served = served or cluster.schedulers[0]
    scheduler = Scheduler(served.options, call_extender=served.call_extender)
    world = served.world
    if not world.components.options.has_scheduler:
        # Another scheduler runs, and the machine receives nothing.
        scheduler.add(*present_objects(served))
        return scheduler
    scheduler.take_over(world.machine)
    scheduler.add(*_undelivered(world))
    return scheduler


# The nodes of a cluster whose pods another scheduler schedules, as columns.
#
# A machine receives nodes and the pods on them from a watch, and schedules nothing. It is read in
# parts, so that a large cluster does not delay the turn loop.

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
