"""Durations go in and out as Go writes them."""

import pytest

from podwright.apimachinery.objects.texts.times import format_duration, parse_duration

SECOND_NS = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        pytest.param("0", 0, id="a bare zero needs no unit"),
        pytest.param("15s", 15 * SECOND_NS, id="seconds"),
        pytest.param("1h30m", 5400 * SECOND_NS, id="parts add up"),
        pytest.param("1.5s", 1_500_000_000, id="a fraction"),
        pytest.param(".5s", 500_000_000, id="a fraction without a whole part"),
        pytest.param("100ms", 100_000_000, id="milliseconds, not minutes"),
        pytest.param("5us", 5_000, id="microseconds in ASCII"),
        pytest.param("5µs", 5_000, id="microseconds"),
        pytest.param("-10s", -10 * SECOND_NS, id="negative"),
        pytest.param("-9223372036854775808ns", -(2**63), id="the smallest number of 64 bits"),
        pytest.param("0" * 16_000 + "1s", SECOND_NS, id="leading zeros"),
        pytest.param(f"1.{'0' * 16_000}s", SECOND_NS, id="a long fraction"),
        pytest.param("1ns" * 100_000, 100_000, id="many parts"),
    ],
)
def test_a_go_duration_is_read(text, duration_ns):
    assert parse_duration(text) == duration_ns


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", 'invalid duration ""'),
        ("15", 'missing unit in duration "15"'),
        ("1h5", 'missing unit in duration "1h5"'),
        ("s", 'invalid duration "s"'),
        ("15 s", 'unknown unit " s" in duration "15 s"'),
        ("1d", 'unknown unit "d" in duration "1d"'),
        ("1h-5m", 'unknown unit "h-" in duration "1h-5m"'),
        ("300000000h", 'invalid duration "300000000h"'),
        (".", 'invalid duration "."'),
        ("+", 'invalid duration "\\+"'),
        ("1٣s", 'unknown unit "٣s" in duration "1٣s"'),
        ("1" * 16_000, f'invalid duration "{"1" * 16_000}"'),
        ("9223372036854775809d", 'invalid duration "9223372036854775809d"'),
        ("9223372036854775808d", 'unknown unit "d" in duration "9223372036854775808d"'),
        ("9223372036854775808ns", 'invalid duration "9223372036854775808ns"'),
        ("-9223372036854775808ns1ns", 'invalid duration "-9223372036854775808ns1ns"'),
    ],
)
def test_what_go_refuses_is_refused(text, mistake):
    with pytest.raises(ValueError, match=f"time: {mistake}"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        pytest.param(0, "0s", id="zero"),
        pytest.param(15 * SECOND_NS, "15s", id="seconds"),
        pytest.param(600 * SECOND_NS, "10m0s", id="minutes show their seconds"),
        pytest.param(3600 * SECOND_NS, "1h0m0s", id="hours show minutes and seconds"),
        pytest.param(1_500_000_000, "1.5s", id="a fraction"),
        pytest.param(61_250_000_000, "1m1.25s", id="minutes and a fraction"),
        pytest.param(1_500_000, "1.5ms", id="below a second the unit shrinks"),
        pytest.param(2_000, "2µs", id="microseconds"),
        pytest.param(7, "7ns", id="nanoseconds"),
        pytest.param(-10 * SECOND_NS, "-10s", id="negative"),
    ],
)
def test_a_duration_prints_as_go_prints_it(duration_ns, text):
    assert format_duration(duration_ns) == text
    assert parse_duration(text) == duration_ns
