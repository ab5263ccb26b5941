"""The controllers of batch, storage and the cluster's order, in the order in which they hear."""

from __future__ import annotations

from collections.abc import Callable

from podwright.controllers.cron_job import CronJobController
from podwright.controllers.disruption_budget import DisruptionController
from podwright.controllers.drain import DrainController
from podwright.controllers.ephemeral_volume import EphemeralVolumeController
from podwright.controllers.garbage_collector import GarbageCollector
from podwright.controllers.interface import Controller
from podwright.controllers.job import JobController
from podwright.controllers.job_ttl import JobTTLController
from podwright.controllers.lister import Lister
from podwright.controllers.namespace import NamespaceController
from podwright.controllers.node_lifecycle import NodeLifecycleController
from podwright.controllers.persistent_volume import PersistentVolumeController
from podwright.controllers.pod_gc import PodGarbageCollector
from podwright.controllers.stale_disruption import StaleDisruptionController
from podwright.controllers.taint_eviction import TaintEvictionController
from podwright.controllers.volume_protection import VolumeProtectionController

CLUSTER_CONTROLLERS: tuple[Callable[[Lister], Controller], ...] = (
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
