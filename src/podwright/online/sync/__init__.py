"""Copies of real clusters: reads a cluster without ever writing to it.

`source_kinds` says which kinds are read and in which order, `object_copy` what of an object is
copied, and `cluster_import` reads a cluster once. `source` follows the changes of several kinds,
`change_merge` puts them in order, and `cluster_record` writes them to a file. `mirror` decides what
a destination gets, by the one comparison in `settlement`; `target` executes it, `following` does
both for one destination, and `session` for several; `check` only compares; `record_replay` reads
the changes of a file instead. The source is a `ReadConnection`,
which has no verb that writes; only `target` imports the connection that has them. The room needs
the extra `live`.
"""

from podwright.online.client import BoundPods, SyncPolicies
from podwright.online.sync.change_merge import ChangeMerge, SourceChange
from podwright.online.sync.check import Checked, check_target
from podwright.online.sync.cluster_import import ImportedCluster, ImportOptions, read_cluster
from podwright.online.sync.cluster_record import ClusterRecord, UnwritableClusterRecord
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.record_replay import RecordedChange, recorded_changes
from podwright.online.sync.served_kinds import served_kinds
from podwright.online.sync.session import Sync
from podwright.online.sync.settlement import ObjectDifference
from podwright.online.sync.source import Scope, Source
from podwright.online.sync.source_kinds import (
    SourceKind,
    later_kinds,
    mirrored_kinds,
    scheduler_kinds,
    source_kinds,
)
from podwright.online.sync.target import ReplacedTarget, Target

__all__ = [
    "BoundPods",
    "ChangeMerge",
    "Checked",
    "ClusterRecord",
    "ImportOptions",
    "ImportedCluster",
    "Mirror",
    "ObjectDifference",
    "RecordedChange",
    "ReplacedTarget",
    "Scope",
    "Source",
    "SourceChange",
    "SourceKind",
    "Sync",
    "SyncPolicies",
    "Target",
    "UnwritableClusterRecord",
    "check_target",
    "later_kinds",
    "mirrored_kinds",
    "read_cluster",
    "recorded_changes",
    "scheduler_kinds",
    "served_kinds",
    "source_kinds",
]
