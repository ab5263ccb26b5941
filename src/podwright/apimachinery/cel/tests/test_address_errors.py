"""Errors of addresses, as Go 1.26 has them."""

from __future__ import annotations

import pytest

from podwright.apimachinery.cel.functions.addresses import address_error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("", "unable to parse IP", id="empty"),
        pytest.param('"q"', "unable to parse IP", id="quotes are escaped"),
        pytest.param("%x", "missing IPv6 address", id="only a zone"),
        pytest.param(
            "a.b.c", 'unexpected character (at "a.b.c")', id="the rest from the first mistake on"
        ),
        pytest.param("1.2.3.4%e", 'unexpected character (at "%e")', id="zone of IPv4"),
        pytest.param("1..2", 'IPv4 field must have at least one digit (at ".2")', id="no digit"),
        pytest.param("01.2.3.4", "IPv4 field has octet with leading zero", id="leading zero"),
        pytest.param("1.2.3.256", "IPv4 field has value >255", id="large field"),
        pytest.param("1.2.3", "IPv4 address too short", id="three fields"),
        pytest.param("1.2.3.4.5", "IPv4 address too long", id="five fields"),
        pytest.param("fe80::1%", "zone must be a non-empty string", id="empty zone"),
        pytest.param("1:2", "address string too short", id="two groups"),
        pytest.param(
            "12345::", 'each group must have 4 or less digits (at "12345::")', id="long group"
        ),
        pytest.param(
            "https://h",
            'each colon-separated field must have at least one digit (at "https://h")',
            id="URL",
        ),
        pytest.param("1g:", 'unexpected character, want colon (at "g:")', id="letter"),
        pytest.param("1:", 'colon must be followed by more characters (at ":")', id="last colon"),
        pytest.param("1::2::3", 'multiple :: in address (at ":3")', id="two gaps"),
        pytest.param(
            "1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")', id="nine groups"
        ),
        pytest.param(
            "1:2:3:4:5:6:7::8",
            "the :: must expand to at least one field of zeros",
            id="nothing left for the gap",
        ),
        pytest.param(
            "1:2:3:4:5::7:1.2.3.4",
            "the :: must expand to at least one field of zeros",
            id="nothing left before IPv4",
        ),
        pytest.param(
            "1:1.2.3.4",
            'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")',
            id="IPv4 too early",
        ),
        pytest.param(
            "1:2:3:4:5:6:7:1.2.3.4",
            'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")',
            id="IPv4 too late",
        ),
        pytest.param("::1.2.3", "IPv4 address too short", id="short IPv4 at the end"),
        pytest.param("1:2:3:4:5:6:1.2.3", "IPv4 address too short", id="short IPv4 in its place"),
    ],
)
def test_the_error_names_the_mistake(text: str, error: str) -> None:
    start = "".join('\\"' if character == '"' else character for character in text)
    assert address_error(text) == f'ParseAddr("{start}"): {error}'
