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

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.cluster.api import NodeDown as NodeDown, NodeUp as NodeUp
    from podwright.cluster.controllers.adoption import pod_from_template as pod_from_template
    from podwright.cluster.controllers.apps.rollout import (
        Rollout as Rollout,
        RolloutSet as RolloutSet,
        deployment_spec as deployment_spec,
        scaled_value as scaled_value,
    )
    from podwright.cluster.controllers.autoscaling.autoscaled import HpaBound as HpaBound
    from podwright.cluster.controllers.autoscaling.declared_usage import (
        autoscalers_with_usage as autoscalers_with_usage,
        wrong_usages as wrong_usages,
    )
    from podwright.cluster.controllers.batch.job_spec import lacks_pods as lacks_pods
    from podwright.cluster.controllers.controller_loop import (
        ControllerLoop as ControllerLoop,
        ControllerLoopState as ControllerLoopState,
        ReportFailure as ReportFailure,
    )
    from podwright.cluster.controllers.core.garbage_collector import (
        GarbageCollector as GarbageCollector,
    )
    from podwright.cluster.controllers.core.namespace import (
        NamespaceController as NamespaceController,
    )
    from podwright.cluster.controllers.core.pod_gc import PodGarbageCollector as PodGarbageCollector
    from podwright.cluster.controllers.core.resource_quota import (
        ResourceQuotaController as ResourceQuotaController,
    )
    from podwright.cluster.controllers.devices import (
        DeviceTaintEvictionController as DeviceTaintEvictionController,
        ResourceClaimController as ResourceClaimController,
    )
    from podwright.cluster.controllers.expansion import (
        EXPANDED_KINDS as EXPANDED_KINDS,
        ExpandedWorkload as ExpandedWorkload,
        Expansion as Expansion,
        expand as expand,
    )
    from podwright.cluster.controllers.identities import (
        CLIENT as CLIENT,
        KUBELET_CLIENT as KUBELET_CLIENT,
        KUBELET_SERVING as KUBELET_SERVING,
        NO_CERTIFICATE_AUTHORITY as NO_CERTIFICATE_AUTHORITY,
        RefusedRequestError as RefusedRequestError,
        SignRequest as SignRequest,
    )
    from podwright.cluster.controllers.interface import (
        Actions as Actions,
        Controller as Controller,
        ControllerAction as ControllerAction,
        DrainNode as DrainNode,
        Keys as Keys,
        NodeEvent as NodeEvent,
        PodChange as PodChange,
        RejectedWrite as RejectedWrite,
        ReportedWrite as ReportedWrite,
        Requests as Requests,
        SyncAt as SyncAt,
        SyncDue as SyncDue,
        SyncNext as SyncNext,
        Version as Version,
        WriteRejected as WriteRejected,
    )
    from podwright.cluster.controllers.kinds import DEVICE_CARDS as DEVICE_CARDS
    from podwright.cluster.controllers.lister import Lister as Lister
    from podwright.cluster.controllers.nodes.taint_eviction import (
        TaintEvictionController as TaintEvictionController,
    )
    from podwright.cluster.controllers.pod_state import is_active as is_active
    from podwright.cluster.controllers.policies.disruption_budget import (
        DisruptionController as DisruptionController,
    )
    from podwright.cluster.controllers.registry import (
        ALL_CONTROLLERS as ALL_CONTROLLERS,
        WORKLOAD_CONTROLLERS as WORKLOAD_CONTROLLERS,
        ControllerMaker as ControllerMaker,
        enabled_controllers as enabled_controllers,
        served_controllers as served_controllers,
    )
    from podwright.cluster.controllers.workload_pods import (
        expanded as expanded,
        missing_replica_sets as missing_replica_sets,
        pod_template as pod_template,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
