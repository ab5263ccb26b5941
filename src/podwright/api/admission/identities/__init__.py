"""Plugins whose decision depends on who writes: service accounts, nodes, owners, certificates."""

from podwright.api.admission.identities.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from podwright.api.admission.identities.node_restriction import NodeRestriction
from podwright.api.admission.identities.owner_references import (
    OwnerReferencesPermissionEnforcement,
)
from podwright.api.admission.identities.service_accounts import ServiceAccount

__all__ = [
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "ServiceAccount",
]
