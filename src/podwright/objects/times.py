"""Times and durations as callers write them, in nanoseconds.

Every public function with a time or a duration reads it here, so all of them accept the same forms.
"""

from __future__ import annotations

import operator
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from podwright.objects.duration import parse_duration
from podwright.objects.errors import (
    ArgumentError,
    FieldError,
    InputError,
    described_type,
    invalid,
)
from podwright.objects.timestamps import timestamp_ns, timestamp_text_nano

Duration: TypeAlias = str | timedelta | int
"""A length of time: `1h30m`, a `timedelta`, or nanoseconds."""

Time: TypeAlias = str | datetime | timedelta | int
"""A time: `2026-01-01T12:00:00Z`, a `datetime` with a time zone, or nanoseconds since 1970; or
relative to the start: `1h30m`, or a `timedelta`."""

FIRST_NS: Final = -9214560000 * 1_000_000_000
LAST_NS: Final = 9214646400 * 1_000_000_000
"""The beginnings of 1678 and of 2262: the years that fit into 64 bits of nanoseconds."""
POSSIBLE_YEARS: Final = "the years from 1678 to 2261"

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_NS: Final = 86_400 * 1_000_000_000
_DURATION: Final = "a duration such as 1h30m"
_TIME: Final = "a time such as 2026-01-01T12:00:00Z"
_DAYS: Final = re.compile(r"[0-9]{1,6}d")
_SINCE: Final = "a duration since the start such as 1h30m"


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
    if isinstance(value, str):
        found = _of_text(value, start_ns)
        detail = f"{_TIME} is expected" if start_ns is None else f"{_SINCE} is expected, or {_TIME}"
        if start_ns is not None and _DAYS.fullmatch(value):
            detail += f"; write {value} as {int(value[:-1]) * 24}h"
    elif isinstance(value, datetime):
        found, detail = _of_datetime(value), "a datetime with a time zone is expected"
    elif isinstance(value, timedelta):
        found = None if start_ns is None else start_ns + delta_ns(value)
        detail = f"{_TIME} is expected, or a datetime"
    else:
        types = f"{_TIME}, a datetime or nanoseconds since 1970"
        if start_ns is not None:
            types = f"{_SINCE}, a timedelta, {types}"
        found, detail = _of_integer(value, what, types), ""
    if found is None:
        raise _error(what, value, detail)
    if not FIRST_NS <= found < LAST_NS:
        raise _error(what, value, f"{POSSIBLE_YEARS} can be simulated")
    if first_ns is not None and found < first_ns:
        place = "the start" if first_ns == start_ns else "the present time"
        raise _error(what, value, f"must not be before {place}, {shortest_time_text(first_ns)}")
    return found


def read_duration(value: Duration, what: str, *, least_ns: int = 1) -> int:
    """Return a duration in nanoseconds, by default one greater than 0.

    Raises
    ------
    ArgumentError
        If the value has another type.
    InputError
        If it is not a duration, or too short.
    """
    if isinstance(value, str):
        try:
            found = parse_duration(value)
        except ValueError:
            raise _error(what, value, f"{_DURATION} is expected") from None
    elif isinstance(value, timedelta):
        found = delta_ns(value)
    else:
        found = _of_integer(value, what, f"{_DURATION}, a timedelta or nanoseconds")
    if found < least_ns:
        rule = "greater than 0" if least_ns else "0 or more"
        raise _error(what, value, f"{_DURATION} is expected, {rule}")
    return found


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
        return start_ns + parse_duration(text)
    except ValueError:
        return None


def _of_datetime(value: datetime) -> int | None:
    # pandas.NaT is an instance of datetime, and not equal to itself.
    if value != value or value.tzinfo is None:  # noqa: PLR0124 - NaT
        return None
    return delta_ns(value - EPOCH)


def _of_integer(value: Any, what: str, expected: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{what}: {expected} is expected, not {described_type(value)}")
    return operator.index(value)


def _error(what: str, value: Any, detail: str) -> InputError:
    shown = value if isinstance(value, str | int) else str(value)
    message = invalid(shown, detail)
    return InputError([FieldError(source=what, path="", message=message, value=value)])
