"""Integers as Go's `strconv` parses them, with any number of digits.

Clients choose the texts, and `int` raises an error for more than 4,300 digits.

Upstream: Go src/strconv/atoi.go, ParseInt, ParseUint and Atoi.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from podwright.apimachinery.objects.texts.go_text import go_quoted

_INTEGER: Final = re.compile(r"([+-]?)0*([0-9]{1,20})")
_SIGNED: Final = re.compile(r"[+-]?[0-9]+")
_UNSIGNED: Final = re.compile(r"[0-9]+")


def parse_int64(text: str) -> int | None:
    """Return an integer as `ParseInt` and `Atoi` parse it, None if it is not one of 64 bits."""
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    number = int(found[1] + found[2])
    return number if -(2**63) <= number < 2**63 else None


def parse_uint64(text: str) -> int | None:
    """Return an integer as `ParseUint` parses it, None if it is not one of 64 bits."""
    found = _INTEGER.fullmatch(text)
    if found is None or found[1]:
        return None
    number = int(found[2])
    return number if number < 2**64 else None


def integer_error(function: Literal["ParseInt", "ParseUint", "Atoi"], text: str) -> str:
    """Return the error of a function of `strconv` for a text that it does not parse.

    Examples
    --------
    >>> integer_error("Atoi", "x")
    'strconv.Atoi: parsing "x": invalid syntax'
    """
    syntax = _UNSIGNED if function == "ParseUint" else _SIGNED
    problem = "value out of range" if syntax.fullmatch(text) else "invalid syntax"
    return f"strconv.{function}: parsing {go_quoted(text)}: {problem}"
