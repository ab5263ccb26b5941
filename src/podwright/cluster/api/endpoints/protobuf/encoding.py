"""Documents as messages of the API, and in the envelope.

Replies are protobuf only where it makes a difference to clients: lists of metadata, whose items
have a kind in JSON and none in protobuf.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go, Encode
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, timestamp_ns
from podwright.apimachinery.schema import TypeRef, built_in
from podwright.cluster.api.endpoints.protobuf.envelope import PREFIX
from podwright.cluster.api.endpoints.protobuf.wire import FIXED64, LENGTH, VARINT

METADATA_LIST: Final = "PartialObjectMetadataList"


def encoded_varint(number: int) -> bytes:
    """Return a number; a negative one as its two's complement of 64 bits."""
    number &= 2**64 - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def field(number: int, content: bytes) -> bytes:
    """Return a field with a length."""
    return encoded_varint(number << 3 | LENGTH) + encoded_varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    """Return a field with an integer."""
    return encoded_varint(number << 3 | VARINT) + encoded_varint(value)


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    """Return the message of an object as a body."""
    type_meta = field(1, api_version.encode()) + field(2, kind.encode())
    return PREFIX + field(1, type_meta) + field(2, raw) + field(3, b"") + field(4, b"")


def encoded_metadata_list(document: Document) -> bytes:
    """Return a PartialObjectMetadataList as a body."""
    raw = field(1, message("meta.v1.ListMeta", document["metadata"]))
    for item in document["items"] or ():  # an empty list is null in JSON
        raw += field(2, field(1, message("meta.v1.ObjectMeta", item["metadata"])))
    return envelope(document["apiVersion"], METADATA_LIST, raw)


def message(struct_name: str, document: Document) -> bytes:
    """Return a document as the message of a struct of the schema table."""
    found = b""
    embedded: dict[int, bytes] = {}
    for name, each in built_in().type(struct_name).fields.items():
        value = document.get(name)
        if value is None or not each.number:
            continue
        content = _field(each.number[-1], each.type, value)
        if len(each.number) == 1:
            found += content
        else:
            embedded[each.number[0]] = embedded.get(each.number[0], b"") + content
    return found + b"".join(field(number, content) for number, content in embedded.items())


def _field(number: int, ref: TypeRef, value: Any) -> bytes:
    if ref.container == "list":
        assert ref.element is not None
        return b"".join(_field(number, ref.element, each) for each in value)
    if ref.container == "map":
        assert ref.element is not None
        element = ref.element
        return b"".join(
            field(number, field(1, key.encode()) + _value(element, each))
            for key, each in value.items()
        )
    return _single(number, ref.name, value)


def _value(element: TypeRef, value: Any) -> bytes:
    if element.container:
        return field(2, b"".join(field(1, each.encode()) for each in value))
    return _single(2, element.name, value)


def _single(number: int, name: str, value: Any) -> bytes:
    if name in ("bool", "int32", "int64"):
        return number_field(number, int(value))
    if name == "double":
        return encoded_varint(number << 3 | FIXED64) + struct.pack("<d", value)
    return field(number, _content(name, value))


def _content(name: str, value: Any) -> bytes:
    if name == "int-or-string":
        if isinstance(value, str):
            return number_field(1, 1) + number_field(2, 0) + field(3, value.encode())
        return number_field(1, 0) + number_field(2, value) + field(3, b"")
    if name in ("time", "micro-time"):
        moment = timestamp_ns(value)
        assert moment is not None, value
        seconds, nanos = divmod(moment, 10**9)
        return number_field(1, seconds) + number_field(2, nanos)
    encode: dict[str, Callable[[Any], bytes]] = {
        "string": str.encode,
        "bytes": base64.b64decode,
        "quantity": lambda each: field(1, str(each).encode()),
        "object": lambda each: field(1, msgspec.json.encode(each)),
        "any": lambda each: field(1, msgspec.json.encode(each)),
    }
    return encode[name](value) if name in encode else message(name, value)
