"""Builds a cluster and its profiles from a case.

Vectors hold objects as the API server stores them; nothing is defaulted here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, ResourceClaim
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Registry, SchedulerHandle, build_profiles
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import (
    DEFAULT_GATES,
    EffectiveConfiguration,
    Gates,
    KubeSchedulerConfiguration,
    effective,
    read_configuration,
)
from podwright.scheduler.framework import Profile, TieRule
from podwright.scheduler.machine import SchedulerOptions


def effective_configuration(
    document: dict[str, Any] | None, registry: Registry, gates: Gates = DEFAULT_GATES
) -> EffectiveConfiguration:
    """Read a case's configuration; None is the default one."""
    if document is None:
        configuration = KubeSchedulerConfiguration()
    else:
        configuration = read_configuration(document, source="config")
    return effective(configuration, gates, implements=registry.points_of)


def profiles_of(
    document: dict[str, Any] | None, *, tie_rule: TieRule = TieRule.DRAWN
) -> dict[str, Profile]:
    """Build the profiles of a case's configuration, by schedulerName."""
    registry = Registry()
    options = SchedulerOptions(tie_rule=tie_rule)
    return build_profiles(effective_configuration(document, registry), registry, options)


def cluster_of(objects: Iterable[dict[str, Any]]) -> Cluster:
    """Put a case's objects into a cluster."""
    cluster = Cluster()
    for document in objects:
        cluster.put(decode(document))
    return cluster


# The handle of plugins whose cycles are run one by one, without a machine.

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
