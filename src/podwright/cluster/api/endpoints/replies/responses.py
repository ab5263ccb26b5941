"""Replies: transformation to Table or metadata, encoding as JSON or YAML, and compression.

Long replies are compressed for clients that accept it.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go;
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go,
deferredResponseWriter
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, KubernetesObject, write_yaml
from podwright.cluster.api.endpoints.calls import Call
from podwright.cluster.api.endpoints.decoding.body_kinds import internal_package
from podwright.cluster.api.endpoints.protobuf.encoding import encoded_metadata_list
from podwright.cluster.api.endpoints.replies.negotiation import JSON, MediaType
from podwright.cluster.api.endpoints.replies.tables import (
    has_own_columns,
    in_table_order,
    row_conditions,
    table,
)
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest
from podwright.cluster.api.rejections import (
    PlainError,
    Rejection,
    bad_request,
    not_acceptable,
    unclassified_error,
)
from podwright.cluster.api.versions.conversions import TEMPLATE_GENERATION
from podwright.cluster.api.versions.resources import Resource

CACHE_CONTROL: Final = ("cache-control", "no-cache, private")
_JSON_HEADERS: Final = (CACHE_CONTROL, ("content-type", JSON))
_INCLUDES: Final = ("", "Metadata", "Object", "None")
_WARNINGS_MAX_RUNES: Final = 4 * 1024
_WARNING_MAX_RUNES: Final = 256


def encoded(document: Any, media: MediaType) -> bytes:
    """Return a document as the body of a reply."""
    with interlude():
        return _encoded(document, media)


def _encoded(document: Any, media: MediaType) -> bytes:
    if media.format == "protobuf":
        return encoded_metadata_list(document)
    if media.format == "yaml":
        # Shared parts are written in full.
        plain = msgspec.to_builtins(document)
        return write_yaml(plain, sort_keys=True, width=10**9).encode()
    body = msgspec.json.encode(document)
    # As upstream's encoders end their output.
    return msgspec.json.format(body, indent=2) if media.is_pretty else body + b"\n"


def reply(document: Any, media: MediaType, status: int, warnings: Iterable[str] = ()) -> HttpReply:
    """Return a reply with a document as its body."""
    headers = [CACHE_CONTROL, ("content-type", media.content_type)]
    headers += warning_headers(warnings)
    return HttpReply(status, tuple(headers), encoded(document, media))


def warning_headers(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the headers of distinct warnings: long ones are cut if all together are long.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/filters/warning.go
    """
    distinct = list(dict.fromkeys(text for text in texts if text))
    if sum(map(len, distinct)) <= _WARNINGS_MAX_RUNES:
        return [("warning", _warning_header(text)) for text in distinct]
    headers: list[tuple[str, str]] = []
    written = 0
    for text in distinct:
        if written >= _WARNINGS_MAX_RUNES:
            break
        headers.append(("warning", _warning_header(text[:_WARNING_MAX_RUNES])))
        written += min(len(text), _WARNING_MAX_RUNES)
    return headers


def _warning_header(text: str) -> str:
    """Return a warning as the value of a header."""
    plain = text
    if not text.isprintable():
        plain = "".join(each if each.isprintable() else " " for each in text)
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


_PLAIN_HEADERS: Final = (
    CACHE_CONTROL,
    ("content-type", "text/plain; charset=utf-8"),
    ("x-content-type-options", "nosniff"),
)


def error_reply(
    error: Rejection | PlainError, media: MediaType, warnings: Iterable[str] = ()
) -> HttpReply:
    """Return an error as a reply."""
    if isinstance(error, PlainError):
        return HttpReply(error.code, _PLAIN_HEADERS, error.text.encode())
    plain = msgspec.structs.replace(media, transformation="")
    found = reply(error.status, plain, error.code, warnings)
    if not error.retry_after_seconds:
        return found
    retry = ("retry-after", str(error.retry_after_seconds))
    return HttpReply(found.status, (*found.headers, retry), found.body)


def object_reply(call: Call, document: Document, status: int = 200) -> HttpReply:
    """Return an object, transformed as the client requests.

    Raises
    ------
    Rejection
        The transformation is not possible.
    """
    media = call.media
    if media.transformation and document.get("kind") != "Status":
        return reply(_transformed(call, document), media, status, call.warnings)
    if not _is_plain(media) or call.warnings:
        return reply(document, media, status, call.warnings)
    return HttpReply(status, _JSON_HEADERS, call.encodings.peek(document) + b"\n")


