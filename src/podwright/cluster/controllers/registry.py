"""The constructors of all controllers, in the order in which changes are delivered to them.

Upstream: cmd/kube-controller-manager/app/controllermanager.go, NewControllerDescriptors
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import Final, TypeAlias

from podwright.cluster.controllers.apps.daemon_set import DaemonSetController
from podwright.cluster.controllers.apps.deployment import DeploymentController
from podwright.cluster.controllers.apps.replica_set import (
    ReplicaSetController,
    ReplicationControllerController,
)
from podwright.cluster.controllers.apps.stateful_set import StatefulSetController
from podwright.cluster.controllers.autoscaling.horizontal_autoscaler import (
    HorizontalAutoscalerController,
)
from podwright.cluster.controllers.batch.cron_job import CronJobController, JobTTLController
from podwright.cluster.controllers.batch.job import JobController
from podwright.cluster.controllers.core.garbage_collector import GarbageCollector
from podwright.cluster.controllers.core.namespace import NamespaceController
from podwright.cluster.controllers.core.pod_gc import PodGarbageCollector
from podwright.cluster.controllers.core.protections import (
    PodGroupProtectionController,
    VolumeProtectionController,
)
from podwright.cluster.controllers.devices import (
    BindingConditionsController,
    CardDriver,
    DeviceTaintEvictionController,
)
from podwright.cluster.controllers.devices.resource_claim import ResourceClaimController
from podwright.cluster.controllers.identities import (
    CertificateApprovingController,
    CertificateCleanerController,
    CertificateSigningController,
    ClusterRoleAggregationController,
    MayCreate,
    RootCAPublisher,
    ServiceAccountsController,
    SignRequest,
    TokensController,
)
from podwright.cluster.controllers.identities.service_accounts import IssueToken
from podwright.cluster.controllers.interface import Controller
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.network import (
    EndpointsController,
    EndpointSliceController,
    EndpointSliceMirroringController,
)
from podwright.cluster.controllers.nodes import (
    AttachDetachController,
    NodeRegistrationController,
    NodeTTLController,
)
from podwright.cluster.controllers.nodes.drain import DrainController
from podwright.cluster.controllers.nodes.node_lifecycle import NodeLifecycleController
from podwright.cluster.controllers.nodes.taint_eviction import TaintEvictionController
from podwright.cluster.controllers.policies import KindSource, PolicyTypeController
from podwright.cluster.controllers.policies.disruption_budget import (
    DisruptionController,
    StaleDisruptionController,
)
from podwright.cluster.controllers.storage.ephemeral_volume import EphemeralVolumeController
from podwright.cluster.controllers.storage.persistent_volume import PersistentVolumeController

ControllerMaker: TypeAlias = Callable[[Lister], Controller]

WORKLOAD_CONTROLLERS: Final[tuple[ControllerMaker, ...]] = (
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
    StatefulSetController,
    DaemonSetController,
)
"""The controllers that create long-running pods from templates."""

_DECLARED_AUTOSCALER: Final[ControllerMaker] = partial(
    HorizontalAutoscalerController, needs_usage=True
)

CLUSTER_CONTROLLERS: Final[tuple[ControllerMaker, ...]] = (
    CronJobController,
    JobController,
    JobTTLController,
    EphemeralVolumeController,
    ResourceClaimController,
    CardDriver,
    BindingConditionsController,
    PersistentVolumeController,
    VolumeProtectionController,
    DisruptionController,
    StaleDisruptionController,
    DrainController,
    NodeLifecycleController,
    TaintEvictionController,
    DeviceTaintEvictionController,
    PodGarbageCollector,
    GarbageCollector,
    NamespaceController,
    _DECLARED_AUTOSCALER,
)
"""The controllers of batch, storage, disruption, nodes and cleanup."""

OTHER_KUBELETS_DELAY_NS: Final = 500_000_000
"""How long kubelets outside of podwright have for requests about a pod that was removed."""

ALL_CONTROLLERS: Final[tuple[ControllerMaker, ...]] = (*WORKLOAD_CONTROLLERS, *CLUSTER_CONTROLLERS)


def enabled_controllers(
    makers: Iterable[ControllerMaker], gates: Container[str]
) -> tuple[ControllerMaker, ...]:
    """Return the controllers that run with some feature gates.

    Upstream: cmd/kube-controller-manager/app/core.go, newDeviceTaintEvictionControllerDescriptor;
    scheduling.go, newPodGroupProtectionControllerDescriptor
    """
    eviction: ControllerMaker = DeviceTaintEvictionController
    if "DRADeviceTaintRules" in gates:
        eviction = partial(DeviceTaintEvictionController, reads_rules=True)
    needed: dict[ControllerMaker, str] = {
        DeviceTaintEvictionController: "DRADeviceTaints",
        PodGroupProtectionController: "GenericWorkload",
    }
    return tuple(
        eviction if maker is DeviceTaintEvictionController else maker
        for maker in makers
        if maker not in needed or needed[maker] in gates
    )


def served_controllers(
    certificates: str,
    issue_token: IssueToken,
    served_kinds: KindSource,
    may_create: MayCreate,
    sign: SignRequest | None = None,
    *,
    has_kubelets: bool = True,
) -> tuple[ControllerMaker, ...]:
    """Return the controllers of a cluster that is served: also those that simulations do not need.

    Parameters
    ----------
    certificates : str
        Those of the API server's authority, in PEM.
    issue_token : callable
        Makes the tokens of secrets.
    served_kinds : KindSource
        Finds the kinds that policies match, with their schemas.
    may_create : callable
        Decides whose certificate requests are approved.
    sign : callable, optional
        Makes certificates for requests; without it, requests are not signed.
    has_kubelets : bool
        Whether podwright simulates the kubelets; others may delete pods by name.
    """
    delayed = partial(StatefulSetController, recreation_delay_ns=OTHER_KUBELETS_DELAY_NS)
    signing: list[ControllerMaker] = []
    if sign is not None:
        signing.append(lambda lister: CertificateSigningController(lister, sign))
    return (
        ServiceAccountsController,
        lambda lister: RootCAPublisher(lister, certificates),
        lambda lister: TokensController(lister, issue_token, certificates),
        lambda lister: CertificateApprovingController(lister, may_create),
        *signing,
        CertificateCleanerController,
        ClusterRoleAggregationController,
        lambda lister: PolicyTypeController(lister, served_kinds),
        HorizontalAutoscalerController,
        PodGroupProtectionController,
        NodeRegistrationController,
        NodeTTLController,
        partial(AttachDetachController, has_kubelets=has_kubelets),
        EndpointsController,
        EndpointSliceController,
        EndpointSliceMirroringController,
        *(
            delayed if make is StatefulSetController and not has_kubelets else make
            for make in ALL_CONTROLLERS
            if make is not _DECLARED_AUTOSCALER
        ),
    )
