"""Plugins whose decision depends on who writes: service accounts, nodes, owners, certificates."""

from podwright.cluster.api.admission.identities.certificates import (
    CertificateApproval as CertificateApproval,
    CertificateSigning as CertificateSigning,
    CertificateSubjectRestriction as CertificateSubjectRestriction,
    ClusterTrustBundleAttest as ClusterTrustBundleAttest,
    may_use_signer as may_use_signer,
)
from podwright.cluster.api.admission.identities.node_restriction import (
    NodeRestriction as NodeRestriction,
)
from podwright.cluster.api.admission.identities.owner_references import (
    OwnerReferencesPermissionEnforcement as OwnerReferencesPermissionEnforcement,
)
from podwright.cluster.api.admission.identities.service_accounts import (
    ServiceAccount as ServiceAccount,
)
