"""Discovery: which groups, versions and resources a server has.

Clients read it in two forms. The aggregated form is two documents, at `/api` and `/apis`, with an
ETag; the older one is a document for each path. Both are made from the resources that are served
at the moment: `documents.py` has the documents and the order of groups and versions, and `paths.py`
replies to requests.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/discovery
"""

from podwright.cluster.api.endpoints.discovery.documents import (
    groups_of as groups_of,
    version_order as version_order,
)
from podwright.cluster.api.endpoints.discovery.paths import Discovery as Discovery
