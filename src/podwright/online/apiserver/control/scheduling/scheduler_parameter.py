"""The parameter that chooses one of the schedulers of a cluster."""

from __future__ import annotations

import msgspec

from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler

UNKNOWN = "no scheduler of the cluster has the schedulerName"
"""What the status 404 means for endpoints with this parameter."""


EXTERNAL = "podwright does not schedule the pods"
"""What the status 409 means for what only podwright's own schedulers have."""


NO_LOG = f"{EXTERNAL}, or the log of its scheduler cannot be replayed"
"""The same for what is read from the decision log."""


class SchedulerParameter(msgspec.Struct, frozen=True, rename="camel"):
    """The parameter of what each scheduler has for itself.

    Attributes
    ----------
    scheduler_name : str, optional
        A schedulerName of the scheduler; the first scheduler if left out.
    """

    scheduler_name: str | None = None


def chosen_scheduler(cluster: Cluster, parameter: SchedulerParameter) -> ServedScheduler:
    """Return the scheduler that a request chooses.

    Raises
    ------
    Problem
        No scheduler has the name.
    """
    name = parameter.scheduler_name
    found = cluster.schedulers[0] if name is None else cluster.scheduler_of(name)
    if found is None:
        names = ", ".join(cluster.scheduler_names)
        raise Problem(404, f"{UNKNOWN} {name!r}; there are {names}", field="schedulerName")
    return found


def own_scheduler(cluster: Cluster, parameter: SchedulerParameter) -> ServedScheduler:
    """Return the scheduler that a request chooses.

    Raises
    ------
    Problem
        No scheduler has the name, or another scheduler schedules the pods of the cluster.
    """
    if not cluster.has_scheduler:
        raise Problem(409, f"{EXTERNAL}, so there are no decisions of it; omit --no-scheduler")
    return chosen_scheduler(cluster, parameter)
