"""Kubernetes quantities, exact.

A quantity is a signed decimal number with a suffix: `100m`, `1.5Gi`, `2e3`. Upstream stores it in
one of two representations, whose results differ if the value does not fit an int64, so both are
implemented:

- a 64-bit mantissa and a power of ten, when the text is short enough; a value that does not
  fit an int64 reads as its low 64 bits or, past some powers of ten, as 0;
- a decimal in units of 10^-9 (finer parts are rounded away from zero); a value that does not
  fit an int64 reads as its low 64 bits.

All arithmetic is exact and uses no floats.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, amount.go, suffix.go,
scale_int.go
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects.meta import QuantityText

QuantityFormat: TypeAlias = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

_NANO = -9
_GRAMMAR = re.compile(r"([+-]?)([0-9]*)(?:(\.)([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
_DECIMAL_SUFFIX = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_SUFFIX = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIX_OF_DECIMAL = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIX.items()}
_SUFFIX_OF_BINARY = {0: ""} | {exponent: suffix for suffix, exponent in _BINARY_SUFFIX.items()}
# Powers of ten past this are far outside int64 on either side; larger ones are never written out.
_EXPONENT_LIMIT = 1_000
_LENGTH_MAX = 1_000
_MANTISSA_DIGITS_MAX = 18
_MULTIPLIED_ONCE = frozenset({0, 1, 2, 3, 6, 9})
"""The powers of ten by which upstream multiplies in one step; math.go, positiveScaleInt64."""


_AMOUNT: Final = re.compile(r"[+-]?[0-9]*(\.[0-9]*)?[eEinumkKMGTP]*[-+]?[0-9]*")
"""What is parsed as a quantity, with any suffix. Upstream: quantity.go, parseQuantityString"""


class QuantityError(ValueError):
    """The text is not a quantity."""


def quantity_error(text: object) -> str:
    """Return upstream's error for what is not a quantity."""
    if isinstance(text, str) and text and _AMOUNT.fullmatch(text):
        return "unable to parse quantity's suffix"
    pattern = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
    return f"quantities must match the regular expression '{pattern}'"


