"""Why Go refuses a text as an address.

Upstream: Go net/netip/netip.go, `ParseAddr`
"""

from __future__ import annotations

import re
from typing import Final

from podwright.apimachinery.objects import go_quoted

_GROUP: Final = re.compile("[0-9a-fA-F]*")

_TOO_SHORT: Final = "IPv4 address too short"
_NO_ZEROS: Final = "the :: must expand to at least one field of zeros"


def address_error(text: str) -> str:
    """Return the error of `ParseAddr` for a text that is no address."""
    message, rest = _problem(text)
    at = f" (at {go_quoted(rest)})" if rest else ""
    return f"ParseAddr({go_quoted(text)}): {message}{at}"


def _problem(text: str) -> tuple[str, str]:
    """Return the message, and the rest of the text at which it is found; "" if that is not said."""
    for character in text:
        match character:
            case ".":
                return _problem_of_ipv4(text)
            case ":":
                return _problem_of_ipv6(text)
            case "%":
                return "missing IPv6 address", ""
            case _:
                pass
    return "unable to parse IP", ""


def _problem_of_ipv4(text: str) -> tuple[str, str]:
    """Return what is wrong; of an address without a problem that it is too short."""
    value = digit_count = field_count = 0
    for place, character in enumerate(text):
        if "0" <= character <= "9":
            if digit_count == 1 and value == 0:
                return "IPv4 field has octet with leading zero", ""
            value = value * 10 + int(character)
            digit_count += 1
            if value > 255:
                return "IPv4 field has value >255", ""
        elif character == ".":
            if place in (0, len(text) - 1) or text[place - 1] == ".":
                return "IPv4 field must have at least one digit", text[place:]
            if field_count == 3:
                return "IPv4 address too long", ""
            field_count += 1
            value = digit_count = 0
        else:
            return "unexpected character", text[place:]
    return _TOO_SHORT, ""


def _problem_of_ipv6(text: str) -> tuple[str, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string", ""
    byte_count = 0
    has_ellipsis = rest.startswith("::")
    if has_ellipsis:
        rest = rest[2:]
    while byte_count < 16 and rest:
        found = _GROUP.match(rest)
        group = "" if found is None else found.group()
        problem = _problem_of_group(rest, group, byte_count, has_ellipsis=has_ellipsis)
        if problem is not None:
            return problem
        byte_count += 2
        # A colon follows, unless the text ends.
        rest = rest[len(group) + 1 :]
        if rest.startswith(":"):
            if has_ellipsis:
                return "multiple :: in address", rest
            has_ellipsis = True
            rest = rest[1:]
    if rest:
        return "trailing garbage after address", rest
    if byte_count < 16:
        return "address string too short", ""
    return _NO_ZEROS, ""


def _problem_of_group(
    rest: str, group: str, byte_count: int, *, has_ellipsis: bool
) -> tuple[str, str] | None:
    """Return what is wrong with the digits at the start of `rest`, or with what follows them."""
    if len(group) > 4:
        return "each group must have 4 or less digits", rest
    if not group:
        return "each colon-separated field must have at least one digit", rest
    after = rest[len(group) :]
    if after.startswith("."):
        return _problem_of_embedded(rest, byte_count, has_ellipsis=has_ellipsis)
    if after and not after.startswith(":"):
        return "unexpected character, want colon", after
    if after == ":":
        return "colon must be followed by more characters", after
    return None


def _problem_of_embedded(rest: str, byte_count: int, *, has_ellipsis: bool) -> tuple[str, str]:
    """Return what is wrong with an IPv4 address at the end, or with what precedes it."""
    if not has_ellipsis and byte_count != 12:
        return "embedded IPv4 address must replace the final 2 fields of the address", rest
    if byte_count + 4 > 16:
        return "too many hex fields to fit an embedded IPv4 at the end of the address", rest
    message, at = _problem_of_ipv4(rest)
    if rest.count(".") == 3 and message == _TOO_SHORT:
        return _NO_ZEROS, ""
    return message, at
