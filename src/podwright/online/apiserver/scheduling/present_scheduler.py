"""A `Scheduler` with the objects of a cluster as they are now, for explanations and comparisons.

It has the configuration of the cluster's scheduler and draws as its next cycle does, but is another
one: what it decides changes nothing in the cluster. Reader processes use it.
"""

from __future__ import annotations

from typing import cast

from podwright.apimachinery.objects import Object, Pod, with_node_name
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.machine import UNWATCHED_KINDS


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
    machine = world.machine
    assumed = machine.assumed()
    received = [
        with_node_name(obj, assumed[obj.key])
        if isinstance(obj, Pod) and obj.key in assumed
        else obj
        for obj in machine.objects()
    ]
    # A pod that was created in this turn is delivered in the next slice.
    return [*received, *(pod for pod in world.pods if machine.pod(pod.key) is None)]


def present_scheduler(cluster: Cluster, served: ServedScheduler | None = None) -> Scheduler:
    """Return a scheduler with the objects of a cluster, and the draw of its next cycle.

    Extenders are called by the caller of the cluster.

    Parameters
    ----------
    cluster : Cluster
    served : ServedScheduler, optional
        The scheduler of the cluster whose configuration and draws it has; the first one if left
        out.
    """
    served = served or cluster.schedulers[0]
    scheduler = Scheduler(served.options, call_extender=served.call_extender)
    scheduler.add(*present_objects(served))
    kept = scheduler.bookkeeping()
    cycle = served.world.machine.queue.scheduling_cycle
    scheduler.restore_bookkeeping(kept._replace(cycle_number=cycle))
    return scheduler
