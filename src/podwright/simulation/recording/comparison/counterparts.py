"""Pods that have different names on the two sides of a comparison.

Names that controllers generate depend on the pod template and on all earlier changes of a run. So
the pods of a workload that only one side has are paired: the first with the first, in the order in
which the controller created them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from podwright.apimachinery.objects import NamespacedName, Pod, workload_of
from podwright.simulation.recording.comparison.placements import Placements

Workloads: TypeAlias = Mapping[NamespacedName, tuple[str, NamespacedName]]
"""The kind and the name of the workload of each pod that has one, in order of creation."""


def workloads_of(pods: Iterable[Pod]) -> dict[NamespacedName, tuple[str, NamespacedName]]:
    """Return the workloads of pods; pods without a controller are left out."""
    found = {}
    for pod in pods:
        workload = workload_of(pod)
        if workload is not None:
            found[pod.key] = workload
    return found


def counterparts(
    before: Workloads,
    after: Workloads,
    *,
    pods_before: Container[NamespacedName],
    pods_after: Container[NamespacedName],
) -> dict[NamespacedName, NamespacedName]:
    """Return the pods of the first side that have another name on the second side.

    Parameters
    ----------
    pods_before, pods_after : container of str
        All pods of each side.

    Returns
    -------
    dict of str to str
        By pod of the first side, the pod of the second side.
    """
    unmatched: dict[tuple[str, NamespacedName], list[NamespacedName]] = {}
    for key, workload in before.items():
        if key not in pods_after:
            unmatched.setdefault(workload, []).append(key)
    found: dict[NamespacedName, NamespacedName] = {}
    left = {workload: iter(keys) for workload, keys in unmatched.items()}
    for key, workload in after.items():
        if key not in pods_before and workload in left:
            pod = next(left[workload], None)
            if pod is not None:
                found[pod] = key
    return found


def renamed(placements: Placements, pairs: Mapping[NamespacedName, NamespacedName]) -> Placements:
    """Return placements of the second side by the names of the first side.

    Parameters
    ----------
    pairs : dict of str to str
        As `counterparts` returns them.
    """
    names = {after: before for before, after in pairs.items()}
    return replace(
        placements, pods={names.get(key, key): one for key, one in placements.pods.items()}
    )