def list_reply(call: Call, items: Sequence[Document], metadata: Document) -> HttpReply:
    """Return a list, transformed as the client requests.

    Parameters
    ----------
    items : sequence of dict
        The objects in the version of the request.
    metadata : dict
        The metadata of the list.

    Raises
    ------
    Rejection
        The transformation is not possible.
    """
    resource, media = call.resource, call.media
    if _is_plain(media) and not call.warnings and not resource.is_custom:
        return HttpReply(200, _JSON_HEADERS, _list_body(call, items, metadata))
    match media.transformation:
        case "":
            document = list_document(resource, items, metadata)
        case "Table":
            document = table_of(call, items, metadata)
        case "PartialObjectMetadataList":
            document = {
                "kind": "PartialObjectMetadataList",
                "apiVersion": f"meta.k8s.io/{media.version}",
                "metadata": metadata,
                # Go writes a list that nothing was added to as null.
                "items": [partial(each, media.version) for each in items] or None,
            }
        case _:
            raise not_acceptable(
                "you requested PartialObjectMetadata, but the requested object is a list"
                f" ({internal_type(resource, is_list=True)})"
            )
    return reply(document, media, 200, call.warnings)


PART_OBJECTS: Final = 100
"""The number of objects of a part of a long list: about a millisecond of work."""


def list_in_parts(
    call: Call, parts: Iterable[Sequence[KubernetesObject]], metadata: Document
) -> HttpReply:
    """Return a list as `list_reply` does, with a body that is made while it is sent.

    Parameters
    ----------
    parts : iterable of sequence of KubernetesObject
        The objects as they are stored; parts may be empty.
    metadata : dict
        The metadata of the list.

    Raises
    ------
    Rejection
        The transformation is not possible.
    """
    served = call.resource.served
    if call.media.format != "json":
        return list_reply(call, [served(obj.raw) for part in parts for obj in part], metadata)
    left = iter(parts)
    begun = next(left, ())
    first = list_reply(call, [served(obj.raw) for obj in begun], metadata)
    # Each part is a list with the same head; its items are the last field.
    field = b'"rows":' if call.media.transformation == "Table" else b'"items":'
    before, closing = _INDENTED_LIST if call.media.is_pretty else _LIST
    opening = field + before
    items_at = first.body.rindex(field) if not begun else first.body.index(opening)

    # A list without items has its own form of them, such as null.
    end = items_at if not begun else len(first.body) - len(closing)
    last = first.body[end:]

    def items(part: Sequence[KubernetesObject], *, is_first: bool) -> bytes:
        body = list_reply(call, [served(obj.raw) for obj in part], metadata).body
        assert body.endswith(closing), body[-80:]
        begin = body.index(opening)
        if is_first:
            return body[begin : -len(closing)]
        return b"," + body[begin + len(opening) : -len(closing)]

    def rest() -> Iterator[bytes]:
        is_empty = not begun
        for part in left:
            if part:
                # Nothing else keeps the bytes while a client does not take them.
                yield items(part, is_first=is_empty)
                is_empty = False
        yield last if is_empty else closing

    return msgspec.structs.replace(first, body=first.body[:end], rest=rest())


def parts_of(objects: Sequence[KubernetesObject]) -> Iterator[Sequence[KubernetesObject]]:
    """Yield parts of a long list."""
    for begin in range(0, len(objects), PART_OBJECTS):
        yield objects[begin : begin + PART_OBJECTS]


_LIST: Final = (b"[", b"]}\n")
"""What is between the name of the last field of a list and its items, and what follows these."""

_INDENTED_LIST: Final = (b" [", b"\n  ]\n}")


def _is_plain(media: MediaType) -> bool:
    """Whether objects are sent as they are encoded in the store."""
    return media.format == "json" and not media.is_pretty and not media.transformation


def _list_body(call: Call, items: Sequence[Document], metadata: Document) -> bytes:
    """Return a list as JSON, from the JSON of its objects."""
    resource = call.resource
    head = msgspec.json.encode(list_document(resource, (), metadata))
    assert head.endswith(b'"items":[]}'), head
    encoded_items = map(call.encodings.peek, items)
    if resource.is_custom:  # its items have a kind
        return b"%b%b]}\n" % (head[:-2], b",".join(encoded_items))
    # The items of a list have no kind and apiVersion, which come first in Go's form.
    kind, version = resource.name, resource.kind.api_version
    start = b'{"kind":"%b","apiVersion":"%b",' % (kind.encode(), version.encode())
    found = [
        b"{" + text[len(start) :] if text.startswith(start) else _bare_item(document)
        for text, document in zip(encoded_items, items, strict=True)
    ]
    return b"%b%b]}\n" % (head[:-2], b",".join(found))


def _bare_item(document: Document) -> bytes:
    return msgspec.json.encode(_without_type(document))


def _without_type(document: Document) -> Document:
    return {name: part for name, part in document.items() if name not in ("kind", "apiVersion")}


