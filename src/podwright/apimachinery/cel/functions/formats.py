"""Named formats: `format.dns1123Label().validate(text)`.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/library/format.go;
staging/src/k8s.io/apimachinery/pkg/util/validation (texts); Go time/format.go, ParseDuration,
Parse; cel-go common/types/duration.go, timestamp.go; Go regexp/syntax/parse.go, ErrorCode, whose
syntax is that of RE2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from podwright.apimachinery.cel.functions.addresses import AddressError, parse_url
from podwright.apimachinery.cel.types import library_of
from podwright.apimachinery.cel.values import (
    NANOSECONDS,
    NONE,
    Duration,
    ErrorValue,
    OpaqueValue,
    Timestamp,
    Value,
    present,
)
from podwright.apimachinery.objects import go_quoted, parse_duration as parse_duration_ns

if TYPE_CHECKING:
    import re2


# Durations and timestamps as text.

_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})",
    re.ASCII,
)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
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
    if not TIMESTAMP_MIN_NS <= total <= TIMESTAMP_MAX_NS:
        return None
    return Timestamp(total, (offset.utcoffset(None) or timedelta()) // timedelta(minutes=1))


def parse_go_timestamp(text: str) -> Timestamp | None:
    """Return the time of a text as Go reads it, with capital letters; None if it is none."""
    return parse_timestamp(text) if text == text.upper() else None


def format_timestamp(timestamp: Timestamp) -> str:
    """Return a time in RFC 3339, in its zone, without superfluous digits."""
    seconds, ns = divmod(timestamp.ns, NANOSECONDS)
    offset = timestamp.offset_minutes
    moment = _EPOCH + timedelta(seconds=seconds, minutes=offset)
    fraction = f".{ns:09d}".rstrip("0") if ns else ""
    hours, minutes = divmod(abs(offset), 60)
    zone = f"{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}" if offset else "Z"
    return f"{moment.strftime('%Y').zfill(4)}{moment.strftime('-%m-%dT%H:%M:%S')}{fraction}{zone}"


def calendar(timestamp: Timestamp, zone: str) -> datetime:
    """Return the calendar time in a zone: `UTC`, or an offset such as `-07:00`.

    Raises
    ------
    ValueError
        The zone is another one: their rules are not part of podwright, so that an evaluation
        depends on nothing but its input.

    Notes
    -----
    Upstream: cel-go common/types/timestamp.go, timeZone
    """
    minutes = 0 if zone in ("", "UTC", "Etc/UTC", "Zulu") else _offset_minutes(zone)
    try:
        return _EPOCH + timedelta(microseconds=timestamp.ns // 1000, minutes=minutes)
    except OverflowError:
        raise ValueError(f"unknown time zone {zone}") from None


def _offset_minutes(zone: str) -> int:
    hours, colon, minutes = zone.partition(":")
    if not colon:
        raise ValueError(f"unknown time zone {zone}")
    for part in (hours, minutes):
        if not _INTEGER.fullmatch(part):
            raise ValueError(f"strconv.Atoi: parsing {go_quoted(part)}: invalid syntax")
    return int(hours) * 60 + (-int(minutes) if zone[0] == "-" else int(minutes))


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


MAX_PATTERN_SIZE: Final = 128
"""The size of a pattern that estimates assume."""

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_UUID = re.compile(
    r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII
)
_BASE64 = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII
)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_NAME_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)


class FormatValue(OpaqueValue):
    """A format.

    Attributes
    ----------
    pattern_size : int
        The size of its pattern, as costs count it.
    problems : callable
        Returns why a text does not have the format; nothing if it does.
    """

    type_name: ClassVar[str] = "kubernetes.NamedFormat"
    __slots__ = ("pattern_size", "problems")

    def __init__(self, pattern_size: int, problems: Callable[[str], list[str]]) -> None:
        self.pattern_size = pattern_size
        self.problems = problems


def _matching(
    pattern: str,
    limit: int,
    text: str,
    examples: tuple[str, ...],
    *,
    is_prefix: bool = False,
    unit: str = "characters",
) -> Callable[[str], list[str]]:
    compiled = re.compile(pattern, re.ASCII)
    shown = ",  or ".join(f"'{example}'" for example in examples)
    message = f"{text} (e.g. {shown}, regex used for validation is '{pattern}')"

    def problems(value: str) -> list[str]:
        # A prefix may end in a dash, because something follows it.
        if is_prefix and len(value) > 1 and value.endswith("-"):
            value = f"{value[:-2]}a"
        found = [f"must be no more than {limit} {unit}"] if len(value) > limit else []
        if compiled.fullmatch(value):
            return found
        is_dotted = pattern == _LABEL and re.fullmatch(_SUBDOMAIN, value)
        return [*found, "must not contain dots" if is_dotted else message]

    return problems


def _qualified_name(value: str) -> list[str]:
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        example = "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
        return [
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must "
            f"start and end with an alphanumeric character {example} '{_NAME}') with an optional "
            "DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    found: list[str] = []
    if slash:
        check = _matching(*_DNS_SUBDOMAIN, unit="bytes")
        found += (
            [f"prefix part {problem}" for problem in check(prefix)]
            if prefix
            else ["prefix part must be non-empty"]
        )
    if not name:
        found.append("name part must be non-empty")
    check = _matching(_NAME, 63, _NAME_TEXT, ("MyName", "my.name", "123-abc"), unit="bytes")
    return found + [f"name part {problem}" for problem in check(name)]


def _uri(value: str) -> list[str]:
    try:
        parse_url(value)
    except AddressError as error:
        return [str(error)]
    return []


def _date(value: str) -> list[str]:
    try:
        date.fromisoformat(value)
    except ValueError:
        return ["invalid date"]
    return [] if len(value) == 10 else ["invalid date"]


_DNS_LABEL = (_LABEL, 63, _LABEL_TEXT, ("my-name", "123-abc"))
_DNS_SUBDOMAIN = (_SUBDOMAIN, 253, _SUBDOMAIN_TEXT, ("example.com",))
_DNS_1035_LABEL = (_LABEL_1035, 63, _LABEL_1035_TEXT, ("my-name", "abc-123"))
_FORMATS: Final[dict[str, FormatValue]] = {
    "dns1123Label": FormatValue(30, _matching(*_DNS_LABEL)),
    "dns1123Subdomain": FormatValue(60, _matching(*_DNS_SUBDOMAIN)),
    "dns1035Label": FormatValue(30, _matching(*_DNS_1035_LABEL)),
    "qualifiedName": FormatValue(60, _qualified_name),
    "dns1123LabelPrefix": FormatValue(30, _matching(*_DNS_LABEL, is_prefix=True)),
    "dns1123SubdomainPrefix": FormatValue(60, _matching(*_DNS_SUBDOMAIN, is_prefix=True)),
    "dns1035LabelPrefix": FormatValue(30, _matching(*_DNS_1035_LABEL, is_prefix=True)),
    "labelValue": FormatValue(
        40,
        _matching(
            _LABEL_VALUE, 63, _LABEL_VALUE_TEXT, ("MyValue", "my_value", "12345"), unit="bytes"
        ),
    ),
    "uri": FormatValue(1103, _uri),
    "uuid": FormatValue(
        70, lambda value: [] if _UUID.fullmatch(value) else ["does not match the UUID format"]
    ),
    "byte": FormatValue(84, lambda value: [] if _BASE64.fullmatch(value) else ["invalid base64"]),
    "date": FormatValue(71, _date),
    "datetime": FormatValue(
        71, lambda value: [] if parse_timestamp(value) else ["invalid datetime"]
    ),
}


def _validate(format_: Value, text: Value) -> Value:
    problems = format_.problems(text)
    return present(problems) if problems else NONE


def _named(name: Value) -> Value:
    found = _FORMATS.get(name)
    return NONE if found is None else present(found)


def _constant(name: str) -> Callable[[], Value]:
    return lambda: _FORMATS[name]


FORMAT_LIBRARY: Final = library_of(
    {
        "validate": _validate,
        "format.named": _named,
        **{f"format.{name}": _constant(name) for name in _FORMATS},
    },
    "\n".join(
        [
            "format-validate: kubernetes.NamedFormat.validate(string) -> optional(list(string))",
            "format-named: ::format.named(string) -> optional(kubernetes.NamedFormat)",
            *(f"format.{name}: ::format.{name}() -> kubernetes.NamedFormat" for name in _FORMATS),
        ]
    ),
)
"""Kubernetes' named formats."""


# Regular expressions in Go's syntax, matched in linear time by RE2.

# RE2's texts, and Go's for the same problem.
_GO_TEXTS: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "invalid character class range": "invalid character class range",
}


class PatternError(ValueError):
    """The text is not a regular expression."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re2._Regexp[str]:
    """Compile a pattern.

    Raises
    ------
    PatternError
        With Go's text: `error parsing regexp: missing closing ]: ...`.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        text = error.args[0]
        text = text.decode() if isinstance(text, bytes) else str(text)
        reason, _, part = text.partition(": ")
        quoted = f": `{part}`" if part else ""
        raise PatternError(
            f"error parsing regexp: {_GO_TEXTS.get(reason, reason)}{quoted}"
        ) from None


def search(text: Value, pattern: Value) -> Value:
    """Return whether a pattern matches somewhere in a text."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        return ErrorValue("no such overload")
    try:
        return compile_pattern(pattern).search(text) is not None
    except PatternError as error:
        return ErrorValue(str(error))
