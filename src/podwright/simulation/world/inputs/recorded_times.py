"""Moves the times in recorded objects to the time of a world.

All times move by the same duration, so ages and deadlines stay as recorded.

Upstream: KWOK pkg/kwokctl/recording, which writes times relative to the recording's beginning
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    SECOND_NS,
    Object,
    encode,
    timestamp_ns,
    timestamp_text,
    timestamp_text_nano,
)
from podwright.apimachinery.schema import decode

_TIME: Final = re.compile(rb'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"(?!:)')
"""A string in JSON that is a time, and not a key; it may be a part of another string."""
_FIRST_NS: Final = -62_135_596_800 * SECOND_NS
_END_NS: Final = 253_402_300_800 * SECOND_NS
"""The years from 1 to 9999, the range of RFC 3339."""
_MOST_KEPT: Final = 65_536
_BACKSLASH: Final = ord("\\")


def with_times_moved(obj: Object, shift_ns: int) -> Object:
    """Return an object with all times in it moved later.

    Parameters
    ----------
    shift_ns : int
        Rounded down to whole seconds: most times of the API are whole seconds, and all differences
        stay the same.
    """
    whole_ns = shift_ns - shift_ns % SECOND_NS
    if not whole_ns:
        return obj
    # On the encoded object: a dump has a hundred strings per pod, and few times.
    data = msgspec.json.encode(encode(obj))

    def moved(found: re.Match[bytes]) -> bytes:
        is_quoted_again = data[found.start() - 1] == _BACKSLASH
        return found[0] if is_quoted_again else _moved(found[1], whole_ns)

    return decode(msgspec.json.decode(_TIME.sub(moved, data)))


@lru_cache(maxsize=_MOST_KEPT)
def _moved(time: bytes, shift_ns: int) -> bytes:
    """Return a time in quotes; one that is not valid, or would not be, stays."""
    value = time.decode()
    time_ns = timestamp_ns(value)
    if time_ns is None or not _FIRST_NS <= time_ns + shift_ns < _END_NS:
        return b'"%s"' % time
    write = timestamp_text_nano if "." in value else timestamp_text
    return b'"%s"' % write(time_ns + shift_ns).encode()