def list_document(resource: Resource, items: Iterable[Document], metadata: Document) -> Document:
    """Return a list of objects as a document."""
    bare = items if resource.is_custom else map(_without_type, items)
    if resource.is_custom:
        metadata = {"continue": "", **metadata}
    return {
        "kind": resource.list_kind,
        "apiVersion": resource.kind.api_version,
        "metadata": metadata,
        "items": list(bare),
    }


def internal_type(resource: Resource, *, is_list: bool = False) -> str:
    """Return Go's name of the internal type of a resource, for messages."""
    if resource.is_custom:
        return "*unstructured.UnstructuredList" if is_list else "*unstructured.Unstructured"
    name = resource.list_kind if is_list else resource.name
    return f"*{internal_package(resource.group)}.{name}"


def partial(document: Document, version: str) -> Document:
    """Return the metadata of an object as PartialObjectMetadata."""
    metadata: Document = document.get("metadata") or {}
    if document.get("kind") == "DaemonSet" and TEMPLATE_GENERATION in (
        metadata.get("annotations") or ()
    ):
        # Upstream has it in the spec, and writes it as an annotation of the whole object only.
        kept = {k: v for k, v in metadata["annotations"].items() if k != TEMPLATE_GENERATION}
        metadata = {
            name: kept if name == "annotations" else value
            for name, value in metadata.items()
            if name != "annotations" or kept
        }
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
    }


def included(call: Call) -> str:
    """Return which objects the rows of a Table have: `includeObject`.

    Raises
    ------
    Rejection
        The parameter is not valid.
    """
    include = call.request.parameter("includeObject")
    if include not in _INCLUDES:
        raise bad_request(
            "Unable to convert to Table as requested: includeObject: Invalid value:"
            f" \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        )
    return include


def table_of(
    call: Call,
    items: Sequence[Document],
    metadata: Document,
    *,
    has_columns: bool = True,
    now_ns: int | None = None,
) -> Document:
    """Return objects as a Table.

    Parameters
    ----------
    now_ns : int, optional
        The time to which ages are; default: that of the request.

    Raises
    ------
    Rejection
        The parameter `includeObject` is not valid.
    """
    include = included(call)
    items = in_table_order(call.resource, items)
    found = table(call.resource, items, call.now_ns if now_ns is None else now_ns)
    version = call.media.version
    rows = []
    for cells, item in zip(found.rows, items, strict=True):
        row: Document = {"cells": cells}
        if conditions := row_conditions(call.resource, item):
            row["conditions"] = conditions
        if include == "Object":
            row["object"] = item
        elif include != "None":
            row["object"] = partial(item, version)
        else:
            row["object"] = None
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "columnDefinitions": found.columns if has_columns else None,
        # Go writes a list that nothing was added to as null.
        "rows": rows if rows or has_own_columns(call.resource) else None,
    }


def _transformed(call: Call, document: Document) -> Document:
    media = call.media
    match media.transformation:
        case "Table":
            version = (document.get("metadata") or {}).get("resourceVersion")
            return table_of(call, [document], {"resourceVersion": version} if version else {})
        case "PartialObjectMetadata":
            return partial(document, media.version)
        case _ if call.resource.is_custom:
            raise unclassified_error("content is not a list")
        case _:
            raise not_acceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list"
                f" ({internal_type(call.resource)})"
            )


# ------------------------------------------------------------------------------------ compression

_SHORT_MAX_BYTES: Final = 128 * 1024
_LEVEL: Final = 1
_GZIP: Final = 16 + zlib.MAX_WBITS
_HEADERS: Final = (("content-encoding", "gzip"), ("vary", "Accept-Encoding"))
_NEVER: Final = "/openapi/v3"


def compressed(request: HttpRequest, reply: HttpReply) -> HttpReply:
    """Return a reply, compressed if it is long and the client accepts that."""
    if reply.rest is None and len(reply.body) <= _SHORT_MAX_BYTES:
        return reply
    accepted = request.header("accept-encoding").split(",")
    if "gzip" not in map(str.strip, accepted) or request.path.startswith(_NEVER):
        return reply
    rest = reply.rest or iter(())
    first = bytearray(reply.body)
    for part in rest:
        first += part
        if len(first) > _SHORT_MAX_BYTES:
            break
    else:
        if len(first) <= _SHORT_MAX_BYTES:
            return msgspec.structs.replace(reply, body=bytes(first), rest=None)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    body = packer.compress(first)

    def packed() -> Iterator[bytes]:
        for part in rest:
            if found := packer.compress(part):
                yield found
        yield packer.flush()

    headers = (*_HEADERS, *reply.headers)
    if reply.rest is None:
        return HttpReply(reply.status, headers, body + packer.flush())
    return HttpReply(reply.status, headers, body, packed())
