"""Subresources other than `status`: binding, eviction, scale, and what needs a running container.

Requests to nodes, pods and services through the server are refused before a connection: nothing
runs behind a simulated node or pod.

Upstream: pkg/registry/core/pod/storage/{storage,eviction}.go;
pkg/registry/apps/*/storage/storage.go; pkg/registry/core/node/strategy.go,
pkg/registry/core/pod/strategy.go and pkg/registry/core/service/storage/storage.go,
ResourceLocation; pkg/util/node/node.go, GetPreferredNodeAddress
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document, go_quoted, parse_int64
from podwright.cluster.api.endpoints.access.access_reviews import review_access, review_rules
from podwright.cluster.api.endpoints.access.authentication_reviews import (
    request_token,
    review_self,
    review_token,
)
from podwright.cluster.api.endpoints.calls import Backend, Call, find, served
from podwright.cluster.api.endpoints.kinds.pod_binding import bind, bind_by_collection
from podwright.cluster.api.endpoints.kinds.pod_eviction import evict
from podwright.cluster.api.endpoints.kinds.scale import get_scale, patch_scale, update_scale
from podwright.cluster.api.endpoints.kinds.usage_metrics import (
    METRICS_GROUP,
    get_metrics,
    list_metrics,
)
from podwright.cluster.api.endpoints.options import parsed_version
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.replies.responses import CACHE_CONTROL, object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.patch import patch
from podwright.cluster.api.endpoints.writes.update import update
from podwright.cluster.api.pods.binding import NODE
from podwright.cluster.api.rejections import (
    Rejection,
    bad_request,
    not_found,
    unclassified_error,
)
from podwright.cluster.store import POD, GroupKind

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
    """Refuse a request for which a container would have to run.

    Upstream: pkg/registry/core/pod/strategy.go, LogLocation, streamLocation, validateContainer
    """
    pod, part = find(backend, call).raw, call.info.subresource
    spec = pod.get("spec") or {}
    if part != "portforward":
        _check_container(spec, call.request.parameter("container"), call.info.name)
    node = spec.get("nodeName")
    if not node and part == "log":
        return HttpReply(HTTPStatus.NO_CONTENT, (CACHE_CONTROL,))
    if not node:
        raise bad_request(f"pod {call.info.name} does not have a host assigned")
    if backend.store.get(NODE, node) is None:
        raise not_found("", call.resource.plural, node)
    raise not_implemented(part)


def _check_container(spec: Document, name: str, pod: str) -> None:
    """Check that a request means a container of a pod; without a name, that it has only one."""
    names = [
        each["name"]
        for part in ("initContainers", "containers", "ephemeralContainers")
        for each in spec.get(part) or ()
    ]
    if name and name not in names:
        raise bad_request(f"container {name} is not valid for pod {pod}")
    if not name and len(spec["containers"]) > 1:
        choice = f"choose one of: [{' '.join(names)}]"
        raise bad_request(f"a container name must be specified for pod {pod}, {choice}")


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


# ---------------------------------------------------------------------- requests through the server

_ENDPOINTS: Final[GroupKind] = ("", "Endpoints")
_PREFERRED: Final = frozenset(
    {"ExternalDNS", "ExternalIP", "Hostname", "InternalDNS", "InternalIP"}
)
_SCHEMES: Final = ("", "http", "https")


def check_target(backend: Backend, call: Call) -> None:
    """Check that a request can be sent to a node, a pod or a service.

    Raises
    ------
    Rejection
    """
    name, port = _name_and_port(call)
    found = backend.store.get(call.resource.storage, _key(call, name))
    document: Document | None = None if found is None else found.raw
    if call.resource.plural == "services":
        _check_service(backend, call, document, name, port)
        return
    if document is None:
        raise not_found("", call.resource.plural, name)
    status: Document = document.get("status") or {}
    if call.resource.storage == POD:
        addresses = status.get("podIPs") or ()
        if not addresses or not _is_reachable(addresses[0].get("ip", "")):
            raise bad_request("address not allowed")
        return
    known = status.get("addresses") or ()
    if not any(each.get("type") in _PREFERRED for each in known):
        shown = " ".join(f"{{{each['type']} {each['address']}}}" for each in known)
        raise unclassified_error(f"no preferred addresses found; known addresses: [{shown}]")


def _name_and_port(call: Call) -> tuple[str, str]:
    """Return the parts of ``NAME``, ``NAME:PORT`` or ``SCHEME:NAME:PORT``."""
    match call.info.name.split(":"):
        case [name]:
            return name, ""
        case [name, port] if name:
            return name, port
        case [scheme, name, port] if scheme in _SCHEMES and name:
            return name, port
    kind = call.resource.name.lower()
    raise bad_request(f"invalid {kind} request {go_quoted(call.info.name)}")


def _key(call: Call, name: str) -> str:
    return f"{call.info.namespace}/{name}" if call.resource.namespaced else name


def _is_reachable(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    is_local = parsed.is_loopback or parsed.is_link_local
    return not (is_local or parsed.is_multicast or parsed.is_unspecified)


def _check_service(
    backend: Backend, call: Call, service: Document | None, name: str, port: str
) -> None:
    number = parse_int64(port)
    if number is not None:
        if service is None:
            raise not_found("", "services", name)
        ports: list[Document] = service["spec"].get("ports") or []
        known = [each.get("name", "") for each in ports if each["port"] == number]
        if not known:
            raise _unavailable(f"no service port {port} found for service {go_quoted(name)}")
        port = known[0]
    found = backend.store.get(_ENDPOINTS, _key(call, name))
    if found is None:
        # Upstream names the resource of the request.
        raise not_found("", "services", name)
    subsets: list[dict[str, Any]] = found.raw.get("subsets") or []
    if not subsets:
        raise _unavailable(f"no endpoints available for service {go_quoted(name)}")
    for subset in subsets:
        names = [each.get("name", "") for each in subset.get("ports") or ()]
        if subset.get("addresses") and port in names:
            return
    raise _unavailable(f"no endpoints available for service {go_quoted(call.info.name)}")


def _unavailable(message: str) -> Rejection:
    return Rejection(503, "ServiceUnavailable", message)
