"""An encoder of documents as protobuf messages, as clients send them."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from typing import Any

from podwright.objects import timestamp_ns
from podwright.schema import TypeRef, built_in

VARINT, FIXED64, LENGTH = 0, 1, 2


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def field(number: int, content: bytes) -> bytes:
    """Return a field with a length."""
    return varint(number << 3 | LENGTH) + varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3 | VARINT) + varint(value)


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    type_meta = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, type_meta) + field(2, raw) + field(3, b"") + field(4, b"")


def encoded_object(document: dict[str, Any]) -> bytes:
    """Return an object of a built-in kind as a body."""
    kind = built_in().find(document["apiVersion"], document["kind"])
    assert kind is not None, document
    raw = message(kind.row.type, document)
    return envelope(document["apiVersion"], document["kind"], raw)


def message(struct_name: str, document: dict[str, Any]) -> bytes:
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
        return varint(number << 3 | FIXED64) + struct.pack("<d", value)
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
        "object": lambda each: field(1, json.dumps(each).encode()),
        "any": lambda each: field(1, json.dumps(each).encode()),
    }
    return encode[name](value) if name in encode else message(name, value)
