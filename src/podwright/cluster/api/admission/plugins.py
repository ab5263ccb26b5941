"""The plugins that upstream runs by default, in its order.

Upstream: pkg/kubeapiserver/options/plugins.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

import msgspec

from podwright.cluster.api.admission.default_classes import (
    DefaultIngressClass,
    DefaultStorageClass,
    PersistentVolumeClaimResize,
)
from podwright.cluster.api.admission.identities import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
    NodeRestriction,
    OwnerReferencesPermissionEnforcement,
    ServiceAccount,
)
from podwright.cluster.api.admission.namespace_lifecycle import NamespaceLifecycle
from podwright.cluster.api.admission.new_objects import (
    PodGroupProtection,
    PodGroupWorkloadExists,
    StorageObjectInUseProtection,
    TaintNodesByCondition,
)
from podwright.cluster.api.admission.plugin import AdmissionContext, Plugin
from podwright.cluster.api.admission.pod_security import PodSecurity
from podwright.cluster.api.admission.pods.default_tolerations import DefaultTolerationSeconds
from podwright.cluster.api.admission.pods.limit_ranges import LimitRanger
from podwright.cluster.api.admission.pods.pod_priority import Priority
from podwright.cluster.api.admission.pods.pod_resize import PodResizeValidator
from podwright.cluster.api.admission.pods.runtime_classes import RuntimeClass
from podwright.cluster.api.admission.pods.topology_labels import PodTopologyLabels
from podwright.cluster.api.admission.policies import (
    MutatingAdmissionPolicy,
    ValidatingAdmissionPolicy,
)
from podwright.cluster.api.admission.quota import ResourceQuota
from podwright.cluster.api.admission.uncalled_webhooks import ValidatingAdmissionWebhook

MakePlugin: TypeAlias = Callable[[AdmissionContext], Plugin]

PLUGINS: Final[dict[str, MakePlugin]] = {
    "NamespaceLifecycle": lambda context: NamespaceLifecycle(context.store),
    "LimitRanger": lambda context: LimitRanger(context.store),
    "ServiceAccount": lambda context: ServiceAccount(
        context.store, assumes_default=context.assumes_accounts
    ),
    "NodeRestriction": lambda context: NodeRestriction(context.store, context.authorizer),
    "TaintNodesByCondition": lambda _: TaintNodesByCondition(),
    "PodSecurity": lambda context: PodSecurity(context.store),
    "Priority": lambda context: Priority(context.store, keeps_given=context.keeps_given),
    "DefaultTolerationSeconds": lambda _: DefaultTolerationSeconds(),
    "DefaultStorageClass": lambda context: DefaultStorageClass(context.store),
    "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
    "PodGroupProtection": lambda _: PodGroupProtection(),
    "OwnerReferencesPermissionEnforcement": lambda context: OwnerReferencesPermissionEnforcement(
        context.authorizer, context.resources
    ),
    "PersistentVolumeClaimResize": lambda context: PersistentVolumeClaimResize(context.store),
    "RuntimeClass": lambda context: RuntimeClass(context.store, keeps_given=context.keeps_given),
    "CertificateApproval": lambda context: CertificateApproval(context.authorizer),
    "CertificateSigning": lambda context: CertificateSigning(context.authorizer),
    "ClusterTrustBundleAttest": lambda context: ClusterTrustBundleAttest(context.authorizer),
    "CertificateSubjectRestriction": lambda _: CertificateSubjectRestriction(),
    "DefaultIngressClass": lambda context: DefaultIngressClass(context.store),
    "PodTopologyLabels": lambda context: PodTopologyLabels(context.store),
    "PodGroupWorkloadExists": lambda context: PodGroupWorkloadExists(context.store),
    "PodResizeValidator": lambda context: PodResizeValidator(context.store),
    "MutatingAdmissionPolicy": MutatingAdmissionPolicy,
    "ValidatingAdmissionPolicy": ValidatingAdmissionPolicy,
    "ValidatingAdmissionWebhook": lambda _: ValidatingAdmissionWebhook(),
    "ResourceQuota": lambda context: ResourceQuota(context.store, context.update_status),
}
"""How each plugin is made, by its name, in the order in which they run."""

OPTIONAL: Final = frozenset(
    {"NodeRestriction", "OwnerReferencesPermissionEnforcement", "ServiceAccount"}
)
"""The plugins that are off unless they are enabled. Upstream has ServiceAccount on; without
components (`--bare`), no controller creates the default account of each namespace."""


def default_plugins(
    context: AdmissionContext, *, disabled: Collection[str] = (), enabled: Collection[str] = ()
) -> list[Plugin]:
    """Return the default plugins of a server.

    Parameters
    ----------
    context : AdmissionContext
    disabled : collection of str
        The names of plugins that are left out.
    enabled : collection of str
        The names of optional plugins that run.

    Raises
    ------
    ValueError
        A name is not one of a plugin.
    """
    unknown = sorted({*disabled, *enabled} - PLUGINS.keys())
    if unknown:
        raise ValueError(
            f"admission plugins {', '.join(unknown)} do not exist; known are {', '.join(PLUGINS)}"
        )
    left_out = {*disabled, *(OPTIONAL - set(enabled))}
    return [make(context) for name, make in PLUGINS.items() if name not in left_out]


def served_plugins(context: AdmissionContext) -> list[Plugin]:
    """Return the plugins of a server in a cluster with controllers: also ServiceAccount."""
    with_accounts = msgspec.structs.replace(context, assumes_accounts=True)
    return default_plugins(with_accounts, enabled=("ServiceAccount",))
