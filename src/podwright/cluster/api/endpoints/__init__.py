"""The HTTP semantics of kube-apiserver, without a socket.

`ApiServer.handle(request, user, now_ns)` returns the reply to a request, or a `Watch`, which the
driver polls. Writes end in the same storage functions as those of `podwright.cluster.api.Api`.

Start with `server.py`, then `paths.py`, `read.py`, `watch.py` and `write.py`.

Words used here: *served* is an object in the version of the request, *stored* in the version of
the store. *Go's form* is a document as upstream's structs write it. A *transformation* is a Table
or PartialObjectMetadata instead of the object.
"""

from podwright.cluster.api.admission import AdmissionPlugin, Attributes, served_plugins
from podwright.cluster.api.endpoints.access.authentication import Authenticator, static_tokens
from podwright.cluster.api.endpoints.access.legacy_tokens import LegacyTokens
from podwright.cluster.api.endpoints.long_requests import LongRequest
from podwright.cluster.api.endpoints.openapi import KindSchemas
from podwright.cluster.api.endpoints.paths import (
    MALFORMED_PATH,
    RequestInfo,
    is_malformed,
    request_info,
)
from podwright.cluster.api.endpoints.replies.negotiation import MediaType
from podwright.cluster.api.endpoints.replies.responses import error_reply
from podwright.cluster.api.endpoints.replies.status_errors import ApiError, method_not_allowed
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.resources import DEFAULT_GROUP_VERSIONS, GATED_RESOURCES
from podwright.cluster.api.endpoints.served.bare import (
    BARE_TOKENS,
    HISTORY,
    add_missing_objects,
    bare_options,
    bare_store,
)
from podwright.cluster.api.endpoints.served.server_objects import put_objects, server_objects
from podwright.cluster.api.endpoints.server import ApiServer, ServerOptions
from podwright.cluster.api.endpoints.watch import Watch
from podwright.cluster.api.endpoints.writes.prepared_creates import CreateTemplate
from podwright.cluster.api.users import ANONYMOUS, User

__all__ = [
    "ANONYMOUS",
    "BARE_TOKENS",
    "DEFAULT_GROUP_VERSIONS",
    "GATED_RESOURCES",
    "HISTORY",
    "MALFORMED_PATH",
    "AdmissionPlugin",
    "ApiError",
    "ApiServer",
    "Attributes",
    "Authenticator",
    "CreateTemplate",
    "HttpReply",
    "HttpRequest",
    "KindSchemas",
    "LegacyTokens",
    "LongRequest",
    "MediaType",
    "RequestInfo",
    "ServerOptions",
    "User",
    "Watch",
    "add_missing_objects",
    "bare_options",
    "bare_store",
    "error_reply",
    "is_malformed",
    "method_not_allowed",
    "put_objects",
    "request_info",
    "served_plugins",
    "server_objects",
    "static_tokens",
]
