"""Times and durations of arguments: their forms, and what is out of range."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects.errors import ArgumentError, InputError
from podwright.apimachinery.objects.texts.times import (
    FIRST_NS,
    LAST_NS,
    check_time_ns,
    length_ns,
    numpy_time_ns,
    parse_days,
    read_duration,
    read_time,
    shortest_time_text,
    timestamp_text,
)

_SECOND = 10**9
_DAY = 86_400 * _SECOND


@pytest.mark.parametrize(
    ("value", "start_ns", "found"),
    [
        ("1970-01-01T00:00:01Z", None, _SECOND),
        ("1970-01-01t00:00:01z", None, _SECOND),
        ("1d1s", 5, _DAY + _SECOND + 5),
        (datetime(1970, 1, 2, tzinfo=UTC), None, _DAY),
        (np.datetime64("1970-01-01T00:00:01.5"), None, 1_500_000_000),
        (timedelta(days=1, seconds=2, microseconds=3), 7, _DAY + 2 * _SECOND + 3_007),
        (np.timedelta64(3, "s"), 7, 3 * _SECOND + 7),
    ],
)
def test_a_time_has_many_forms(value: Any, start_ns: int | None, found: int) -> None:
    assert read_time(value, "at", start_ns=start_ns) == found


@pytest.mark.parametrize(
    ("value", "start_ns", "text"),
    [
        ("soon", None, "must be a time such as 2026-01-01T12:00:00Z"),
        ("soon", 0, "must be a duration since the start such as 1h30m, or a time such as"),
        ("1h", None, "a time such as"),
        ("5", 0, "it has no unit: must be a duration since the start"),
        (datetime(1970, 1, 2), None, "must be a datetime with a time zone"),  # noqa: DTZ001
        (timedelta(1), None, "must be a time such as 2026-01-01T12:00:00Z, or a datetime"),
    ],
)
def test_what_is_not_a_time_is_an_error(value: Any, start_ns: int | None, text: str) -> None:
    with pytest.raises(InputError) as raised:
        read_time(value, "at", start_ns=start_ns)
    assert str(raised.value).startswith("at: Invalid value: ")
    assert text in str(raised.value)


@pytest.mark.parametrize("value", [5, None, [], np.datetime64("NaT"), np.array(["2026"]),
                                   np.array(["2026"], "datetime64[s]")])  # fmt: skip
def test_another_type_is_an_error(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^at: .*must be ") as raised:
        read_time(value, "at", start_ns=None)
    assert "timedelta" not in str(raised.value)
    with pytest.raises(ArgumentError, match=r"^at: .*must be .* a timedelta, "):
        read_time(value, "at", start_ns=0)
    with pytest.raises(ArgumentError, match=r"^for: .*must be "):
        read_duration(value, "for")


def test_a_number_has_no_unit() -> None:
    with pytest.raises(
        ArgumentError, match=r"^for: 5 has no unit: must be a duration such as 1h30m, or"
    ):
        read_duration(5, "for")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"^for: must be .*, not a bool$"):
        read_duration(True, "for")  # type: ignore[arg-type]


def test_times_have_limits() -> None:
    check_time_ns(FIRST_NS, "at", "x")
    check_time_ns(LAST_NS - 1, "at", "x")
    years = timestamp_text(FIRST_NS), timestamp_text(LAST_NS)
    assert years == ("1678-01-01T00:00:00Z", "2262-01-01T00:00:00Z")
    for out in (FIRST_NS - 1, LAST_NS):
        with pytest.raises(InputError, match="can be simulated"):
            check_time_ns(out, "at", "x")
    assert read_time("5s", "at", start_ns=0, first_ns=5 * _SECOND) == 5 * _SECOND
    with pytest.raises(InputError, match="must not be before the start, 1970-01-01T00:00:09Z"):
        read_time("-1s", "at", start_ns=9 * _SECOND, first_ns=9 * _SECOND)
    with pytest.raises(InputError, match="must not be before the current time, 1970-01-01T00:00"):
        read_time("1s", "at", start_ns=0, first_ns=2 * _SECOND)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("1h30m", 5_400 * _SECOND),
        ("1.5d", 36 * 3_600 * _SECOND),
        ("-1d12h", -36 * 3_600 * _SECOND),
        ("+2d", 2 * _DAY),
        ("0.25d1ns", 6 * 3_600 * _SECOND + 1),
    ],
)
def test_durations_may_start_with_days(value: str, found: int) -> None:
    assert parse_days(value) == found


@pytest.mark.parametrize(
    "text",
    [
        "1d-1h",
        "1d+1h",
        "1234567890d",
        "106752d",
        "d",
        "1dd",
        "1",
        "1d1",
        "1d1h1d",
        5_000 * "9" + "d",
    ],
)
def test_what_is_not_a_duration_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=rf'^time: .*"{re.escape(text)}"$'):
        parse_days(text)
    with pytest.raises(InputError, match="must be a duration such as 1h30m"):
        read_duration(text, "for")


def test_durations_have_a_least_and_a_most() -> None:
    assert read_duration("1ns", "for") == 1
    assert read_duration("9223372036854775807ns", "for") == 2**63 - 1
    assert read_duration(timedelta(0), "for", least_ns=0) == 0
    assert read_duration("-1s", "for", least_ns=-(10**9)) == -(10**9)
    with pytest.raises(InputError, match=r"must be .*, greater than 0$"):
        read_duration("0s", "for")
    with pytest.raises(InputError, match=r"must be .*, 0 or more$"):
        read_duration("-1ns", "for", least_ns=0)
    most = timedelta(microseconds=(2**63 - 1) // 1_000)
    assert read_duration(most, "for") == (2**63 - 1) // 1_000 * 1_000
    with pytest.raises(InputError, match=r"must be a duration of at most 292 years$"):
        read_duration(most + timedelta(microseconds=1), "for")


def test_only_numpys_own_scalars_are_read() -> None:
    assert numpy_time_ns(np.datetime64("1970-01-02")) == _DAY
    assert numpy_time_ns(np.timedelta64(1, "s")) is None
    assert numpy_time_ns(np.datetime64("NaT")) is None
    assert numpy_time_ns("1970-01-02") is None
    assert length_ns(np.timedelta64(1, "ms")) == 1_000_000
    assert length_ns(np.datetime64("1970-01-02")) is None
    assert length_ns("1s") is None


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (10 * _SECOND, "1970-01-01T00:00:10Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
    ],
)
def test_times_are_written_without_trailing_zeros(ns: int, text: str) -> None:
    assert shortest_time_text(ns) == text
