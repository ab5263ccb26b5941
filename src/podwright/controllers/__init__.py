"""Controllers: what makes pods of deployments and jobs, and keeps the cluster in order.

Each is a pure machine over one shared view of the cluster. As much of each as scheduling and
kubectl users notice, with upstream's names, labels and Events. Nothing here knows the
scheduler or the clock, and of the store only how kinds are named.

Start with `contract.py` (what a controller is), then `running.py` (how they take turns) and
any one of them.
"""

from collections.abc import Callable

from podwright.controllers.cluster import CLUSTER_CONTROLLERS
from podwright.controllers.controller_loop import ControllerLoop, ControllerLoopState
from podwright.controllers.interface import (
    Controller,
    ControllerAction,
    CreateRejected,
    DrainNode,
    NodeDown,
    NodeEvent,
    NodeUp,
    SyncAt,
    SyncDue,
    SyncNext,
)
from podwright.controllers.lister import Lister
from podwright.controllers.workloads import WORKLOAD_CONTROLLERS

ALL_CONTROLLERS: tuple[Callable[[Lister], Controller], ...] = (
    *WORKLOAD_CONTROLLERS,
    *CLUSTER_CONTROLLERS,
)
"""What makes them, in the order in which they hear of a change."""

__all__ = [
    "ALL_CONTROLLERS",
    "WORKLOAD_CONTROLLERS",
    "Controller",
    "ControllerAction",
    "ControllerLoop",
    "ControllerLoopState",
    "CreateRejected",
    "DrainNode",
    "Lister",
    "NodeDown",
    "NodeEvent",
    "NodeUp",
    "SyncAt",
    "SyncDue",
    "SyncNext",
]
