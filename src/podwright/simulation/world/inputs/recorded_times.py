"""Moves the times in recorded objects to the time of a world.

All times move by the same duration, so ages and deadlines stay as recorded.

Upstream: KWOK pkg/kwokctl/recording, which writes times relative to the recording's beginning
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    SECOND_NS,
    Object,
    decode_with_spec,
    encode,
    timestamp_ns,
    timestamp_text,
    timestamp_text_nano,
)
from podwright.apimachinery.schema import decode

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_CLOCK: Final = re.compile(rb"T\d\d:\d\d:\d\d")
_DATE_LENGTH: Final = len("2006-01-02")
_TIME_MIN_LENGTH: Final = len("2006-01-02T15:04:05Z")
_FIRST_NS: Final = -62_135_596_800 * SECOND_NS
_END_NS: Final = 253_402_300_800 * SECOND_NS
"""The years from 1 to 9999, the range of RFC 3339."""
_MOST_KEPT: Final = 65_536


def with_times_moved(obj: Object, shift_ns: int) -> Object:
    """Return an object with all times in it moved later: every string that is a time.

    Parts without times are shared with the original.

    Parameters
    ----------
    shift_ns : int
        Rounded down to whole seconds: most times of the API are whole seconds, and all differences
        stay the same.
    """
    whole_ns = shift_ns - shift_ns % SECOND_NS
    document = encode(obj)
    # Most sections of a dump, such as the spec of a pod, have no time: their text shows it sooner.
    found = {
        name: section
        for name, section in document.items()
        if whole_ns and _CLOCK.search(msgspec.json.encode(section))
    }
    changed = _with_times_moved(found, whole_ns)
    if changed is found:
        return obj
    moved, spec = document | changed, getattr(obj, "spec", None)
    if spec is not None and moved.get("spec") is obj.raw.get("spec"):
        return decode_with_spec(moved, spec, type(obj)) or decode(moved)
    return decode(moved)


def _with_times_moved(value: Any, shift_ns: int) -> Any:
    """Return a mapping or a list with moved times; itself if it has none."""
    changed = None
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        moved = inner
        kind = type(inner)
        if kind is str:
            if len(inner) >= _TIME_MIN_LENGTH and inner[_DATE_LENGTH] == "T":
                moved = _moved(inner, shift_ns)
        elif isinstance(inner, dict | list):
            moved = _with_times_moved(inner, shift_ns)
        if moved is not inner:
            if changed is None:
                changed = value.copy()
            changed[key] = moved
    return value if changed is None else changed


@lru_cache(maxsize=_MOST_KEPT)
def _moved(text: str, shift_ns: int) -> str:
    """Return a time moved later; text that is not a valid time, or would not be, stays."""
    time_ns = timestamp_ns(text) if _TIME.fullmatch(text) else None
    if time_ns is None or not _FIRST_NS <= time_ns + shift_ns < _END_NS:
        return text
    write = timestamp_text_nano if "." in text else timestamp_text
    return write(time_ns + shift_ns)
