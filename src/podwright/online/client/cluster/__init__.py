"""A cluster as a client sees it: its address and credentials, lists and watches.

The package needs the extra `live`, so other rooms import it when a command needs it. `access` reads
kubeconfigs, `read_connection` sends requests that only read, `list_watch` is the state machine of a
list and its watch, and `reflector` executes its requests. `write_connection` is not part of this
face: what reads a cluster cannot import it.
"""

from podwright.online.client.cluster.access import Access, ClusterAddress, load_access, namespace_of
from podwright.online.client.cluster.backoff import Backoff
from podwright.online.client.cluster.errors import (
    ConnectionSettingsError,
    RejectedRequest,
    UnreachableCluster,
)
from podwright.online.client.cluster.list_watch import ChangedObject, ListWatch, Meta
from podwright.online.client.cluster.read_connection import Query, ReadConnection
from podwright.online.client.cluster.reflector import Batch, Reflector
from podwright.online.client.cluster.versions import (
    ServerVersion,
    cluster_identity,
    is_same_cluster,
    server_version,
)

__all__ = [
    "Access",
    "Backoff",
    "Batch",
    "ChangedObject",
    "ClusterAddress",
    "ConnectionSettingsError",
    "ListWatch",
    "Meta",
    "Query",
    "ReadConnection",
    "Reflector",
    "RejectedRequest",
    "ServerVersion",
    "UnreachableCluster",
    "cluster_identity",
    "is_same_cluster",
    "load_access",
    "namespace_of",
    "server_version",
]
