"""OpenAPI documents of the served resources: version 3 for each group version, and version 2.

A document is made from the schema table when it is first requested, and kept as bytes until the
served resources change. `names.py` has the names of schemas and operations, `schemas.py` the
schemas of structs, `plain_schemas.py` those that the table does not have, `operations.py` the paths
of resources, `custom.py` those of custom resources, `documents.py` whole documents, `version2.py`
their form in version 2, `kind_schemas.py` schemas without references, and `paths.py` replies to
requests.

Upstream: k8s.io/kube-openapi; staging/src/k8s.io/apiserver/pkg/endpoints/installer.go
"""

from podwright.cluster.api.endpoints.openapi.kind_schemas import KindSchemas as KindSchemas
from podwright.cluster.api.endpoints.openapi.paths import OpenApi as OpenApi
