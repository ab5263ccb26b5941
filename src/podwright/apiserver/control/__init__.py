"""The HTTP API of podwright itself, beside that of Kubernetes: `/podwright/v1`.

It is a Starlette application on the same port, with the same users: a request is authorized as a
path that is not a resource (`nonResourceURLs`). Errors are problem documents (RFC 9457).

Start with `application.py`.
"""

from podwright.apiserver.control.application import PREFIX, control_application

__all__ = ["PREFIX", "control_application"]
