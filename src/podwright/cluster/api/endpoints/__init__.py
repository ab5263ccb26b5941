"""The HTTP semantics of kube-apiserver, without a socket.

`ApiServer.handle(request, user, now_ns)` returns the reply to a request, or a `Watch`, which the
driver polls. Writes end in the same storage functions as those of `podwright.cluster.api.Api`.

Start with `server.py`, then `paths.py`, `read.py`, `watch.py` and `writes`.

Words used here: *served* is an object in the version of the request, *stored* in the version of
the store. *Go's form* is a document as upstream's structs write it. A *transformation* is a Table
or PartialObjectMetadata instead of the object.
"""

from podwright.cluster.api.admission import (
    AdmissionContext as AdmissionContext,
    Plugin as Plugin,
    default_plugins as default_plugins,
    served_plugins as served_plugins,
)
from podwright.cluster.api.endpoints.access.authentication import static_tokens as static_tokens
from podwright.cluster.api.endpoints.access.service_account_tokens import (
    LegacyTokens as LegacyTokens,
)
from podwright.cluster.api.endpoints.kinds.usage_metrics import METRICS_READER as METRICS_READER
from podwright.cluster.api.endpoints.openapi import KindSchemas as KindSchemas
from podwright.cluster.api.endpoints.paths import (
    MALFORMED_PATH as MALFORMED_PATH,
    is_malformed as is_malformed,
    request_info as request_info,
)
from podwright.cluster.api.endpoints.replies.negotiation import MediaType as MediaType
from podwright.cluster.api.endpoints.replies.responses import error_reply as error_reply
from podwright.cluster.api.endpoints.request import (
    IMPERSONATION as IMPERSONATION,
    HttpReply as HttpReply,
    HttpRequest as HttpRequest,
    LongRequest as LongRequest,
    wire_headers as wire_headers,
)
from podwright.cluster.api.endpoints.served.bare import (
    BARE_TOKENS as BARE_TOKENS,
    HISTORY as HISTORY,
    add_missing_objects as add_missing_objects,
    bare_options as bare_options,
    bare_store as bare_store,
)
from podwright.cluster.api.endpoints.served.server_writes import (
    put_objects as put_objects,
    server_objects as server_objects,
)
from podwright.cluster.api.endpoints.server import (
    ApiServer as ApiServer,
    ServerOptions as ServerOptions,
)
from podwright.cluster.api.endpoints.watch import Watch as Watch
from podwright.cluster.api.rejections import (
    Rejection as Rejection,
    method_not_allowed as method_not_allowed,
)
from podwright.cluster.api.users import User as User
from podwright.cluster.api.versions.resources import (
    DEFAULT_GROUP_VERSIONS as DEFAULT_GROUP_VERSIONS,
    GATED_RESOURCES as GATED_RESOURCES,
    METRICS_VERSIONS as METRICS_VERSIONS,
)
