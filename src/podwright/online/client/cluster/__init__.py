"""A cluster as a client sees it: its address and credentials, lists and watches.

The package needs the extra `live`, so other rooms import it when a command needs it. `access` reads
kubeconfigs, `read_connection` sends requests that only read, `list_watch` is the state machine of a
list and its watch, and `reflector` executes its requests. `write_connection` is not part of this
face: what reads a cluster cannot import it.
"""

from podwright.online.client.cluster.access import (
    ClusterAddress as ClusterAddress,
    load_access as load_access,
    namespace_of as namespace_of,
)
from podwright.online.client.cluster.errors import (
    RejectedRequest as RejectedRequest,
    UnreachableCluster as UnreachableCluster,
)
from podwright.online.client.cluster.list_watch import (
    Backoff as Backoff,
    ChangedObject as ChangedObject,
    Meta as Meta,
)
from podwright.online.client.cluster.read_connection import (
    Query as Query,
    ReadConnection as ReadConnection,
)
from podwright.online.client.cluster.reflector import Batch as Batch, Reflector as Reflector
from podwright.online.client.cluster.versions import (
    cluster_identity as cluster_identity,
    is_same_cluster as is_same_cluster,
    server_version as server_version,
)
from podwright.online.client.kubeconfig import ConnectionSettingsError as ConnectionSettingsError
