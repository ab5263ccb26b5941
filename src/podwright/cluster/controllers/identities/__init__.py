"""Controllers of identities: service accounts, their tokens, certificates and aggregated roles.

They run in clusters that are served; a simulation has no users.
"""

from podwright.cluster.controllers.identities.certificate_requests import (
    CLIENT as CLIENT,
    KUBELET_CLIENT as KUBELET_CLIENT,
    KUBELET_SERVING as KUBELET_SERVING,
    CertificateApprovingController as CertificateApprovingController,
    CertificateCleanerController as CertificateCleanerController,
    CertificateSigningController as CertificateSigningController,
    MayCreate as MayCreate,
    RefusedRequestError as RefusedRequestError,
    SignRequest as SignRequest,
)
from podwright.cluster.controllers.identities.cluster_roles import (
    ClusterRoleAggregationController as ClusterRoleAggregationController,
)
from podwright.cluster.controllers.identities.service_accounts import (
    NO_CERTIFICATE_AUTHORITY as NO_CERTIFICATE_AUTHORITY,
    RootCAPublisher as RootCAPublisher,
    ServiceAccountsController as ServiceAccountsController,
    TokensController as TokensController,
)
