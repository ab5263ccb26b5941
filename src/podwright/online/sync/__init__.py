"""Copies of real clusters: reads a cluster without ever writing to it.

`source_kinds` says which kinds are read and in which order, `object_copy` what of an object is
copied, and `cluster_import` reads a cluster once. `source` follows the changes of several kinds in
their order, and `cluster_record` writes them to a file. `mirror` decides what a destination gets,
by the one comparison in `settlement`; `target` executes it, `following` does both for one
destination, and `session` for several; `check` only compares; the changes of a file are read by
`cluster_record`. The source is a `ReadConnection`, which has no verb that writes; only `target`
imports the connection that has them. The room needs the extra `live`.
"""

from podwright.online.client import BoundPods as BoundPods, SyncPolicies as SyncPolicies
from podwright.online.sync.check import (
    Checked as Checked,
    check_target as check_target,
    value_text as value_text,
)
from podwright.online.sync.cluster_import import (
    ImportedCluster as ImportedCluster,
    ImportOptions as ImportOptions,
    read_cluster as read_cluster,
)
from podwright.online.sync.cluster_record import (
    ClusterRecord as ClusterRecord,
    RecordedChange as RecordedChange,
    recorded_changes as recorded_changes,
)
from podwright.online.sync.mirror import Mirror as Mirror
from podwright.online.sync.session import Sync as Sync
from podwright.online.sync.settlement import ObjectDifference as ObjectDifference
from podwright.online.sync.source import (
    Scope as Scope,
    Source as Source,
    SourceChange as SourceChange,
)
from podwright.online.sync.source_kinds import (
    SourceKind as SourceKind,
    later_kinds as later_kinds,
    mirrored_kinds as mirrored_kinds,
    recorded_kinds as recorded_kinds,
    scheduler_kinds as scheduler_kinds,
    served_kinds as served_kinds,
    source_kinds as source_kinds,
)
from podwright.online.sync.target import ReplacedTarget as ReplacedTarget, Target as Target
