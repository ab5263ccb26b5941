"""Controllers: they create the pods of workloads and keep the cluster's objects in order.

Each controller is a deterministic state machine over one shared lister and returns the writes
that it needs. The room implements as much of kube-controller-manager's controllers (and of
`kubectl drain`) as scheduling and users of kubectl observe, with upstream's names, labels and
Events. It executes no write itself, reads no clock, and does not know the scheduler.

Start with `interface.py` (what a controller is), then `controller_loop.py` (how they run) and
any one controller; `registry.py` lists them. A controller does not import another one; what
two of them need is in a helper module such as `adoption.py` or `pod_state.py`.

Words of this room: a controller *observes* changes and returns the keys of its objects to
*sync*; the keys wait in the *workqueue*. An *owner* is the object whose controller created a
pod. An *orphan* is an object without a controlling owner; an owner *adopts* the orphans that
its selector matches, and *releases* the pods that it no longer matches.
"""

from podwright.cluster.controllers.apps.rollout import Rollout, RolloutSet, deployment_spec
from podwright.cluster.controllers.autoscaling.autoscaled import HpaBound
from podwright.cluster.controllers.controller_loop import (
    ControllerLoop,
    ControllerLoopState,
    RejectedWrite,
    ReportFailure,
)
from podwright.cluster.controllers.core.garbage_collector import GarbageCollector
from podwright.cluster.controllers.core.pod_gc import PodGarbageCollector
from podwright.cluster.controllers.devices import DeviceTaintEvictionController
from podwright.cluster.controllers.expansion import (
    EXPANDED_KINDS,
    ExpandedWorkload,
    Expansion,
    expand,
)
from podwright.cluster.controllers.identities import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    NO_CERTIFICATE_AUTHORITY,
    RefusedRequestError,
    SignRequest,
)
from podwright.cluster.controllers.interface import (
    Controller,
    ControllerAction,
    CreateRejected,
    DrainNode,
    NodeDown,
    NodeEvent,
    NodeUp,
    SyncAt,
    SyncDue,
    SyncNext,
    WriteRejected,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.nodes.taint_eviction import TaintEvictionController
from podwright.cluster.controllers.pod_state import is_active
from podwright.cluster.controllers.pod_template import pod_from_template
from podwright.cluster.controllers.registry import (
    ALL_CONTROLLERS,
    WORKLOAD_CONTROLLERS,
    enabled_controllers,
    served_controllers,
)

__all__ = [
    "ALL_CONTROLLERS",
    "CLIENT",
    "EXPANDED_KINDS",
    "KUBELET_CLIENT",
    "KUBELET_SERVING",
    "NO_CERTIFICATE_AUTHORITY",
    "WORKLOAD_CONTROLLERS",
    "Controller",
    "ControllerAction",
    "ControllerLoop",
    "ControllerLoopState",
    "CreateRejected",
    "DeviceTaintEvictionController",
    "DrainNode",
    "ExpandedWorkload",
    "Expansion",
    "GarbageCollector",
    "HpaBound",
    "Lister",
    "NodeDown",
    "NodeEvent",
    "NodeUp",
    "PodGarbageCollector",
    "RefusedRequestError",
    "RejectedWrite",
    "ReportFailure",
    "Rollout",
    "RolloutSet",
    "SignRequest",
    "SyncAt",
    "SyncDue",
    "SyncNext",
    "TaintEvictionController",
    "WriteRejected",
    "deployment_spec",
    "enabled_controllers",
    "expand",
    "is_active",
    "pod_from_template",
    "served_controllers",
]