class Quantity(msgspec.Struct, frozen=True, gc=False):
    """An exact number: `unscaled * 10**exponent`.

    Attributes
    ----------
    unscaled, exponent : int
        The number.
    is_decimal : bool
        Whether upstream stores it as a decimal instead of a 64-bit mantissa.
    format : str
        The kind of its suffix.
    text : str
        The text, if it was canonical; else empty.
    """

    unscaled: int
    exponent: int
    is_decimal: bool = False
    format: QuantityFormat = "DecimalSI"
    text: str = ""

    @property
    def nano(self) -> int:
        """The number in units of 10^-9, exact."""
        if not self.unscaled:
            return 0
        return self.unscaled * _power_of_ten(min(self.exponent - _NANO, _EXPONENT_LIMIT))

    def __add__(self, other: Quantity) -> Quantity:
        """Return the sum: a decimal if it does not fit a 64-bit mantissa.

        Notes
        -----
        Upstream: quantity.go, Quantity.Add; amount.go, int64Amount.Add
        """
        is_decimal = self.is_decimal or other.is_decimal
        if not is_decimal:
            if not other.unscaled:
                return self
            if not self.unscaled:
                return other
        exponent = min(self.exponent, other.exponent)
        own = self.unscaled * _power_of_ten(self.exponent - exponent)
        others = other.unscaled * _power_of_ten(other.exponent - exponent)
        if not all(INT64_MIN <= number <= INT64_MAX for number in (own, others, own + others)):
            is_decimal = True
        # The format is that of the first, unless it is zero.
        format_ = self.format if self.unscaled else other.format
        return Quantity(own + others, exponent, is_decimal=is_decimal, format=format_)

    def __gt__(self, other: Quantity) -> bool:
        """Whether the number is greater than another one."""
        return self.nano > other.nano

    def value(self) -> int:
        """Return the number, rounded up away from zero."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """Return the number of thousandths, rounded up away from zero."""
        return self.scaled_value(-3)

    def scaled_value(self, exponent: int) -> int:
        """Return the number in units of `10**exponent`, rounded up, as an int64.

        Notes
        -----
        Upstream's decimal shape rounds a negative fraction towards zero and the 64-bit shape away
        from it; both are kept.
        """
        if self.is_decimal:
            return _scaled_decimal(self.unscaled, self.exponent - exponent)
        return _scaled_int64(self.unscaled, self.exponent - exponent)


def _scaled_int64(mantissa: int, shift: int) -> int:
    """Upstream: amount.go, int64Amount.AsScaledInt64."""
    if not mantissa:
        return 0
    if shift >= 0:
        if shift in _MULTIPLIED_ONCE:
            # Upstream reports an overflow together with the product's low 64 bits, and the
            # caller takes the product.
            return _wrap_int64(mantissa * _power_of_ten(shift)) if mantissa != INT64_MIN else 0
        # 10**19 does not fit an int64: upstream reports an overflow, and the value is 0.
        if shift > 18:
            return 0
        result = mantissa * _power_of_ten(shift)
        return result if INT64_MIN < result <= INT64_MAX else 0
    # Every mantissa is below 10**19, so a divisor past 10**20 gives the same result, 1.
    magnitude = -(-abs(mantissa) // _power_of_ten(min(-shift, 20)))
    return magnitude if mantissa > 0 else -magnitude


def _scaled_decimal(unscaled: int, shift: int) -> int:
    """Upstream: scale_int.go, scaledValue."""
    if shift == 0:
        return _low_int64(unscaled)
    if shift > 0:
        # Go turns a float past int64 into the smallest int64.
        factor = _power_of_ten(shift) if shift <= 18 else INT64_MIN
        return _wrap_int64(unscaled * factor)
    divisor = _power_of_ten(-shift)
    # Every negative number is cut to 64 bits.
    if unscaled < 0 and -shift < 19:
        low = _low_int64(unscaled)
        quotient, rest = divmod(abs(low), divisor)
        quotient = quotient if low >= 0 else -quotient
        # Upstream adds 1 to the truncated quotient whatever the sign: -1.5 reads as 0.
        return quotient + 1 if rest else quotient
    # Floor division, as big.Int.DivMod with a positive divisor: adding 1 rounds up.
    quotient, rest = divmod(unscaled, divisor)
    return _wrap_int64(_low_int64(quotient) + (1 if rest else 0))


def _low_int64(number: int) -> int:
    """Return what Go's `big.Int.Int64` gives: the low 64 bits of the magnitude, signed."""
    low = _wrap_int64(abs(number))
    return low if number >= 0 else _wrap_int64(-low)


def _power_of_ten(exponent: int) -> int:
    result: int = 10**exponent  # mypy takes int ** int for Any, as a negative one is a float
    return result


def _wrap_int64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


# --------------------------------------------------------------------------- reading


def parse_quantity(text: QuantityText) -> Quantity:
    """Parse a quantity of a document.

    Parameters
    ----------
    text : str, int or float
        Surrounding space is ignored, as upstream does when it decodes JSON; a YAML number is
        parsed as its JSON text.

    Raises
    ------
    QuantityError
        The text is not a quantity.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, Quantity.UnmarshalJSON
    """
    if isinstance(text, str):
        return parse_quantity_text(text.strip())
    if isinstance(text, bool):
        raise QuantityError("a quantity is a number or a string, not a boolean")
    return parse_quantity_text(repr(text))


@lru_cache(maxsize=65_536)
def parse_quantity_text(text: str) -> Quantity:
    """Parse a quantity outside a document, as on a command line: without surrounding space.

    Raises
    ------
    QuantityError
        The text is not a quantity.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, ParseQuantity
    """
    if text == "0":
        return Quantity(0, 0, text="0")
    if len(text) > _LENGTH_MAX:
        raise QuantityError(f"a quantity has at most {_LENGTH_MAX} characters")
    match = _GRAMMAR.fullmatch(text)
    if not text or match is None:
        raise QuantityError(
            "quantities are numbers with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"
        )
    sign, digits, _, fraction, suffix = match.groups()
    whole = digits.lstrip("0") or "0"
    fraction = fraction or ""
    if suffix in _DECIMAL_SUFFIX:
        style: QuantityFormat = "DecimalSI"
        power = _DECIMAL_SUFFIX[suffix]
    elif suffix in _BINARY_SUFFIX:
        return _parse_binary(text, sign, whole, fraction, _BINARY_SUFFIX[suffix], digits)
    elif (exponent := _EXPONENT.fullmatch(suffix)) is not None:
        style = "DecimalExponent"
        power = int(exponent[1])
        if not INT64_MIN <= power <= INT64_MAX:
            raise QuantityError("the exponent is too large")
        power = (power + 2**31) % 2**32 - 2**31  # upstream truncates it to 32 bits
    else:
        raise QuantityError(
            f'unknown suffix "{suffix}": '
            "one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or e and a power of ten"
        )

    scale = power - len(fraction)
    shifted = whole + fraction
    if len(shifted) <= _MANTISSA_DIGITS_MAX and scale >= _NANO:
        mantissa = int(shifted)
        # A decimal text is kept only in this case, as upstream does, and printed as it is.
        canonical = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
        return Quantity(
            -mantissa if sign == "-" else mantissa,
            scale,
            format=style,
            text=text if canonical else "",
        )
    if not digits and not fraction:
        raise QuantityError("the number has no digits")
    nanos = _round_up_to_nano(int(shifted), scale)
    return Quantity(-nanos if sign == "-" else nanos, _NANO, is_decimal=True, format=style)


