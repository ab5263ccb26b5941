"""The HTTP API of podwright itself, beside that of Kubernetes: `/podwright/v1`.

It is a Starlette application on the same port, with the same users: a request is authorized as a
path that is not a resource (`nonResourceURLs`). Errors are problem documents (RFC 9457).

Each endpoint is a row of one table (`endpoints_of`), from which the routes and the OpenAPI document
are made. Start with `application.py`.
"""

from podwright.online.apiserver.control.application import (
    control_application as control_application,
    endpoints_of as endpoints_of,
)
from podwright.online.apiserver.control.endpoints import (
    ControlledCluster as ControlledCluster,
)
