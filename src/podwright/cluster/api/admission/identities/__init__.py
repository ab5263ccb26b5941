"""Plugins whose decision depends on who writes: service accounts, nodes, owners, certificates."""

from podwright.cluster.api.admission.identities.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
    may_use_signer,
)
from podwright.cluster.api.admission.identities.node_restriction import NodeRestriction
from podwright.cluster.api.admission.identities.owner_references import (
    OwnerReferencesPermissionEnforcement,
)
from podwright.cluster.api.admission.identities.service_accounts import ServiceAccount

__all__ = [
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "ClusterTrustBundleAttest",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "ServiceAccount",
    "may_use_signer",
]
