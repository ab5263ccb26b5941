"""The envelope of objects in protobuf: a prefix, the kind of the object, and its bytes.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go, Decode;
staging/src/k8s.io/apimachinery/pkg/runtime/generated.proto, Unknown
"""

from __future__ import annotations

from functools import cache
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.protobuf.messages import (
    FieldReader,
    Messages,
    Reader,
    read_fields,
)
from podwright.cluster.api.endpoints.protobuf.wire import WireError

PREFIX: Final = b"k8s\0"
_DELETE_OPTIONS: Final = "DeleteOptions"


class ProtobufError(ValueError):
    """A body that is not an object in protobuf; the message is upstream's."""


class ProtobufObjectError(ProtobufError):
    """A body whose object is not a message of its kind.

    Attributes
    ----------
    api_version, kind : str
        Of the object.
    """

    def __init__(self, message: str, api_version: str, kind: str) -> None:
        super().__init__(message)
        self.api_version = api_version
        self.kind = kind


def decode_protobuf(body: bytes, api_version: str = "", kind: str = "") -> Document:
    """Return the object in a protobuf body as a document.

    Parameters
    ----------
    body : bytes
    api_version, kind : str
        Of a body that does not name them.

    Returns
    -------
    dict
        With the `apiVersion` and the kind; only these if no message is known for them.

    Raises
    ------
    ProtobufError
        The body is not an envelope.
    ProtobufObjectError
        The object in the envelope cannot be decoded.
    """
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(PREFIX):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix"
            f" [{' '.join(map(str, PREFIX))}]"
        )
    if len(body) == len(PREFIX):
        raise ProtobufError("empty body")
    raw: list[tuple[int, int]] = []
    envelope = _envelope(raw)
    try:
        found = read_fields(envelope, "Unknown", body, len(PREFIX), len(body), 0, {})
    except WireError as error:
        raise ProtobufError(str(error)) from None
    named = found.get("typeMeta") or {}
    api_version = named.get("apiVersion") or api_version
    kind = named.get("kind") or kind
    document: Document = {}
    if api_version:
        document["apiVersion"] = api_version
    if kind:
        document["kind"] = kind
    start, end = raw[-1] if raw else (0, 0)
    return document | _object(body, start, end, api_version, kind)


def _object(body: bytes, start: int, end: int, api_version: str, kind: str) -> Document:
    known = built_in().find(api_version, kind)
    if known is not None:
        struct = known.row.type
    elif kind == _DELETE_OPTIONS:
        struct = "meta.v1.DeleteOptions"
    else:
        return {}
    try:
        return _messages().read(struct, body, start, end)
    except WireError as error:
        raise ProtobufObjectError(str(error), api_version, kind) from None


@cache
def _messages() -> Messages:
    return Messages(built_in().type)


def _envelope(raw: list[tuple[int, int]]) -> dict[int, Reader]:
    """Return the fields of the envelope; `raw` receives where the object is."""

    def type_meta(data: bytes, start: int, end: int, depth: int, before: Document | None) -> object:
        return read_fields(_TYPE_META, "TypeMeta", data, start, end, depth, before or {})

    def note(_data: bytes, start: int, end: int, _depth: int, _before: object) -> None:
        raw.append((start, end))

    return {
        1: FieldReader("typeMeta", "", "", type_meta, dict),
        2: FieldReader("raw", "", "", note, dict),
        3: FieldReader("contentEncoding", "", "string", None, str),
        4: FieldReader("contentType", "", "string", None, str),
    }


_TYPE_META: Final[dict[int, Reader]] = {
    1: FieldReader("apiVersion", "", "string", None, str),
    2: FieldReader("kind", "", "string", None, str),
}
