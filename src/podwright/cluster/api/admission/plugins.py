"""The plugins that upstream runs by default, in its order.

Upstream: pkg/kubeapiserver/options/plugins.go
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

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

PLUGINS: Final[dict[str, type[Plugin]]] = {
    each.name: each
    for each in (
        NamespaceLifecycle,
        LimitRanger,
        ServiceAccount,
        NodeRestriction,
        TaintNodesByCondition,
        PodSecurity,
        Priority,
        DefaultTolerationSeconds,
        DefaultStorageClass,
        StorageObjectInUseProtection,
        PodGroupProtection,
        OwnerReferencesPermissionEnforcement,
        PersistentVolumeClaimResize,
        RuntimeClass,
        CertificateApproval,
        CertificateSigning,
        ClusterTrustBundleAttest,
        CertificateSubjectRestriction,
        DefaultIngressClass,
        PodTopologyLabels,
        PodGroupWorkloadExists,
        PodResizeValidator,
        MutatingAdmissionPolicy,
        ValidatingAdmissionPolicy,
        ValidatingAdmissionWebhook,
        ResourceQuota,
    )
}
"""The plugins by name, in the order in which they run."""

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
    return [plugin(context) for name, plugin in PLUGINS.items() if name not in left_out]


def served_plugins(context: AdmissionContext) -> list[Plugin]:
    """Return the plugins of a server in a cluster with controllers: also ServiceAccount."""
    with_accounts = msgspec.structs.replace(context, assumes_accounts=True)
    return default_plugins(with_accounts, enabled=("ServiceAccount",))
