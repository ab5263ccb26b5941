"""Moves the times in recorded objects to the time of a world.

All times move by the same duration, so ages and deadlines stay as recorded.

Upstream: pkg/kwokctl/recording (KWOK), which writes times relative to the recording's beginning
"""

from __future__ import annotations

import re
from typing import Any, Final

from podwright.objects import Object, encode, timestamp_ns, timestamp_text, timestamp_text_nano
from podwright.schema import decode

_SECOND_NS: Final = 1_000_000_000
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_FIRST_NS: Final = -62_135_596_800 * _SECOND_NS
_END_NS: Final = 253_402_300_800 * _SECOND_NS
"""The years from 1 to 9999, the range of RFC 3339."""


def with_times_moved(obj: Object, shift_ns: int) -> Object:
    """Return an object with all times in it moved later.

    Parameters
    ----------
    shift_ns : int
        Rounded down to whole seconds: most times of the API are whole seconds, and all differences
        stay the same.
    """
    whole_ns = shift_ns - shift_ns % _SECOND_NS
    return decode(_moved(encode(obj), whole_ns)) if whole_ns else obj


def _moved(value: Any, shift_ns: int) -> Any:
    if isinstance(value, dict):
        return {name: _moved(each, shift_ns) for name, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, shift_ns) for each in value]
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return value
    time_ns = timestamp_ns(value)
    if time_ns is None or not _FIRST_NS <= time_ns + shift_ns < _END_NS:
        return value
    if "." in value:
        return timestamp_text_nano(time_ns + shift_ns)
    return timestamp_text(time_ns + shift_ns)
