"""The controllers that make pods of templates and run for ever; jobs are elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from podwright.controllers.daemon_set import DaemonSetController
from podwright.controllers.deployment import DeploymentController
from podwright.controllers.interface import Controller
from podwright.controllers.lister import Lister
from podwright.controllers.replica_set import ReplicaSetController
from podwright.controllers.replication_controller import ReplicationControllerController
from podwright.controllers.stateful_set import StatefulSetController

WORKLOAD_CONTROLLERS: Final[tuple[Callable[[Lister], Controller], ...]] = (
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
    StatefulSetController,
    DaemonSetController,
)
"""What makes them, in the order in which they hear of a change."""
