"""HTTP clients: URLs, TLS, timeouts and connections.

The room sends requests and returns replies; it does not depend on scheduling and keeps no
objects. `extender` calls the extenders of a scheduler, `cluster_connection` a running cluster, and
`cluster` reads real clusters. `sync_status` is what a sync reports to its destination.
"""

from podwright.online.client.cluster_connection import (
    ClusterAccess,
    ClusterError,
    read_access,
    send,
)
from podwright.online.client.extender import ExtenderClient
from podwright.online.client.sync_status import (
    BoundPods,
    SyncCounts,
    SyncDifference,
    SyncDrift,
    SyncError,
    SyncLag,
    SyncPhase,
    SyncPolicies,
    SyncScope,
    SyncSource,
    SyncStatus,
    Unfreed,
)

__all__ = [
    "BoundPods",
    "ClusterAccess",
    "ClusterError",
    "ExtenderClient",
    "SyncCounts",
    "SyncDifference",
    "SyncDrift",
    "SyncError",
    "SyncLag",
    "SyncPhase",
    "SyncPolicies",
    "SyncScope",
    "SyncSource",
    "SyncStatus",
    "Unfreed",
    "read_access",
    "send",
]
