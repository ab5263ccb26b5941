"""The embedded cluster: the Kubernetes API over HTTP, a world behind it, and a real clock.

Theory of operation
-------------------
One thread runs everything. Connections (`application`) read a request and wait for its reply. The
turn loop (`turn_loop`) takes the requests that have arrived, executes them, lets the world catch up
with the clock for a slice of time, commits all writes together, and then releases the replies and
the watches. So no client sees a write that a crash could take back.

Start with `turn_loop.py`, then `application.py` and `cluster.py`. `certificates` needs the extra
`tls` and is imported for TLS only.

Words used here: a *turn* is one iteration of the loop; a *slice* is the part of a turn in which the
world works; the *clock of the cluster* is real time, unless it is paused, stepped or sped up.
"""

from podwright.online.apiserver.access.kubeconfig import (
    KubeconfigError,
    TlsData,
    check_kubeconfig,
    kubeconfig,
    write_kubeconfig,
)
from podwright.online.apiserver.breakpoints import BreakCondition, read_condition
from podwright.online.apiserver.cluster import Cluster, ClusterOptions, new_cluster
from podwright.online.apiserver.cluster_client import ClusterClient
from podwright.online.apiserver.cluster_clock import SPEED_MAX, SPEED_MIN, ClusterClock
from podwright.online.apiserver.device_cards_kind import device_cards_kind
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.records.change_record import ChangeRecord, UnwritableRecord
from podwright.online.apiserver.records.run_collection import RunCollection
from podwright.online.apiserver.scheduling.plugin_reload import PluginReload
from podwright.online.apiserver.scheduling.result_annotations import ResultAnnotations
from podwright.online.apiserver.scheduling.running_scheduler import RunningScheduler
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.scheduling.shadow_feed import ShadowFeed
from podwright.online.apiserver.standard_storage_class import standard_storage_class
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.application import Application
from podwright.online.apiserver.wire.hosts import LOOPBACK, AllowedHosts
from podwright.online.apiserver.wire.latency import ApiLatency, LatencyRule, read_latency_rule
from podwright.online.apiserver.wire.serving import (
    ControlledParts,
    ServingError,
    Site,
    bound_socket,
    serve,
    server_context,
)

__all__ = [
    "LOOPBACK",
    "SPEED_MAX",
    "SPEED_MIN",
    "AllowedHosts",
    "ApiLatency",
    "Application",
    "BreakCondition",
    "ChangeRecord",
    "Cluster",
    "ClusterClient",
    "ClusterClock",
    "ClusterOptions",
    "ControlledParts",
    "KubeconfigError",
    "LatencyRule",
    "PluginReload",
    "ResultAnnotations",
    "RunCollection",
    "RunningScheduler",
    "ServedScheduler",
    "ServingError",
    "ShadowFeed",
    "Site",
    "TlsData",
    "TurnLoop",
    "UnwritableRecord",
    "bound_socket",
    "check_kubeconfig",
    "device_cards_kind",
    "generated_nodes",
    "kubeconfig",
    "new_cluster",
    "read_condition",
    "read_latency_rule",
    "serve",
    "server_context",
    "standard_storage_class",
    "write_kubeconfig",
]
