"""Builds a cluster and its profiles from a case.

Vectors hold objects as the API server stores them; nothing is defaulted here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Registry, build_profiles
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
