"""Cron schedules: what is one, and when it is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects.texts.cron_schedule import parse_schedule, time_zone


def _ns(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 10**9


def _next(schedule: str, after: str, zone: str = "UTC") -> str | None:
    found = parse_schedule(schedule).next_ns(_ns(after), time_zone(zone))
    return (
        None if found is None else f"{datetime.fromtimestamp(found // 10**9, UTC):%Y-%m-%dT%H:%M}"
    )


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("* * * * *", "2026-01-01T00:00", "2026-01-01T00:01"),
        ("? ? ? ? ?", "2026-01-01T00:00:59", "2026-01-01T00:01"),
        ("*/15 * * * *", "2026-01-01T00:45", "2026-01-01T01:00"),
        ("5/20 * * * *", "2026-01-01T00:06", "2026-01-01T00:25"),
        ("10-12 * * * *", "2026-01-01T00:12", "2026-01-01T01:10"),
        ("10-14/3 * * * *", "2026-01-01T00:10", "2026-01-01T00:13"),
        ("10-14/3 * * * *", "2026-01-01T00:13", "2026-01-01T01:10"),
        ("7,3 * * * *", "2026-01-01T00:00", "2026-01-01T00:03"),
        (f"{7:020} * * * *", "2026-01-01T00:00", "2026-01-01T00:07"),
        ("0 0 31 * *", "2026-01-31T00:00", "2026-03-31T00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00"),
        ("59 23 31 12 *", "2026-12-31T23:59", "2027-12-31T23:59"),
        ("0 0 * jan-FEB sun", "2026-02-22T00:00", "2027-01-03T00:00"),
        ("0 12 * * 0", "2026-01-01T00:00", "2026-01-04T12:00"),
        ("0 12 * * 6", "2026-01-01T00:00", "2026-01-03T12:00"),
        ("0 0 13 * fri", "2026-01-01T00:00", "2026-01-02T00:00"),
        ("0 0 */1 * fri", "2026-01-01T00:00", "2026-01-02T00:00"),
        ("0 0 */2 * fri", "2026-01-02T00:00", "2026-01-03T00:00"),
        # Days of the month that are all of them do not count beside weekdays, and the reverse.
        ("0 0 * * fri", "2026-01-02T00:00", "2026-01-09T00:00"),
        ("0 0 ? * fri", "2026-01-02T00:00", "2026-01-09T00:00"),
        ("0 0 */1 * fri", "2026-01-02T00:00", "2026-01-09T00:00"),
        ("0 0 ?/1 * fri", "2026-01-02T00:00", "2026-01-09T00:00"),
        ("0 0 4,* * fri", "2026-01-02T00:00", "2026-01-09T00:00"),
        ("0 0 1-31 * fri", "2026-01-02T00:00", "2026-01-03T00:00"),
        ("0 0 13 * *", "2026-01-01T00:00", "2026-01-13T00:00"),
        ("0 0 13 * */1", "2026-01-01T00:00", "2026-01-13T00:00"),
        ("0 0 13 * 5,*", "2026-01-01T00:00", "2026-01-13T00:00"),
        ("0 0 13 * */2", "2026-01-01T00:00", "2026-01-03T00:00"),
        ("0 0 13 * 0-6", "2026-01-01T00:00", "2026-01-02T00:00"),
        ("@hourly", "2026-01-01T00:00", "2026-01-01T01:00"),
        ("@daily", "2026-01-01T00:00", "2026-01-02T00:00"),
        ("@midnight", "2026-01-01T00:00", "2026-01-02T00:00"),
        ("@weekly", "2026-01-01T00:00", "2026-01-04T00:00"),
        ("@monthly", "2026-01-01T00:00", "2026-02-01T00:00"),
        ("@yearly", "2026-01-01T00:00", "2027-01-01T00:00"),
        ("@annually", "2026-01-01T00:00", "2027-01-01T00:00"),
        ("@every 1h30m", "2026-01-01T00:00", "2026-01-01T01:30"),
        (" 0 0 * * * ", "2026-01-01T00:00", "2026-01-02T00:00"),
        ("0 0 30 2 *", "2026-01-01T00:00", None),
    ],
)
def test_a_schedule_is_due_next(schedule: str, after: str, due: str | None) -> None:
    assert _next(schedule, after) == due


def test_a_time_within_five_years_is_found() -> None:
    assert _next("0 0 29 2 *", "2096-03-01T00:00") is None, "2100 has no such day"
    assert _next("0 0 29 2 *", "2099-03-01T00:00") == "2104-02-29T00:00"


def test_fields_have_any_space_between_and_around_them() -> None:
    assert parse_schedule(" 5\t* *  * *\n") == parse_schedule("5 * * * *")


def test_an_interval_starts_at_a_whole_second_and_lasts_one_at_least() -> None:
    assert parse_schedule("@every 2s").next_ns(3_999_999_999) == 5_000_000_000
    assert parse_schedule("@every 1ms").next_ns(0) == 1_000_000_000
    assert parse_schedule("@every -5m").next_ns(0) == 1_000_000_000
    assert parse_schedule("@every 2900ms").next_ns(0) == 2_000_000_000


def test_local_times_that_are_skipped_do_not_match_and_repeated_ones_match_twice() -> None:
    berlin = "Europe/Berlin"
    assert _next("30 2 * * *", "2026-03-28T02:00", berlin) == "2026-03-30T00:30"
    assert _next("30 2 * * *", "2026-10-24T12:00", berlin) == "2026-10-25T00:30"
    assert _next("30 2 * * *", "2026-10-25T00:30", berlin) == "2026-10-25T01:30"
    assert _next("0 0 1 * *", "2026-01-15T00:00", berlin) == "2026-01-31T23:00"
    assert _next("0 * * * *", "2026-01-01T00:10", "Asia/Kolkata") == "2026-01-01T00:30"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "empty spec string"),
        (" ", "expected exactly 5 fields, found 0: []"),
        (" @daily", "expected exactly 5 fields, found 1: [@daily]"),
        ("@daily ", "unrecognized descriptor: @daily "),
        ("@Daily", "unrecognized descriptor: @Daily"),
        ("@every", "unrecognized descriptor: @every"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("@never", "unrecognized descriptor: @never"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * 32 * *", "end of range (32) above maximum (31): 32"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/2/3 * * * *", "too many slashes: */2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("*/-5 * * * *", "negative number (-5) not allowed: -5"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        (
            "* * * fri *",
            'failed to parse int from fri: strconv.Atoi: parsing "fri": invalid syntax',
        ),
        (f"{10**18} * * * *", f"end of range ({10**18}) above maximum (59): {10**18}"),
        (
            f"*/+{10**20} * * * *",
            f'failed to parse int from +{10**20}: strconv.Atoi: parsing "+{10**20}":'
            " value out of range",
        ),
        (
            "\u00b2 * * * *",
            'failed to parse int from \u00b2: strconv.Atoi: parsing "\u00b2": invalid syntax',
        ),
        (
            f"{10**20} * * * *",
            f'failed to parse int from {10**20}: strconv.Atoi: parsing "{10**20}":'
            " value out of range",
        ),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        (
            "@every  5m",
            'failed to parse duration @every  5m: time: invalid duration " 5m"',
        ),
        (
            "@every 5m ",
            'failed to parse duration @every 5m : time: unknown unit "m " in duration "5m "',
        ),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
    ],
)
def test_what_is_not_a_schedule_has_upstreams_error(text: str, error: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        parse_schedule(text)
    assert str(raised.value) == error


def test_an_unknown_zone_is_an_error() -> None:
    assert time_zone(None) is time_zone("") is time_zone("Etc/UTC") is UTC
    for name in ("Nowhere/City", "../etc/passwd"):
        with pytest.raises(ValueError, match=f"^unknown time zone {name}$"):
            time_zone(name)


_MINUTES = st.sampled_from(("*", "0", "*/7", "5,50", "58-59"))
_HOURS = st.sampled_from(("*", "0", "*/5", "23", "2-3"))
_DAYS = st.sampled_from(("*", "1", "*/2", "28-31"))
_MONTHS = st.sampled_from(("*", "2", "1,3"))
_WEEKDAYS = st.sampled_from(("*", "0", "1-5", "*/3"))


@given(_MINUTES, _HOURS, _DAYS, _MONTHS, _WEEKDAYS, st.integers(0, 60 * 24 * 60))
def test_it_is_the_first_minute_that_matches(
    minute: str, hour: str, day: str, month: str, weekday: str, after: int
) -> None:
    schedule = parse_schedule(f"{minute} {hour} {day} {month} {weekday}")
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=after)
    found = schedule.next_ns(int(start.timestamp()) * 10**9)
    assert found is not None
    due = datetime.fromtimestamp(found // 10**9, UTC)

    def is_due(moment: datetime) -> bool:
        days = moment.day in schedule.days, moment.isoweekday() % 7 in schedule.weekdays
        return (
            moment.minute in schedule.minutes
            and moment.hour in schedule.hours
            and moment.month in schedule.months
            # A star with a step is a restriction.
            and (all(days) if "*" in (day, weekday) else any(days))
        )

    assert is_due(due)
    minutes = (due - start) // timedelta(minutes=1)
    for minute_after in {*range(1, min(minutes, 1_500)), *range(max(1, minutes - 1_500), minutes)}:
        assert not is_due(start + timedelta(minutes=minute_after))
