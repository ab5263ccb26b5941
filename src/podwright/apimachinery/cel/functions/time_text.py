"""Durations and timestamps as text.

Upstream: Go time/format.go, ParseDuration, Parse; cel-go common/types/duration.go, timestamp.go
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from podwright.apimachinery.cel.values import NANOSECONDS, Duration, Timestamp
from podwright.apimachinery.objects import parse_duration as parse_duration_ns

_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})",
    re.ASCII,
)
_ZONE = re.compile(r"([+-]?)(\d{2}):(\d{2})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TIMESTAMP_MIN_NS: Final = -62135596800 * NANOSECONDS
TIMESTAMP_MAX_NS: Final = 253402300799 * NANOSECONDS + NANOSECONDS - 1


def parse_duration(text: str) -> Duration | None:
    """Return the duration of a text such as `1h30m`; None if it is none."""
    try:
        return Duration(parse_duration_ns(text))
    except ValueError:
        return None


def format_duration(duration: Duration) -> str:
    """Return a duration in seconds: `90s`, `1.5s`."""
    whole, rest = divmod(abs(duration.ns), NANOSECONDS)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if duration.ns < 0 else ''}{whole}{fraction}s"


def parse_timestamp(text: str) -> Timestamp | None:
    """Return the time of a text in RFC 3339; None if it is none."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    zone = match[8]
    try:
        offset = UTC if zone in ("Z", "z") else fixed_zone(zone)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=offset)
    except (ValueError, OverflowError):
        return None
    # Past 9 digits the rest is cut off.
    ns = int((match[7] or "0")[:9].ljust(9, "0"))
    total = (moment - _EPOCH) // timedelta(seconds=1) * NANOSECONDS + ns
    return Timestamp(total) if TIMESTAMP_MIN_NS <= total <= TIMESTAMP_MAX_NS else None


def format_timestamp(timestamp: Timestamp) -> str:
    """Return a time in RFC 3339, in UTC, without superfluous digits."""
    seconds, ns = divmod(timestamp.ns, NANOSECONDS)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{ns:09d}".rstrip("0") if ns else ""
    return f"{moment.strftime('%Y').zfill(4)}{moment.strftime('-%m-%dT%H:%M:%S')}{fraction}Z"


def calendar(timestamp: Timestamp, zone: str) -> datetime | None:
    """Return the calendar time in a zone: `UTC`, or an offset such as `-07:00`.

    None for other zones: their rules are not part of podwright, so that an evaluation depends on
    nothing but its input.
    """
    try:
        tzinfo = UTC if zone in ("", "UTC", "Etc/UTC", "Zulu") else fixed_zone(zone)
        return (_EPOCH + timedelta(seconds=timestamp.ns // NANOSECONDS)).astimezone(tzinfo)
    except (ValueError, OverflowError):
        return None


def fixed_zone(text: str) -> timezone:
    """Return the zone of an offset.

    Raises
    ------
    ValueError
        The text is not an offset.
    """
    match = _ZONE.fullmatch(text)
    if match is None:
        raise ValueError(f"no offset: {text}")
    minutes = int(match[2]) * 60 + int(match[3])
    return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
