"""API timestamps (RFC 3339) as nanoseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

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
