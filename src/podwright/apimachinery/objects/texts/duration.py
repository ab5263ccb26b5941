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
_FRACTION_DIGITS_MAX: Final = 40
"""More digits than can change a whole number of nanoseconds, leading zeros included."""

_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]*)")


def parse_duration(text: str) -> int:
    """Read a Go duration such as `15s` or `1h30m`, in nanoseconds.

    Raises
    ------
    ValueError
        If the text is not a duration or exceeds 64 bits; with Go's message.

    Notes
    -----
    Each part is truncated to whole nanoseconds.
    Upstream: Go src/time/format.go, ParseDuration
    """
    sign = -1 if text.startswith("-") else 1
    position = 1 if text.startswith(("+", "-")) else 0
    if text[position:] == "0":
        return 0
    total = 0
    is_first = True
    while is_first or position < len(text):
        is_first = False
        part = _PART.match(text, position)
        assert part is not None, "the pattern matches everything"
        total += _part_ns(part, text)
        if total > _MAX_NS + 1:
            break
        position = part.end()
    if total > (_MAX_NS if sign > 0 else _MAX_NS + 1):
        raise ValueError(f'time: invalid duration "{text}"')
    return sign * total


def _part_ns(part: re.Match[str], text: str) -> int:
    """Return the nanoseconds of one number with its unit.

    Raises
    ------
    ValueError
        The number or its unit is missing or unknown, or the number is too large.
    """
    whole, fraction, unit = part[1].lstrip("0"), part[2] or "", part[3]
    is_number = part[1] or fraction
    # Numbers of any length arrive here; 2**63 has 19 digits.
    if not is_number or len(whole) > len(str(_MAX_NS)) or int(whole or "0") > _MAX_NS + 1:
        raise ValueError(f'time: invalid duration "{text}"')
    if not unit:
        raise ValueError(f'time: missing unit in duration "{text}"')
    unit_ns = _UNIT_NS.get(unit)
    if unit_ns is None:
        raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
    found = int(whole or "0") * unit_ns
    if fraction:
        digits = fraction[:_FRACTION_DIGITS_MAX]
        found += int(digits) * unit_ns // 10 ** len(digits)
    return found


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
