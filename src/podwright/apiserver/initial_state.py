"""The state of a cluster at its start, to which it can be reset."""

from __future__ import annotations

from podwright.apiserver.cluster import Cluster
from podwright.store import kind_of


class InitialState:
    """The objects of a cluster at a time, and the configuration of its scheduler.

    Parameters
    ----------
    cluster : Cluster
    """

    def __init__(self, cluster: Cluster) -> None:
        store = cluster.store
        self.scheduler = cluster.scheduler
        self._call_extender = cluster.schedulers[0].call_extender
        self._objects = {
            (kind, obj.key): obj for kind in store.kinds() for obj in store.list(kind).objects
        }

    def __len__(self) -> int:
        return len(self._objects)

    def restore(self, cluster: Cluster) -> None:
        """Put back the objects, remove all others, and start the schedulers anew.

        Objects that are put back keep their uids; clients see the changes as others.
        """
        store = cluster.store
        present = [obj for kind in store.kinds() for obj in store.list(kind).objects]
        for obj in present:
            if (kind_of(obj), obj.key) not in self._objects:
                store.drop(kind_of(obj), obj.key)
        for obj in self._objects.values():
            store.put(obj)
        cluster.change_scheduler(self.scheduler, self._call_extender)
        for each in cluster.schedulers[1:]:
            each.change(each.options, each.call_extender)
