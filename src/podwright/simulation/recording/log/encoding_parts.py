"""Encoding of very large values part by part, with the same result as encoding them at once.

An encoder holds the interpreter lock until it is done: 300 ms for the objects of a checkpoint with
50,000 pods, while a server in the same process replies to no one. Between two parts other threads
continue.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

_ENCODER: Final = msgspec.msgpack.Encoder()
_PART_ITEMS: Final = 256


def encoded_parts(value: object) -> Iterator[bytes]:
    """Yield parts that together are the MessagePack of a value.

    Structs that are written as arrays are divided into their fields, and long lists and tuples into
    slices; everything else is one part.
    """
    if isinstance(value, msgspec.Struct) and _is_plain_array(value.__struct_config__):
        yield _array_head(len(value.__struct_fields__))
        for name in value.__struct_fields__:
            yield from encoded_parts(getattr(value, name))
    elif isinstance(value, list | tuple) and len(value) > _PART_ITEMS:
        yield _array_head(len(value))
        for first in range(0, len(value), _PART_ITEMS):
            yield _encoded_items(value[first : first + _PART_ITEMS])
    else:
        yield _ENCODER.encode(value)


def _is_plain_array(config: Any) -> bool:
    return bool(config.array_like) and config.tag is None and not config.omit_defaults


def _encoded_items(items: Sequence[object]) -> bytes:
    return _ENCODER.encode(items)[len(_array_head(len(items))) :]


def _array_head(length: int) -> bytes:
    """Return what MessagePack has in front of the items of an array."""
    if length < 1 << 4:
        return bytes([0x90 | length])
    if length < 1 << 16:
        return struct.pack(">BH", 0xDC, length)
    return struct.pack(">BI", 0xDD, length)
