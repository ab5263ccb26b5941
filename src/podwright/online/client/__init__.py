"""HTTP clients: URLs, TLS, timeouts and connections.

The room sends requests and returns replies; it does not depend on scheduling and keeps no
objects. `extender` calls the extenders of a scheduler, `cluster_connection` a running cluster, and
`cluster` reads real clusters. `sync_status` is what a sync reports to its destination, and
`steady_time` the clock of all rooms above.
"""

from podwright.online.client.cluster_connection import (
    ABSENT as ABSENT,
    WRITES as WRITES,
    WRITES_MAX as WRITES_MAX,
    ClusterAccess as ClusterAccess,
    ClusterError as ClusterError,
    Write as Write,
    WriteReplies as WriteReplies,
    WriteReply as WriteReply,
    Writes as Writes,
    read_access as read_access,
    send as send,
)
from podwright.online.client.extender import ExtenderClient as ExtenderClient
from podwright.online.client.kubeconfig import (
    ConnectionSettingsError as ConnectionSettingsError,
    pem_text as pem_text,
)
from podwright.online.client.steady_time import SteadyTime as SteadyTime
from podwright.online.client.sync_status import (
    BoundPods as BoundPods,
    SyncCheck as SyncCheck,
    SyncCounts as SyncCounts,
    SyncDifference as SyncDifference,
    SyncDrift as SyncDrift,
    SyncError as SyncError,
    SyncFieldDifference as SyncFieldDifference,
    SyncKind as SyncKind,
    SyncLag as SyncLag,
    SyncPhase as SyncPhase,
    SyncPolicies as SyncPolicies,
    SyncRequest as SyncRequest,
    SyncScope as SyncScope,
    SyncSource as SyncSource,
    SyncStatus as SyncStatus,
    Unfreed as Unfreed,
)
