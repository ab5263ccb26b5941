"""The state of a cluster at its start, to which it can be reset."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from podwright.cluster.store import EVENT, kind_of
from podwright.online.apiserver.cluster import Cluster
from podwright.scheduler.assembly import source_of
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions


def with_plugins(options: SchedulerOptions, plugins: Collection[type[Plugin]]) -> SchedulerOptions:
    """Return options with other classes of plugin files; those of installed packages stay."""
    installed = (each for each in options.plugins if source_of(each) is None)
    return msgspec.structs.replace(options, plugins=(*plugins, *installed))


class InitialState:
    """The objects of a cluster at a time, and the configurations of its schedulers.

    Events are not a part of it: a reset removes them.

    Parameters
    ----------
    cluster : Cluster
    """

    def __init__(self, cluster: Cluster) -> None:
        store = cluster.store
        self._schedulers = [(each.options, each.call_extender) for each in cluster.schedulers]
        # Their keys are not kept: with those of 50,000 pods and their Events it took 60 MiB.
        self._objects = [store.list(kind).objects for kind in store.kinds() if kind != EVENT]

    def __len__(self) -> int:
        return sum(map(len, self._objects))

    def change_plugins(self, plugins: Collection[type[Plugin]]) -> None:
        """Replace the classes of plugin files; those of installed packages stay."""
        self._schedulers = [
            (with_plugins(options, plugins), call_extender)
            for options, call_extender in self._schedulers
        ]

    def restore(self, cluster: Cluster) -> None:
        """Put back the objects, remove all others, and restart the schedulers.

        Objects that are put back keep their uids; clients see the changes as others.
        """
        store = cluster.store
        restored = [obj for objects in self._objects for obj in objects]
        kept = {(kind_of(obj), obj.key) for obj in restored}
        present = [obj for kind in store.kinds() for obj in store.list(kind).objects]
        for obj in present:
            if (kind_of(obj), obj.key) not in kept:
                store.drop(kind_of(obj), obj.key)
        for obj in restored:
            store.put(obj)
        # All at once: the names of one may be those that another one has now.
        for each, (options, call_extender) in zip(
            cluster.schedulers, self._schedulers, strict=True
        ):
            each.change(options, call_extender)
