"""Replies to requests of discovery.

Upstream: staging/src/k8s.io/kube-aggregator/pkg/apiserver/handler_apis.go;
staging/src/k8s.io/apiserver/pkg/endpoints/discovery/aggregated/{wrapper,etag}.go
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.discovery.documents import (
    Groups,
    aggregated,
    api_group,
    api_group_list,
    api_resource_list,
    api_versions,
    groups_of,
)
from podwright.cluster.api.endpoints.replies.negotiation import (
    AGGREGATED_DISCOVERY,
    MediaType,
    aggregated_discovery_type,
    indented,
    negotiate,
)
from podwright.cluster.api.endpoints.replies.responses import encoded, reply
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.served.plain_paths import HEALTH
from podwright.cluster.api.rejections import method_not_allowed, unknown_path
from podwright.cluster.api.versions.resources import Resources

_AGGREGATOR: Final = "apiregistration.k8s.io"
_OTHER_PATHS: Final = ("/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version")
_DEFAULT_ADDRESS: Final = "localhost"


class Discovery:
    """Replies to requests of discovery, from the resources that are served.

    Parameters
    ----------
    resources : Resources
        The served resources; they may change between requests.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._revision = resources.revision
        self._cached: dict[str, tuple[bytes, str]] = {}

    def __call__(self, request: HttpRequest) -> HttpReply | None:
        """Return the reply to a request; None if the path is not one of discovery.

        Raises
        ------
        Rejection
            The method or the representation is not available.
        PlainError
            A custom group does not have the version.
        """
        parts = request.path.removesuffix("/").split("/")[1:]
        if not all(parts):
            if parts[:2] == ["apis", ""]:
                raise unknown_path()
            return None
        found: HttpReply | None = None
        match parts:
            case []:
                found = self._index()
            case ["api"]:
                found = self._root(request, is_core=True)
            case ["apis"]:
                found = self._root(request, is_core=False)
            case ["api", "v1"]:
                found = self._version(request, "", "v1")
            case ["apis", group]:
                found = self._group(request, group)
            case ["apis", group, version]:
                found = self._version(request, group, version)
            case _:
                pass
        if found is not None and request.method == "HEAD":
            return msgspec.structs.replace(found, body=b"")
        return found

    def _index(self) -> HttpReply:
        paths = ["/api", "/api/v1", "/apis", "/apis/", *HEALTH, *_OTHER_PATHS]
        for group, versions in self._groups().items():
            if group:
                paths += [f"/apis/{group}", *(f"/apis/{group}/{each}" for each in versions)]
        # As upstream writes what has one representation.
        return reply({"paths": sorted(paths)}, MediaType(is_pretty=True), 200)

    def _root(self, request: HttpRequest, *, is_core: bool) -> HttpReply:
        if is_core:
            _check_method(request)
        media = aggregated_discovery_type(request.header("accept"))
        if media is not None:
            return self._aggregated(request, indented(media, request), is_core=is_core)
        media = _media(request, is_route=is_core)
        if is_core:
            return reply(api_versions(request.header("host") or _DEFAULT_ADDRESS), media, 200)
        return self._reply("/apis", media, lambda: api_group_list(self._groups()))

    def _group(self, request: HttpRequest, group: str) -> HttpReply | None:
        versions = self._groups().get(group)
        if not versions or not group:
            return None
        is_route = group == _AGGREGATOR
        if is_route:
            _check_method(request)
        media = _media(request, is_route=is_route)
        return self._reply(f"/apis/{group}", media, lambda: api_group(group, versions))

    def _version(self, request: HttpRequest, group: str, version: str) -> HttpReply | None:
        resources = self._resources
        is_built_in = any(each.group == group and not each.is_custom for each in resources)
        if not resources.has_version(group, version):
            if not is_built_in and resources.has_group(group):
                raise unknown_path()
            return None
        if is_built_in:
            _check_method(request)
        media = _media(request, is_route=is_built_in)
        return self._reply(
            f"{group}/{version}", media, lambda: api_resource_list(resources, group, version)
        )

    def _aggregated(self, request: HttpRequest, media: MediaType, *, is_core: bool) -> HttpReply:
        key = f"aggregated {is_core} {media}"

        def make() -> Document:
            groups = groups_of(self._resources, is_aggregated=True)
            return aggregated(self._resources, groups, is_core=is_core)

        body, etag = self._document(key, media, make)
        headers = (
            ("cache-control", "public"),
            ("etag", etag),
            ("vary", "Accept"),
        )
        if request.header("if-none-match") == etag:
            return HttpReply(304, headers)
        content_type = f"{media.content_type};{AGGREGATED_DISCOVERY}"
        return HttpReply(200, (*headers, ("content-type", content_type)), body)

    def _reply(self, key: str, media: MediaType, make: Callable[[], Document]) -> HttpReply:
        body, _ = self._document(f"{key} {media}", media, make)
        found = reply({}, media, 200)
        return msgspec.structs.replace(found, body=body)

    def _document(
        self, key: str, media: MediaType, make: Callable[[], Document]
    ) -> tuple[bytes, str]:
        """Return the bytes of a document and their ETag, made once for a state of the resources."""
        self._forget()
        found = self._cached.get(key)
        if found is None:
            document = make()
            digest = hashlib.sha512(msgspec.json.encode(document)).hexdigest().upper()
            found = self._cached[key] = encoded(document, media), f'"{digest}"'
        return found

    def _groups(self) -> Groups:
        return groups_of(self._resources)

    def _forget(self) -> None:
        """Drop the documents of an earlier state."""
        if self._revision != self._resources.revision:
            self._revision = self._resources.revision
            self._cached.clear()


def _media(request: HttpRequest, *, is_route: bool) -> MediaType:
    accept = request.header("accept")
    return indented(negotiate(accept, is_route=is_route, has_transformations=False), request)


def _check_method(request: HttpRequest) -> None:
    if request.method != "GET":
        raise method_not_allowed()
