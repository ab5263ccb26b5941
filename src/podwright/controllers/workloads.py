"""The controllers that make pods of templates and run for ever; jobs are elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from podwright.controllers.contract import Controller
from podwright.controllers.daemon_set import DaemonSetController
from podwright.controllers.deployment import DeploymentController
from podwright.controllers.replica_set import ReplicaSetController
from podwright.controllers.replication_controller import ReplicationControllerController
from podwright.controllers.stateful_set import StatefulSetController
from podwright.controllers.view import View

WORKLOAD_CONTROLLERS: Final[tuple[Callable[[View], Controller], ...]] = (
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
    StatefulSetController,
    DaemonSetController,
)
"""What makes them, in the order in which they hear of a change."""
