"""The handle of plugins whose cycles are run one by one, without a machine."""

from __future__ import annotations

from typing import TypeVar

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, ResourceClaim
from podwright.scheduler.assembly import SchedulerHandle
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Profile

Kind = TypeVar("Kind", bound=KubernetesObject)


class ClusterHandle(SchedulerHandle):
    """Finds the claims of a cluster, at a fixed time.

    Parameters
    ----------
    cluster : Cluster
    now_ns : int
        The time, in nanoseconds since 1970.
    """

    def __init__(self, cluster: Cluster, now_ns: int) -> None:
        super().__init__(())
        self._cluster = cluster
        self._now_ns = now_ns

    def give_to(self, profile: Profile) -> None:
        """Give the handle to the plugins of a profile."""
        for plugin in profile.all_plugins():
            plugin.handle = self

    @property
    def binds(self) -> bool:
        """Always true: the checks run PreBind themselves."""
        return True

    @property
    def now_ns(self) -> int:
        """The fixed time."""
        return self._now_ns

    def device_class_of(self, resource: str) -> str:
        """Return the device class that backs an extended resource; "" if there is none."""
        return self._cluster.device_classes.class_of(resource)

    def find(self, kind: type[Kind], name: NamespacedName) -> Kind | None:
        """Return a claim; None for objects of other kinds."""
        if kind is not ResourceClaim:
            return None
        found = self._cluster.devices.claim(name)
        return found if isinstance(found, kind) else None
