"""Cron schedules: the parser, and the next scheduled time.

A schedule has five fields (minute, hour, day of month, month, day of week) in the syntax of
upstream's parser: `*` and `?`, lists, ranges, steps, English names of months and days, and the
descriptors `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly` and `@every <duration>`. If both
day fields are restricted, a time matches when either of them does.

Fields are compared with the local time of a zone, for each minute of real time: a local time that
is skipped at the start of daylight saving time never matches, and one that is repeated at its end
matches twice. Time zones come from the tz database of the machine (`zoneinfo`); two machines with
the same release of it agree, and UTC, the default, needs none.

Upstream: github.com/robfig/cron/v3 parser.go and spec.go
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from podwright.apimachinery.objects.texts.integers import integer_error, parse_int64
from podwright.apimachinery.objects.texts.times import SECOND_NS, parse_duration

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS_MAX: Final = 5
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS), (0, 6, _DAYS))
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class CronSchedule(msgspec.Struct, frozen=True):
    """A parsed schedule.

    Attributes
    ----------
    minutes, hours, days, months, weekdays : frozenset of int
        The matching values of local time; Sunday is 0.
    is_any_day, is_any_weekday : bool
        Whether the field was `*`.
    every_seconds : int
        The interval of `@every`; 0 for other schedules.
    """

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    is_any_day: bool = True
    is_any_weekday: bool = True
    every_seconds: int = 0

    def next_ns(self, after_ns: int, zone: tzinfo = UTC) -> int | None:
        """Return the first scheduled time after `after_ns`, None without one in five years."""
        if self.every_seconds:
            # Upstream drops the fraction of a second (constantdelay.go, Next).
            return (after_ns // SECOND_NS + self.every_seconds) * SECOND_NS
        moment = _EPOCH + timedelta(minutes=after_ns // (60 * SECOND_NS) + 1)
        end_year = moment.year + _YEARS_MAX
        while moment.year <= end_year:
            wall = moment.astimezone(zone)
            if wall.month not in self.months or not self._is_day(wall):
                moment = _midnight_after(wall)
            elif wall.hour not in self.hours:
                moment += timedelta(minutes=60 - wall.minute)
            elif wall.minute not in self.minutes:
                moment += timedelta(minutes=1)
            else:
                return int((moment - _EPOCH) // timedelta(seconds=1)) * SECOND_NS
        return None

    def _is_day(self, wall: datetime) -> bool:
        day = wall.day in self.days
        # Sunday is 7 in ISO 8601 and 0 in cron.
        weekday = wall.isoweekday() % 7 in self.weekdays
        if self.is_any_day or self.is_any_weekday:
            return day and weekday
        return day or weekday


def _midnight_after(wall: datetime) -> datetime:
    """Return the first instant of the next local day."""
    day = wall.date() + timedelta(days=1)
    return datetime(day.year, day.month, day.day, tzinfo=wall.tzinfo).astimezone(UTC)


@lru_cache(maxsize=1_024)
def parse_schedule(text: str) -> CronSchedule:
    """Parse a schedule.

    Raises
    ------
    ValueError
        The text is not a schedule; the message is upstream's.

    Examples
    --------
    >>> parse_schedule("*/15 2 * * *").next_ns(0)
    7200000000000
    """
    if not text:
        raise ValueError("empty spec string")
    if text.startswith("@every "):
        try:
            seconds = parse_duration(text.removeprefix("@every ")) // SECOND_NS
        except ValueError as error:
            raise ValueError(f"failed to parse duration {text}: {error}") from None
        return CronSchedule(every_seconds=max(seconds, 1))
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise ValueError(f"unrecognized descriptor: {text}")
    words = _DESCRIPTORS.get(text, text).split()
    if len(words) != len(_FIELDS):
        raise ValueError(f"expected exactly 5 fields, found {len(words)}: [{' '.join(words)}]")
    minutes, hours, days, months, weekdays = (
        _field(word, low, high, names)
        for word, (low, high, names) in zip(words, _FIELDS, strict=True)
    )
    return CronSchedule(
        minutes, hours, days, months, weekdays, _is_star(words[2]), _is_star(words[4])
    )


def time_zone(name: str | None) -> tzinfo:
    """Return a time zone by its name; UTC without a name.

    Raises
    ------
    ValueError
        The zone is unknown.
    """
    if not name or name in {"UTC", "Etc/UTC"}:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"unknown time zone {name}") from None


def _is_star(word: str) -> bool:
    # Upstream: a list that contains a star counts as a star, also with a step of 1.
    return any(
        entry.partition("/")[0] in {"*", "?"} and entry.partition("/")[2] in {"", "1"}
        for entry in word.split(",")
    )


def _field(word: str, low: int, high: int, names: tuple[str, ...]) -> frozenset[int]:
    values: set[int] = set()
    for entry in filter(None, word.split(",")):
        values.update(_entry(entry, low, high, names))
    return frozenset(values)


def _entry(entry: str, low: int, high: int, names: tuple[str, ...]) -> range:
    """Return the values of one entry of a list, such as `*/5` and `mon-fri`.

    Upstream: parser.go, getRange
    """
    span, *steps = entry.split("/")
    first, *last = span.split("-")
    if first in {"*", "?"}:
        start, end = low, high
    else:
        start = end = _number(first, low, names)
        if len(last) > 1:
            raise ValueError(f"too many hyphens: {entry}")
        if last:
            end = _number(last[0], low, names)
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {entry}")
    stride = _number(steps[0], 0, ()) if steps else 1
    if steps and not last:
        end = high
    if start < low:
        raise ValueError(f"beginning of range ({start}) below minimum ({low}): {entry}")
    if end > high:
        raise ValueError(f"end of range ({end}) above maximum ({high}): {entry}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {entry}")
    if stride == 0:
        raise ValueError(f"step of range should be a positive number: {entry}")
    return range(start, end + 1, stride)


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    if text.lower() in names:
        return names.index(text.lower()) + low
    number = parse_int64(text)
    if number is None:
        raise ValueError(f"failed to parse int from {text}: {integer_error('Atoi', text)}")
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
