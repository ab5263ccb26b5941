"""Integers as Go's `strconv` parses them."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import integer_error, parse_int64, parse_uint64


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param("9223372036854775807", 2**63 - 1, id="the largest"),
        pytest.param("9223372036854775808", None, id="one too large"),
        pytest.param("-9223372036854775808", -(2**63), id="the smallest"),
        pytest.param("-9223372036854775809", None, id="one too small"),
        pytest.param("+" + "0" * 5_000 + "7", 7, id="a sign and many zeros"),
        pytest.param("9" * 5_000, None, id="more digits than Python reads"),
        pytest.param("", None, id="nothing"),
        pytest.param("1_000", None, id="an underscore"),
        pytest.param(" 1", None, id="a space"),
    ],
)
def test_integers_are_parsed_as_in_go(text: str, number: int | None) -> None:
    assert parse_int64(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param("0", 0, id="zero"),
        pytest.param("18446744073709551615", 2**64 - 1, id="the largest"),
        pytest.param("18446744073709551616", None, id="one too large"),
        pytest.param("0" * 5_000 + "7", 7, id="many zeros"),
        pytest.param("9" * 5_000, None, id="more digits than Python reads"),
        pytest.param("", None, id="nothing"),
        pytest.param("+7", None, id="a sign"),
        pytest.param("\u0663", None, id="a digit of another script"),
    ],
)
def test_unsigned_integers_are_parsed_as_in_go(text: str, number: int | None) -> None:
    assert parse_uint64(text) == number


@pytest.mark.parametrize(
    ("text", "signed", "unsigned"),
    [
        ("9" * 20, "value out of range", "value out of range"),
        ("-" + "9" * 20, "value out of range", "invalid syntax"),
        ("--1", "invalid syntax", "invalid syntax"),
        ("1_000", "invalid syntax", "invalid syntax"),
        ("", "invalid syntax", "invalid syntax"),
        ("\u0663", "invalid syntax", "invalid syntax"),
    ],
)
def test_the_error_is_of_the_range_or_of_the_syntax(text: str, signed: str, unsigned: str) -> None:
    assert integer_error("ParseInt", text) == f'strconv.ParseInt: parsing "{text}": {signed}'
    assert integer_error("ParseUint", text) == f'strconv.ParseUint: parsing "{text}": {unsigned}'