def _parse_binary(
    text: str, sign: str, whole: str, fraction: str, power: int, digits: str
) -> Quantity:
    # Upstream estimates the decimal digits: 2**power has about 3/10 of power.
    if not fraction and 15 - len(whole) - power * 3 // 10 - 1 >= 0:
        mantissa = int(whole)
        result = mantissa << power
        if result <= INT64_MAX:
            return Quantity(
                -result if sign == "-" else result,
                0,
                format="BinarySI",
                text=text if mantissa & 7 else "",
            )
    if not digits and not fraction:
        raise QuantityError("the number has no digits")
    nanos = _round_up_to_nano(int(whole + fraction) << power, -len(fraction))
    style: QuantityFormat = "DecimalSI" if 0 < nanos < 10**9 else "BinarySI"
    if nanos > INT64_MAX * 10**9:
        # Upstream's bound is a decimal without a fraction.
        capped = INT64_MIN + 1 if sign == "-" else INT64_MAX
        return Quantity(capped, 0, is_decimal=True, format=style)
    return Quantity(-nanos if sign == "-" else nanos, _NANO, is_decimal=True, format=style)


def _round_up_to_nano(unscaled: int, exponent: int) -> int:
    shift = exponent - _NANO
    if not unscaled:
        return 0
    if shift >= 0:
        return unscaled * _power_of_ten(min(shift, _EXPONENT_LIMIT))
    # A longer divisor rounds up to 1 too; the bound keeps 1e-2000000000 from being written out.
    return -(-unscaled // _power_of_ten(min(-shift, len(str(unscaled)) + 1)))


@lru_cache(maxsize=65_536)
def quantity_value(text: QuantityText) -> int:
    """Return the value of a quantity in base units, rounded up (memory in bytes, pods, ...)."""
    return parse_quantity(text).value()


@lru_cache(maxsize=65_536)
def quantity_milli_value(text: QuantityText) -> int:
    """Return the value of a quantity in thousandths, rounded up (cpu)."""
    return parse_quantity(text).milli_value()


# --------------------------------------------------------------------------- writing


def format_quantity(quantity: Quantity | QuantityText) -> str:
    """Format a quantity in canonical form: no fraction, the largest suffix, without loss.

    Notes
    -----
    A binary quantity below 1024, or with a fraction, is written with a decimal suffix.
    As upstream, values beyond the largest suffix are written without one.
    Upstream: quantity.go, CanonicalizeBytes
    """
    if not isinstance(quantity, Quantity):
        quantity = parse_quantity(quantity)
    if quantity.text:
        return quantity.text
    if not quantity.unscaled:
        return "0"
    if quantity.format == "BinarySI":
        whole, rest = divmod(quantity.nano, 10**9)
        if not rest and abs(whole) >= 1024:
            power = 0
            while whole % 1024 == 0:
                whole //= 1024
                power += 10
            return f"{whole}{_SUFFIX_OF_BINARY.get(power, '')}"
    mantissa, exponent = quantity.unscaled, quantity.exponent
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    # The exponent moves down to a multiple of 3, never up, so that no fraction appears.
    mantissa *= _power_of_ten(exponent % 3)
    exponent -= exponent % 3
    if quantity.format == "DecimalExponent":
        return f"{mantissa}e{exponent}" if exponent else f"{mantissa}"
    return f"{mantissa}{_SUFFIX_OF_DECIMAL.get(exponent, '')}"
