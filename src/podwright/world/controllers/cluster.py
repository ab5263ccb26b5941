"""The controllers of batch, storage and the cluster's order, in the order in which they hear."""

from __future__ import annotations

from collections.abc import Callable

from podwright.world.controllers.contract import Controller
from podwright.world.controllers.cron_job import CronJobController
from podwright.world.controllers.disruption_budget import DisruptionController
from podwright.world.controllers.drain import DrainController
from podwright.world.controllers.ephemeral_volume import EphemeralVolumeController
from podwright.world.controllers.garbage_collector import GarbageCollector
from podwright.world.controllers.job import JobController
from podwright.world.controllers.job_ttl import JobTTLController
from podwright.world.controllers.namespace import NamespaceController
from podwright.world.controllers.node_lifecycle import NodeLifecycleController
from podwright.world.controllers.persistent_volume import PersistentVolumeController
from podwright.world.controllers.pod_gc import PodGarbageCollector
from podwright.world.controllers.stale_disruption import StaleDisruptionController
from podwright.world.controllers.taint_eviction import TaintEvictionController
from podwright.world.controllers.view import View
from podwright.world.controllers.volume_protection import VolumeProtectionController

CLUSTER_CONTROLLERS: tuple[Callable[[View], Controller], ...] = (
    CronJobController,
    JobController,
    JobTTLController,
    EphemeralVolumeController,
    PersistentVolumeController,
    VolumeProtectionController,
    DisruptionController,
    StaleDisruptionController,
    DrainController,
    NodeLifecycleController,
    TaintEvictionController,
    PodGarbageCollector,
    GarbageCollector,
    NamespaceController,
)
"""What makes them."""
