"""Kubernetes quantities as exact fractions, with upstream's two ways to overflow.

Upstream: apimachinery/pkg/api/resource/quantity.go (ParseQuantity, ScaledValue), amount.go. A
quantity is parsed either into an int64 with a decimal exponent (short decimal numbers) or into an
arbitrary precision decimal. For a value that does not fit an int64, the first form returns 0 and
the second its low 64 bits.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

_FORM = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([A-Za-z]*(?:[+-]?\d+)?)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT = re.compile(r"[eE]([+-]?\d+)")
_MAX = 2**63 - 1
_INT64_DIGITS = 18


class Quantity(NamedTuple):
    """An exact amount, and whether upstream stores it as an int64 with a decimal exponent."""

    amount: Fraction
    is_int64: bool

    def scaled(self, factor: int) -> int:
        """Return the amount times `factor` as int64, rounded away from zero."""
        exact = self.amount * factor
        rounded = ceil(exact) if exact >= 0 else floor(exact)
        if -(2**63) <= rounded <= _MAX:
            return rounded
        if self.is_int64:
            return 0
        return (rounded + 2**63) % 2**64 - 2**63


def _split(text: str) -> tuple[str, str, str, str]:
    match = _FORM.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"quantities must match the regular expression, got {text!r}")
    sign, whole, fraction, suffix = match.groups()
    return sign, whole, fraction or "", suffix


@functools.cache
def parse(text: str) -> Quantity:
    """Parse a quantity.

    Raises
    ------
    ValueError
        The text is malformed.
    """
    sign, whole, fraction, suffix = _split(text)
    whole = whole.lstrip("0")
    exponent = _EXPONENT.fullmatch(suffix)
    digits = int((whole + fraction) or "0")
    if suffix in _BINARY:
        amount = Fraction(digits, 10 ** len(fraction)) * 2 ** _BINARY[suffix]
        # quantity.go estimates the digits of the product as 0.3 digits per bit.
        room = 15 - len(whole) - _BINARY[suffix] * 3 // 10 - 1
        is_int64 = not fraction and room >= 0
    elif suffix in _DECIMAL or exponent:
        power = int(exponent[1]) if exponent else _DECIMAL[suffix]
        amount = Fraction(digits, 10 ** len(fraction)) * Fraction(10) ** power
        is_int64 = len(whole) + len(fraction) <= _INT64_DIGITS and power - len(fraction) >= -9
    else:
        raise ValueError(f"unable to parse quantity's suffix: {text!r}")
    if not is_int64:
        nano = amount * 10**9
        amount = min(Fraction(ceil(nano), 10**9), Fraction(_MAX))
    return Quantity(-amount if sign == "-" else amount, is_int64)


def value(text: str | int) -> int:
    """Return whole units, rounded away from zero."""
    return parse(str(text)).scaled(1)


def milli(text: str | int) -> int:
    """Return thousandths, rounded away from zero."""
    return parse(str(text)).scaled(1000)


def exact(text: str | int) -> Fraction:
    """Return the exact amount."""
    return parse(str(text)).amount
