"""Requests to nodes, pods and services through the server: what is refused before a connection.

Nothing runs behind a simulated node or pod, so no request gets farther.

Upstream: pkg/registry/core/node/strategy.go, pkg/registry/core/pod/strategy.go and
pkg/registry/core/service/storage/storage.go, ResourceLocation; pkg/util/node/node.go,
GetPreferredNodeAddress
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any, Final

from podwright.apimachinery.objects import Document, go_quoted
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.rejections import (
    Rejection,
    bad_request,
    not_found,
    unclassified_error,
)
from podwright.cluster.store import POD, GroupKind

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
    if port.isdecimal():
        if service is None:
            raise not_found("", "services", name)
        ports: list[Document] = service["spec"].get("ports") or []
        known = [each.get("name", "") for each in ports if each["port"] == int(port)]
        if not known:
            raise _unavailable(f"no service port {port} found for service {go_quoted(name)}")
        port = known[0]
    found = backend.store.get(_ENDPOINTS, _key(call, name))
    if found is None:
        raise not_found("", "endpoints", name)
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
