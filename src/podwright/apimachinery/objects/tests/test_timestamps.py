import pytest

from podwright.apimachinery.objects.texts.times import (
    timestamp_ns,
    timestamp_text,
    timestamp_text_nano,
)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        pytest.param("1970-01-01T00:00:00Z", 0, id="the beginning"),
        pytest.param("2026-01-01T00:03:25Z", 1_767_225_805_000_000_000, id="seconds"),
        pytest.param("1970-01-01T01:00:01+01:00", 1_000_000_000, id="another zone"),
        pytest.param("1970-01-01T00:00:00.123456789Z", 123_456_789, id="nanoseconds"),
        pytest.param("1970-01-01T00:00:00.5Z", 500_000_000, id="a short fraction"),
        pytest.param("1969-12-31T23:59:59.5Z", -500_000_000, id="before the beginning"),
        pytest.param(None, None, id="none"),
        pytest.param("", None, id="empty"),
        pytest.param("yesterday", None, id="not a time"),
        pytest.param("2026-01-01T00:00:00", None, id="no zone"),
    ],
)
def test_times_are_nanoseconds(text, ns):
    assert timestamp_ns(text) == ns


@pytest.mark.parametrize(
    "text",
    [
        "1970-01-01T00:00:00.000000000Z",
        "2026-03-02T10:11:12.123456789Z",
        "2026-03-02T10:11:12.123400000Z",
        "1969-12-31T23:59:59.500000000Z",
    ],
)
def test_timestamps_have_nanoseconds(text):
    ns = timestamp_ns(text)
    assert ns is not None
    assert timestamp_text_nano(ns) == text


def test_times_after_the_year_9999_are_its_last_second():
    assert timestamp_text(2**64 * 1_000_000_000) == "9999-12-31T23:59:59Z"


def test_timestamps_have_whole_seconds():
    assert timestamp_text(946_684_810_999_999_999) == "2000-01-01T00:00:10Z"


def test_years_have_four_digits():
    assert timestamp_text(-62_135_596_798 * 1_000_000_000) == "0001-01-01T00:00:02Z"
