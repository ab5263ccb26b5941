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
    KubeconfigError as KubeconfigError,
    TlsData as TlsData,
    check_kubeconfig as check_kubeconfig,
    kubeconfig as kubeconfig,
    write_kubeconfig as write_kubeconfig,
)
from podwright.online.apiserver.breakpoints import (
    BreakCondition as BreakCondition,
    read_condition as read_condition,
)
from podwright.online.apiserver.cluster import (
    Cluster as Cluster,
    ClusterOptions as ClusterOptions,
    new_cluster as new_cluster,
)
from podwright.online.apiserver.cluster_client import ClusterClient as ClusterClient
from podwright.online.apiserver.cluster_clock import (
    SPEED_MAX as SPEED_MAX,
    SPEED_MIN as SPEED_MIN,
    ClusterClock as ClusterClock,
)
from podwright.online.apiserver.device_cards_kind import device_cards_kind as device_cards_kind
from podwright.online.apiserver.generated_nodes import (
    generated_nodes as generated_nodes,
    standard_storage_class as standard_storage_class,
)
from podwright.online.apiserver.records.change_record import (
    ChangeRecord as ChangeRecord,
    UnwritableRecord as UnwritableRecord,
)
from podwright.online.apiserver.records.run_collection import RunCollection as RunCollection
from podwright.online.apiserver.scenario_controller import (
    ScenarioController as ScenarioController,
)
from podwright.online.apiserver.scheduling.result_annotations import (
    ResultAnnotations as ResultAnnotations,
)
from podwright.online.apiserver.scheduling.running_scheduler import (
    PluginReload as PluginReload,
    RunningScheduler as RunningScheduler,
)
from podwright.online.apiserver.scheduling.shadow_feed import ShadowFeed as ShadowFeed
from podwright.online.apiserver.turn_loop import TurnLoop as TurnLoop
from podwright.online.apiserver.wire.application import Application as Application
from podwright.online.apiserver.wire.hosts import LOOPBACK as LOOPBACK, AllowedHosts as AllowedHosts
from podwright.online.apiserver.wire.latency import (
    ApiLatency as ApiLatency,
    LatencyRule as LatencyRule,
    read_latency_rule as read_latency_rule,
)
from podwright.online.apiserver.wire.serving import (
    ControlledParts as ControlledParts,
    ServingError as ServingError,
    Site as Site,
    bound_socket as bound_socket,
    serve as serve,
    server_context as server_context,
)
