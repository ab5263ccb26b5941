"""Times and durations as callers write them, in nanoseconds.

Every public function with a time or a duration reads it here, so all of them accept the same forms.
Each form has a unit. A bare number has none, so it is an error: it may mean seconds, nanoseconds or
seconds since 1970.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from numbers import Number
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects.errors import (
    ArgumentError,
    FieldError,
    InputError,
    described_type,
    invalid,
)

# Durations in Go's notation, as int nanoseconds.
#
# `parse_duration` accepts what Go's `time.ParseDuration` accepts, and `format_duration` prints
# what `Duration.String` prints.

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
_MAX_NS_DURATION = 2**63 - 1
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
        if total > _MAX_NS_DURATION + 1:
            break
        position = part.end()
    if total > (_MAX_NS_DURATION if sign > 0 else _MAX_NS_DURATION + 1):
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
    if (
        not is_number
        or len(whole) > len(str(_MAX_NS_DURATION))
        or int(whole or "0") > _MAX_NS_DURATION + 1
    ):
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


Duration: TypeAlias = str | timedelta
"""A length of time: `1h30m`, `7d`, or a `timedelta`, also of NumPy and pandas."""

Time: TypeAlias = str | datetime | timedelta
"""A time: `2026-01-01T12:00:00Z`, or a `datetime` with a time zone or of NumPy (UTC); or relative
to the start, as a `Duration`."""

FIRST_NS: Final = -9214560000 * 1_000_000_000
LAST_NS: Final = 9214646400 * 1_000_000_000
"""The starts of 1678 and of 2262: the years that fit into 64 bits of nanoseconds."""
POSSIBLE_YEARS: Final = "the years from 1678 to 2261"

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_NS: Final = 86_400 * 1_000_000_000
_DURATION: Final = "a duration such as 1h30m"
_TIME: Final = "a time such as 2026-01-01T12:00:00Z"
_SINCE: Final = "a duration since the start such as 1h30m"
_DAYS = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]+)?)d(.*)", re.DOTALL)
_MAX_NS: Final = 2**63 - 1
_MAX_DAYS_DIGITS: Final = 9
"""Durations of more days than this many digits exceed 64 bits of nanoseconds."""


def read_time(value: Time, what: str, *, start_ns: int | None, first_ns: int | None = None) -> int:
    """Return a time in nanoseconds since 1970.

    Parameters
    ----------
    what : str
        The argument, for errors.
    start_ns : int or None
        The time to which durations are relative; None: durations are errors.
    first_ns : int, optional
        The earliest valid time.

    Raises
    ------
    ArgumentError
        If the value has another type.
    InputError
        If it is not a time, has no time zone, or is too early or too late.
    """
    found: int | None
    types = f"{_TIME}, or a datetime"
    if start_ns is not None:
        types = f"{_SINCE}, a timedelta, {types}"
    if isinstance(value, str):
        found = _of_text(value, start_ns)
        detail = f"must be {_TIME}" if start_ns is None else f"must be {_SINCE}, or {_TIME}"
    elif isinstance(value, datetime):
        found, detail = _of_datetime(value), "must be a datetime with a time zone"
    elif (of_numpy := numpy_time_ns(value)) is not None:
        found, detail = of_numpy, ""
    else:
        since_ns = length_ns(value)
        if since_ns is None:
            raise _wrong_type(what, value, types)
        found = None if start_ns is None else start_ns + since_ns
        detail = f"must be {_TIME}, or a datetime"
    if found is None:
        raise _error(what, value, detail)
    check_time_ns(found, what, value)
    if first_ns is not None and found < first_ns:
        place = "the start" if first_ns == start_ns else "the current time"
        raise _error(what, value, f"must not be before {place}, {shortest_time_text(first_ns)}")
    return found


def check_time_ns(found_ns: int, what: str, value: Any) -> None:
    """Raise an `InputError` if a time is outside of the years that can be simulated."""
    if not FIRST_NS <= found_ns < LAST_NS:
        raise _error(what, value, f"{POSSIBLE_YEARS} can be simulated")


def read_duration(value: Duration, what: str, *, least_ns: int = 1) -> int:
    """Return a duration in nanoseconds, by default one greater than 0.

    Raises
    ------
    ArgumentError
        If the value has another type.
    InputError
        If it is not a duration, or too short.
    """
    found: int | None
    if isinstance(value, str):
        try:
            found = parse_days(value)
        except ValueError:
            raise _error(what, value, f"must be {_DURATION}") from None
    else:
        found = length_ns(value)
        if found is None:
            raise _wrong_type(what, value, f"{_DURATION}, or a timedelta")
    if found > _MAX_NS:
        raise _error(what, value, "must be a duration of at most 292 years")
    if found < least_ns:
        rule = "greater than 0" if least_ns else "0 or more"
        raise _error(what, value, f"must be {_DURATION}, {rule}")
    return found


def parse_days(text: str) -> int:
    """Read a duration such as `1h30m`, which may start with days: `7d`, `1d12h`; in nanoseconds.

    A day has 24 hours. Go's durations, and so the fields of Kubernetes objects, have no days.

    Raises
    ------
    ValueError
        If the text is not a duration or exceeds 64 bits.

    Examples
    --------
    >>> parse_days("1d12h") // 3_600_000_000_000
    36
    """
    found = _DAYS.fullmatch(text)
    if found is None:
        return parse_duration(text)
    sign, days, rest = found.groups()
    whole, _, fraction = days.partition(".")
    if len(whole) > _MAX_DAYS_DIGITS:
        raise ValueError(f'time: invalid duration "{text}"')
    # Days as hours: Go's parser then checks the sum of all parts.
    hours = int(whole) * 24
    part_ns = int(fraction or "0") * _DAY_NS // 10 ** len(fraction)
    try:
        return parse_duration(f"{sign}{hours}h{part_ns}ns{rest}")
    except ValueError:  # names the text in hours
        raise ValueError(f'time: invalid duration "{text}"') from None


def numpy_time_ns(value: object) -> int | None:
    """Return a `datetime64` of NumPy in nanoseconds since 1970; None for all others and NaT."""
    return _numpy_ns(value, "M")


def length_ns(value: object) -> int | None:
    """Return a `timedelta`, also of NumPy and pandas, in nanoseconds; None for all others."""
    # pandas.NaT is an instance of datetime, but not of timedelta.
    return delta_ns(value) if isinstance(value, timedelta) else _numpy_ns(value, "m")


def delta_ns(value: timedelta) -> int:
    """Return a `timedelta` in nanoseconds; also of pandas, which has nanoseconds."""
    whole = value.days * _DAY_NS + value.seconds * 1_000_000_000 + value.microseconds * 1_000
    return whole + int(getattr(value, "nanoseconds", 0))


def shortest_time_text(now_ns: int) -> str:
    """Return a time as RFC 3339, without trailing zeros.

    Examples
    --------
    >>> shortest_time_text(1_500_000_000)
    '1970-01-01T00:00:01.5Z'
    """
    text = timestamp_text_nano(now_ns).removesuffix("Z")
    return f"{text.rstrip('0').removesuffix('.')}Z"


def _of_text(text: str, start_ns: int | None) -> int | None:
    found = timestamp_ns(text.upper())
    if found is not None or start_ns is None:
        return found
    try:
        return start_ns + parse_days(text)
    except ValueError:
        return None


def _of_datetime(value: datetime) -> int | None:
    # pandas.NaT is an instance of datetime, and not equal to itself.
    if value != value or value.tzinfo is None:  # noqa: PLR0124 - NaT
        return None
    return delta_ns(value - EPOCH)


def _numpy_ns(value: Any, kind: str) -> int | None:
    # By its attributes: the room does without NumPy.
    dtype = getattr(value, "dtype", None)
    if getattr(dtype, "kind", "") != kind or getattr(value, "shape", None) != ():
        return None
    if str(dtype) in ("datetime64", "timedelta64") or value != value:  # noqa: PLR0124 - NaT
        return None
    return int(value.astype(f"{kind}8[ns]").astype("int64"))


def _wrong_type(what: str, value: Any, types: str) -> ArgumentError:
    # NaT of NumPy is a number too, and not equal to itself.
    is_number = isinstance(value, Number) and value == value  # noqa: PLR0124
    if is_number and described_type(value) != "a bool":
        return ArgumentError(f"{what}: {value} has no unit: must be {types}")
    return ArgumentError(f"{what}: must be {types}, not {described_type(value)}")


def _error(what: str, value: Any, detail: str) -> InputError:
    shown = value if isinstance(value, str | int) else str(value)
    if isinstance(value, str) and _is_number(value):
        detail = f"it has no unit: {detail}"
    message = invalid(shown, detail)
    return InputError([FieldError(source=what, path="", message=message, value=value)])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# API timestamps (RFC 3339) as nanoseconds since 1970.

_FRACTION = re.compile(r"\.(\d+)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = 253_402_300_799


@lru_cache(maxsize=8_192)
def timestamp_ns(text: str | None) -> int | None:
    """Return an API timestamp in nanoseconds; None if it is absent or invalid.

    Examples
    --------
    >>> timestamp_ns("1970-01-01T00:00:01.5Z")
    1500000000
    """
    if not text:
        return None
    fraction = _FRACTION.search(text)
    # The fraction is read apart, because datetime holds microseconds only.
    digits = fraction[1][:9].ljust(9, "0") if fraction else "0"
    try:
        moment = datetime.fromisoformat(_FRACTION.sub("", text))
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + int(digits)


def timestamp_text(now_ns: int) -> str:
    """Return nanoseconds since 1970 as an API timestamp, truncated to the second.

    Times after the year 9999, such as the end of a very long grace period, are its last second.

    Examples
    --------
    >>> timestamp_text(1_500_000_000)
    '1970-01-01T00:00:01Z'
    """
    return _text_of_second(now_ns // 1_000_000_000)


@lru_cache(maxsize=4_096)
def _text_of_second(seconds: int) -> str:
    # strftime does not write four digits for years before 1000.
    return f"{(_EPOCH + timedelta(seconds=min(seconds, _LAST_SECOND))).isoformat()[:19]}Z"


def timestamp_text_nano(now_ns: int) -> str:
    """Return nanoseconds since 1970 as RFC 3339 with all nine digits, which sorts as text.

    Examples
    --------
    >>> timestamp_text_nano(1_500_000_000)
    '1970-01-01T00:00:01.500000000Z'
    """
    seconds, rest_ns = divmod(now_ns, 1_000_000_000)
    return f"{_text_of_second(seconds)[:-1]}.{rest_ns:09d}Z"


def timestamp_text_micro(now_ns: int) -> str:
    """Return nanoseconds since 1970 as MicroTime: with six digits of the second.

    Examples
    --------
    >>> timestamp_text_micro(1_500_000_999)
    '1970-01-01T00:00:01.500000Z'
    """
    return f"{timestamp_text_nano(now_ns)[:-4]}Z"
