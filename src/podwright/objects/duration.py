"""Durations in Go's notation, as int nanoseconds.

`parse_duration` accepts what Go's `time.ParseDuration` accepts, and `format_duration` prints what
`Duration.String` prints.
"""

import re
from typing import Final

SECOND_NS: Final = 1_000_000_000

_UNIT_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu, which Go accepts too
    "ms": 1_000_000,
    "s": SECOND_NS,
    "m": 60 * SECOND_NS,
    "h": 3_600 * SECOND_NS,
}
_MAX_NS = 2**63 - 1
_UNITS = "|".join(sorted(_UNIT_NS, key=len, reverse=True))
_PART = re.compile(rf"(\d+\.?\d*|\.\d+)({_UNITS})")
_WHOLE = re.compile(rf"[+-]?((\d+\.?\d*|\.\d+)({_UNITS}))+")
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([^.0-9]*)")


def parse_duration(text: str) -> int:
    """Read a Go duration such as `15s` or `1h30m`, in nanoseconds.

    Raises
    ------
    ValueError
        If the text is not a duration or exceeds 64 bits; with Go's message.

    Notes
    -----
    Each part is truncated to whole nanoseconds.
    Upstream: Go's src/time/format.go, ParseDuration
    """
    if text in {"0", "+0", "-0"}:
        return 0
    if not _WHOLE.fullmatch(text):
        raise ValueError(_mistake(text))
    total = 0
    for number, unit in _PART.findall(text):
        whole, _, fraction = number.partition(".")
        total += int(whole or "0") * _UNIT_NS[unit]
        if fraction:
            total += int(fraction) * _UNIT_NS[unit] // 10 ** len(fraction)
    if total > _MAX_NS:
        raise ValueError(f'time: invalid duration "{text}"')
    return -total if text.startswith("-") else total


def _mistake(text: str) -> str:
    """Return Go's message for a text that is not a duration."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    while found := _NUMBER.match(rest):
        unit = found[2]
        if not unit:
            return f'time: missing unit in duration "{text}"'
        if unit not in _UNIT_NS:
            return f'time: unknown unit "{unit}" in duration "{text}"'
        rest = rest[found.end() :]
    return f'time: invalid duration "{text}"'


def format_duration(duration_ns: int) -> str:
    """Return a duration in Go's notation: `10m0s`, `1.5s`, `100ms`, `0s`."""
    if duration_ns == 0:
        return "0s"
    sign = "-" if duration_ns < 0 else ""
    left_ns = abs(duration_ns)
    if left_ns < _UNIT_NS["s"]:
        unit = next(u for u in ("ms", "µs", "ns") if left_ns >= _UNIT_NS[u])
        return f"{sign}{_decimal(left_ns, _UNIT_NS[unit])}{unit}"
    minutes, rest_ns = divmod(left_ns, _UNIT_NS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest_ns, _UNIT_NS['s'])}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    if minutes:
        return f"{sign}{minutes}m{seconds}"
    return f"{sign}{seconds}"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    # Minutes and hours do not get here: every unit is a power of ten.
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")
