"""Subresources other than `status`: binding, eviction, scale, and what needs a running container.

Upstream: pkg/registry/core/pod/storage/{storage,eviction}.go;
pkg/registry/apps/*/storage/storage.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from podwright.cluster.api.endpoints.access.access_reviews import review_access, review_rules
from podwright.cluster.api.endpoints.access.authentication_reviews import (
    request_token,
    review_self,
    review_token,
)
from podwright.cluster.api.endpoints.calls import Backend, Call, find, served
from podwright.cluster.api.endpoints.kinds.pod_binding import bind, bind_by_collection
from podwright.cluster.api.endpoints.kinds.pod_eviction import evict
from podwright.cluster.api.endpoints.kinds.proxying import check_target
from podwright.cluster.api.endpoints.kinds.scale import get_scale, patch_scale, update_scale
from podwright.cluster.api.endpoints.kinds.usage_metrics import (
    METRICS_GROUP,
    get_metrics,
    list_metrics,
)
from podwright.cluster.api.endpoints.options import parsed_version
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.patch import patch
from podwright.cluster.api.endpoints.writes.update import update
from podwright.cluster.api.rejections import Rejection, bad_request

Handler: TypeAlias = Callable[[Backend, Call], HttpReply]

SIMULATED: Final = (
    "containers are simulated: they have no processes, so that there are no logs, and nothing to"
    " connect to"
)


def get_parent(backend: Backend, call: Call) -> HttpReply:
    """Return the object of which the subresource is a part."""
    parsed_version(call.request.parameter("resourceVersion"))
    return object_reply(call, served(call, find(backend, call)))


def simulated(backend: Backend, call: Call) -> HttpReply:
    """Refuse a request for which a container would have to run."""
    find(backend, call)
    raise not_implemented(call.info.subresource)


def simulated_proxy(backend: Backend, call: Call) -> HttpReply:
    """Refuse a request that a node, a pod or a service would answer."""
    check_target(backend, call)
    raise not_implemented("proxy")


def not_implemented(subresource: str) -> Rejection:
    """Return the error of a subresource that simulated containers do not have."""
    return bad_request(f"{subresource} is not possible, because {SIMULATED}")


PROXY: Final = "proxy"
"""The subresource whose path continues with the path of the request."""

_PARTS: Final[dict[str, Handler]] = {"get": get_parent, "update": update, "patch": patch}

HANDLERS: Final[dict[str, dict[str, Handler]]] = {
    "binding": {"create": bind},
    "eviction": {"create": evict},
    "scale": {"get": get_scale, "update": update_scale, "patch": patch_scale},
    "finalize": {"update": update},
    "token": {"create": request_token},
    "status": _PARTS,
    "ephemeralcontainers": _PARTS,
    "resize": _PARTS,
    "approval": _PARTS,
    "log": {"get": simulated},
    "exec": {"get": simulated, "create": simulated},
    "attach": {"get": simulated, "create": simulated},
    "portforward": {"get": simulated, "create": simulated},
    PROXY: dict.fromkeys(("get", "create", "update", "patch", "delete"), simulated_proxy),
}
"""The handlers of each subresource, by verb."""

_WITHOUT_TABLES: Final = frozenset({"token", "binding", "eviction"})

_METRICS: Final[dict[str, Handler]] = {"get": get_metrics, "list": list_metrics}

COMPUTED: Final[dict[tuple[str, str], dict[str, Handler]]] = {
    ("", "bindings"): {"create": bind_by_collection},
    ("authentication.k8s.io", "selfsubjectreviews"): {"create": review_self},
    ("authentication.k8s.io", "tokenreviews"): {"create": review_token},
    ("authorization.k8s.io", "localsubjectaccessreviews"): {"create": review_access},
    ("authorization.k8s.io", "selfsubjectaccessreviews"): {"create": review_access},
    ("authorization.k8s.io", "selfsubjectrulesreviews"): {"create": review_rules},
    ("authorization.k8s.io", "subjectaccessreviews"): {"create": review_access},
    (METRICS_GROUP, "nodes"): _METRICS,
    (METRICS_GROUP, "pods"): _METRICS,
}
"""The handlers of resources that store no objects, by group and resource, and by verb."""


def has_tables(info: RequestInfo) -> bool:
    """Whether the objects of a path can be shown as a Table."""
    is_virtual = "create" in COMPUTED.get((info.group, info.resource), ())
    if (info.group, info.resource) == ("apiextensions.k8s.io", "customresourcedefinitions"):
        return not info.subresource
    return not is_virtual and info.subresource not in _WITHOUT_TABLES
