"""The decision log that has the attempts of a pod, among those of all schedulers of a cluster."""

from __future__ import annotations

from bisect import bisect_right

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.simulation.recording import DecisionLog, UnknownCycle


def recorded_attempts(
    cluster: Cluster, pod: NamespacedName, at_ns: int | None = None
) -> tuple[ServedScheduler, DecisionLog]:
    """Return the scheduler that attempted a pod last, and its log with that attempt.

    Parameters
    ----------
    cluster : Cluster
    pod : NamespacedName
    at_ns : int, optional
        Only attempts until this time count.

    Returns
    -------
    tuple of ServedScheduler and DecisionLog
        Without an attempt, the scheduler that is responsible for the pod and its present log; the
        first scheduler if the pod does not exist.

    Raises
    ------
    UnknownCycle
        No scheduler of the cluster is responsible for the pod.
    """
    newest: tuple[int, ServedScheduler, DecisionLog] | None = None
    for scheduler in cluster.schedulers:
        for log in reversed(scheduler.logs):
            time_ns = _last_attempt_ns(log, pod, at_ns)
            if time_ns is not None:
                if newest is None or time_ns > newest[0]:
                    newest = (time_ns, scheduler, log)
                break
    if newest is not None:
        return newest[1:]
    found = responsible_scheduler(cluster, pod)
    if found is None:
        names = ", ".join(cluster.scheduler_names)
        raise UnknownCycle(
            f"pod {pod} has no scheduling attempt: no scheduler of this cluster has its"
            f" schedulerName; there are {names}"
        )
    return found, found.logs[-1]


def _last_attempt_ns(log: DecisionLog, pod: NamespacedName, at_ns: int | None) -> int | None:
    found = log.cycles_of(pod)
    until = len(found) if at_ns is None else bisect_right(found, at_ns, key=log.time_of)
    return log.time_of(found[until - 1]) if until else None


def responsible_scheduler(cluster: Cluster, key: NamespacedName) -> ServedScheduler | None:
    """Return the scheduler of a pod, None if there is none; the first one if the pod is gone."""
    pod = cluster.store.get(Pod, key)
    if not isinstance(pod, Pod):
        return cluster.schedulers[0]
    return cluster.scheduler_of(pod.spec.scheduler_name)
