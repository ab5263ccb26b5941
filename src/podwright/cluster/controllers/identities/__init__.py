"""Controllers of identities: service accounts, their tokens, certificates and aggregated roles.

They run in clusters that are served; a simulation has no users.
"""

from podwright.cluster.controllers.identities.certificate_approving import (
    CertificateApprovingController,
    MayCreate,
)
from podwright.cluster.controllers.identities.certificate_cleaner import (
    CertificateCleanerController,
)
from podwright.cluster.controllers.identities.certificate_signing import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    CertificateSigningController,
    RefusedRequestError,
    SignRequest,
)
from podwright.cluster.controllers.identities.cluster_roles import ClusterRoleAggregationController
from podwright.cluster.controllers.identities.root_ca import (
    NO_CERTIFICATE_AUTHORITY,
    RootCAPublisher,
)
from podwright.cluster.controllers.identities.service_accounts import ServiceAccountsController
from podwright.cluster.controllers.identities.token_secrets import TokensController

__all__ = [
    "CLIENT",
    "KUBELET_CLIENT",
    "KUBELET_SERVING",
    "NO_CERTIFICATE_AUTHORITY",
    "CertificateApprovingController",
    "CertificateCleanerController",
    "CertificateSigningController",
    "ClusterRoleAggregationController",
    "MayCreate",
    "RefusedRequestError",
    "RootCAPublisher",
    "ServiceAccountsController",
    "SignRequest",
    "TokensController",
]
