"""The grammar of URL paths: which verb of which resource, namespace, name and subresource.

::

    /api/v1/RESOURCE                                      all namespaces, or cluster-scoped
    /api/v1/namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]
    /apis/GROUP/VERSION/...                               the same for the other groups
    /api/v1/watch/...                                     a watch, by a deprecated prefix

Any other path is not a resource request; authorization sees its path and method.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from podwright.apimachinery.objects import cache_short
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest, is_true

_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
_METHOD_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}


_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
MALFORMED_PATH: Final = HttpReply(
    400,
    (("content-type", "text/plain; charset=utf-8"), ("connection", "close")),
    b"400 Bad Request",
)
"""The reply to a path that cannot be decoded, which Go's HTTP server gives."""


def is_malformed(raw_path: bytes) -> bool:
    """Whether a path on the wire has a percent sign that is not the start of an escape."""
    return b"%" in raw_path and _ESCAPE.search(raw_path) is not None


class RequestInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a request is about.

    Attributes
    ----------
    is_resource : bool
        Whether the path is one of a resource.
    verb : str
        get, list, watch, create, update, patch, delete, deletecollection, or "" for any other
        method; for other paths the method in lower case.
    path : str
    group, version, resource, subresource, namespace, name : str
        "" where they do not apply.
    rest : tuple of str
        The parts of the path after the subresource.
    """

    is_resource: bool
    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    rest: tuple[str, ...] = ()

    @property
    def resource_path(self) -> str:
        """The resource with its subresource, such as `pods/binding`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def request_info(request: HttpRequest) -> RequestInfo:
    """Return what a request is about, from its method, path and query."""
    return _info(request.path, request.method, watches=is_true(request.parameters.get("watch")))


@cache_short(maxsize=4096)
def _info(path: str, method: str, *, watches: bool) -> RequestInfo:
    other = RequestInfo(is_resource=False, verb=method.lower(), path=path)
    parts = path.strip("/").split("/")
    if parts[0] == "api" and not path.startswith("//") and len(parts) > 2:
        group, version, parts = "", parts[1], parts[2:]
    elif parts[0] == "apis" and not path.startswith("//") and len(parts) > 3:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return other
    verb = _METHOD_VERBS.get(method, "")
    if parts[0] == "watch":
        verb, parts = "watch", parts[1:]
        if not parts:
            return other
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    resource, *after = parts
    name = after[0] if after else ""
    subresource = after[1] if len(after) > 1 else ""
    if not name:
        verb = _collection_verb(verb, watches=watches)
    elif verb == "watch" and method not in ("GET", "HEAD"):
        verb = _METHOD_VERBS.get(method, verb)
    return RequestInfo(
        is_resource=True,
        verb=verb,
        path=path,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
        rest=tuple(after[2:]),
    )


def _collection_verb(verb: str, *, watches: bool) -> str:
    if verb == "get":
        return "watch" if watches else "list"
    return "deletecollection" if verb == "delete" else verb
