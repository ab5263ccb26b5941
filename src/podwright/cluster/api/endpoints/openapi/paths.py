"""Replies to requests of OpenAPI documents.

Upstream: staging/src/k8s.io/kube-aggregator/pkg/controllers/openapiv3/aggregator/aggregator.go;
k8s.io/kube-openapi/pkg/{handler,handler3}
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from email.utils import formatdate
from functools import cache
from http import HTTPStatus
from typing import Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.discovery import groups_of
from podwright.cluster.api.endpoints.discovery.documents import resources_of
from podwright.cluster.api.endpoints.openapi.custom import custom_document, custom_schemas
from podwright.cluster.api.endpoints.openapi.documents import (
    PLAIN_PATHS,
    group_document,
    plain_document,
    version_document,
)
from podwright.cluster.api.endpoints.openapi.version2 import version2_document
from podwright.cluster.api.endpoints.openapi.version2_protobuf import version2_message
from podwright.cluster.api.endpoints.replies.negotiation import JSON, accepts
from podwright.cluster.api.endpoints.replies.responses import CACHE_CONTROL
from podwright.cluster.api.endpoints.request import Headers, HttpReply, HttpRequest
from podwright.cluster.api.versions.resources import Resources

INDEX: Final = "/openapi/v3"
VERSION2: Final = "/openapi/v2"
_TEXT: Final = ("content-type", "text/plain; charset=utf-8")
_JSON: Final = ("content-type", JSON)
_YEAR_SECONDS: Final = 365 * 24 * 3600
_VERSION2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2"
"""The start of the media type, which has two spellings."""
_VERSION2_TYPE: Final = ("content-type", f"{_VERSION2_PROTOBUF}.v1.0+protobuf")


class _Encoded(msgspec.Struct, frozen=True):
    """A document as bytes, with its hash."""

    body: bytes
    hash: str


class OpenApi:
    """Replies to requests of OpenAPI documents, from the resources that are served.

    Parameters
    ----------
    resources : Resources
        The served resources; they may change between requests.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._revision = resources.revision
        self._custom: dict[str, _Encoded] = {}
        self._version2: _Encoded | None = None
        self._version2_message: bytes | None = None
        self._made: set[tuple[str, bool]] = set()

    def __call__(self, request: HttpRequest, now_ns: int) -> HttpReply | None:
        """Return the reply to a request; None if the path is not one of OpenAPI."""
        if not request.path.startswith("/openapi/"):
            return None
        if self._revision != self._resources.revision:
            self._revision = self._resources.revision
            self._custom.clear()
            self._version2 = self._version2_message = None
            self._made.clear()
        with interlude():
            found = self._reply(request, now_ns)
        if found is not None and found.status == HTTPStatus.OK:
            self._made.add(_made_by(request))
        if found is not None and request.method == "HEAD":
            return msgspec.structs.replace(found, body=b"")
        return found

    def computes_long(self, request: HttpRequest) -> bool:
        """Whether documents have to be made for a reply."""
        if not request.path.startswith("/openapi/"):
            return False
        return self._revision != self._resources.revision or _made_by(request) not in self._made

    def _reply(self, request: HttpRequest, now_ns: int) -> HttpReply | None:
        path = request.path
        if path == INDEX:
            return HttpReply(200, (CACHE_CONTROL, _TEXT), self._index())
        if path.startswith(f"{INDEX}/"):
            return self._document_reply(request, path.removeprefix(f"{INDEX}/"), now_ns)
        return self._version2_reply(request) if path == VERSION2 else None

    # ------------------------------------------------------------------------- replies

    def _index(self) -> bytes:
        paths = {
            key: {"serverRelativeURL": _address(key, self._encoded(key).hash)}
            for key in sorted(self._keys())
        }
        return msgspec.json.encode({"paths": paths})

    def _document_reply(self, request: HttpRequest, key: str, now_ns: int) -> HttpReply:
        if key not in set(self._keys()):
            return HttpReply(404, (CACHE_CONTROL,))
        vary = ("vary", "Accept")
        if not accepts(request.header("accept"), JSON):
            return HttpReply(406, (CACHE_CONTROL, vary))
        found = self._encoded(key)
        etag = ("etag", f'"{found.hash}"')
        cache_control: Headers = (CACHE_CONTROL,)
        if requested := request.parameter("hash"):
            if requested != found.hash:
                location = ("location", _address(key, found.hash))
                return HttpReply(301, (CACHE_CONTROL, vary, _JSON, etag, location))
            expires = formatdate(now_ns // 10**9 + _YEAR_SECONDS, usegmt=True)
            cache_control = (("cache-control", "public, immutable"), ("expires", expires))
        return _conditional(request, found, (*cache_control, vary, etag))

    def _version2_reply(self, request: HttpRequest) -> HttpReply:
        vary = ("vary", "Accept-Encoding, Accept")
        accept = request.header("accept")
        is_json = accepts(accept, JSON)
        if not is_json and _VERSION2_PROTOBUF not in accept:
            return HttpReply(406, (CACHE_CONTROL, vary))
        found = self._version2
        if found is None:
            found = self._version2 = _encode(self._version2_document())
        headers = (CACHE_CONTROL, vary, ("etag", f'"{found.hash}"'))
        if is_json:
            return _conditional(request, found, headers)
        message = self._version2_message
        if message is None:
            message = self._version2_message = version2_message(msgspec.json.decode(found.body))
        found = _Encoded(message, found.hash)
        return _conditional(request, found, headers, _VERSION2_TYPE)

    # ----------------------------------------------------------------------- documents

    def _keys(self) -> Iterator[str]:
        """Yield the keys of all documents, such as `apis/apps/v1`."""
        yield from PLAIN_PATHS
        for group, versions in groups_of(self._resources).items():
            if group and not self._is_custom(group, versions[0]):
                yield f"apis/{group}"
            for version in versions:
                yield f"apis/{group}/{version}" if group else f"api/{version}"

    def _is_custom(self, group: str, version: str) -> bool:
        return any(each.is_custom for each in resources_of(self._resources, group, version))

    def _encoded(self, key: str) -> _Encoded:
        parts = key.split("/")
        if key in PLAIN_PATHS or (len(parts) == 2 and parts[0] == "apis"):
            return _built_in_document(key, ())
        group, version = _group_version(key)
        resources = resources_of(self._resources, group, version)
        if not any(each.is_custom for each in resources):
            return _built_in_document(key, tuple(each.plural for each in resources))
        found = self._custom.get(key)
        if found is None:
            found = self._custom[key] = _encode(custom_document(resources))
        return found

    def _version2_document(self) -> Document:
        documents = [msgspec.json.decode(self._encoded(key).body) for key in self._keys()]
        custom: Document = {}
        for resource in self._resources:
            if resource.is_custom:
                custom |= custom_schemas(resource, is_version2=True)
        return version2_document(documents, custom)


def _conditional(
    request: HttpRequest, found: _Encoded, headers: Headers, content_type: tuple[str, str] = _JSON
) -> HttpReply:
    """Return a document, or nothing but its headers if the client has it."""
    known = [each.strip().removeprefix("W/") for each in request.header("if-none-match").split(",")]
    if f'"{found.hash}"' in known or "*" in known:
        return HttpReply(304 if request.method in ("GET", "HEAD") else 412, headers)
    return HttpReply(200, (*headers, content_type), found.body)


def _made_by(request: HttpRequest) -> tuple[str, bool]:
    """Return what determines which documents a request needs."""
    return request.path, accepts(request.header("accept"), JSON)


def _address(key: str, digest: str) -> str:
    return f"{INDEX}/{key}?hash={digest}"


def _group_version(key: str) -> tuple[str, str]:
    _, _, rest = key.partition("/")
    group, _, version = rest.rpartition("/")
    return group, version


def _encode(document: Document) -> _Encoded:
    body = msgspec.json.encode(document)
    return _Encoded(body, hashlib.sha512(body).hexdigest().upper())


@cache
def _built_in_document(key: str, plurals: tuple[str, ...]) -> _Encoded:
    """Return a document without custom resources; servers share it."""
    if key in PLAIN_PATHS:
        return _encode(plain_document(key))
    if not plurals:
        return _encode(group_document(key.removeprefix("apis/")))
    group, version = _group_version(key)
    rows = [
        kind.row
        for kind in built_in()
        if (kind.row.group, kind.row.version) == (group, version) and kind.row.resource in plurals
    ]
    return _encode(version_document(group, version, rows))
