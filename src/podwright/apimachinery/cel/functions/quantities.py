"""Kubernetes' quantities and semantic versions as values.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/library/quantity.go, semverlib.go;
github.com/blang/semver
"""

from __future__ import annotations

import re
from typing import ClassVar, Final, Literal

from podwright.apimachinery.cel.types import library_of
from podwright.apimachinery.cel.values import INT_MAX, INT_MIN, ErrorValue, OpaqueValue, Value
from podwright.apimachinery.objects import (
    Quantity,
    QuantityError,
    go_quoted,
    integer_error,
    parse_quantity_text,
    parse_uint64,
    quantity_error,
)

_INT_DIGITS: Final = 19
_NUMERIC = re.compile(r"[0-9]+", re.ASCII)
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+", re.ASCII)


class QuantityValue(OpaqueValue):
    """A quantity; equal by value.

    Parameters
    ----------
    is_result : bool
        Whether `add` or `sub` computed it; upstream cannot compare another quantity with it.
    """

    type_name: ClassVar[str] = "kubernetes.Quantity"
    __slots__ = ("is_comparable", "quantity")

    def __init__(self, quantity: Quantity, *, is_result: bool = False) -> None:
        self.quantity = quantity
        self.is_comparable = not is_result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuantityValue) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    @property
    def nano(self) -> int:
        """The number in units of 10^-9."""
        nano: int = self.quantity.nano
        return nano


def quantity_of(text: Value) -> Value:
    """Return the quantity of a text, or upstream's error."""
    try:
        return QuantityValue(parse_quantity_text(text))
    except QuantityError:
        return ErrorValue(quantity_error(text))


def _integer_of(value: QuantityValue) -> int | None:
    """Return the whole number of a quantity; None if it is none or too large.

    Notes
    -----
    Upstream: quantity.go, Quantity.AsInt64. A decimal never is, nor a number with a negative
    exponent, whatever their values.
    """
    quantity = value.quantity
    if quantity.is_decimal or not 0 <= quantity.exponent <= _INT_DIGITS:
        return None
    whole = int(quantity.unscaled * 10**quantity.exponent)
    return whole if INT_MIN <= whole <= INT_MAX else None


def _as_integer(value: Value) -> Value:
    whole = _integer_of(value)
    return ErrorValue("cannot convert value to integer") if whole is None else whole


def _sum(value: Value, other: Value, sign: int) -> Value:
    """Add quantities as upstream does: the result has the smaller exponent of the two.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, Quantity.Add; amount.go
    """
    left: Quantity = value.quantity
    right = other.quantity if isinstance(other, QuantityValue) else Quantity(int(other), 0)
    added = sign * right.unscaled
    is_decimal = left.is_decimal or right.is_decimal
    further = left.exponent - right.exponent
    is_far_apart = abs(further) > 2 * _INT_DIGITS
    if added > INT_MAX and not is_decimal and left.unscaled >= 0:
        # Upstream negates within 64 bits, unless the sum does not fit there.
        fits = 0 <= further <= _INT_DIGITS and left.unscaled * 10**further <= INT_MAX
        if fits or not left.unscaled:
            added = INT_MIN
    if not is_decimal and not added:
        unscaled, exponent = left.unscaled, left.exponent
    elif not is_decimal and not left.unscaled:
        unscaled, exponent = added, right.exponent
    elif is_far_apart:
        unscaled, exponent, is_decimal = left.nano + sign * right.nano, -9, True
    else:
        exponent = min(left.exponent, right.exponent)
        unscaled = (
            left.unscaled * 10 ** (left.exponent - exponent)
            + added * 10 ** (right.exponent - exponent)
        )  # fmt: skip
        is_decimal = is_decimal or not INT_MIN <= unscaled <= INT_MAX
    style = left.format if left.unscaled or is_decimal else right.format
    return QuantityValue(
        Quantity(unscaled, exponent, is_decimal=is_decimal, format=style), is_result=True
    )


def _order(value: Value, other: Value) -> int:
    left, right = value.quantity.nano, other.quantity.nano
    return -1 if left < right else 1 if left > right else 0


QUANTITY_LIBRARY: Final = library_of(
    {
        "quantity": quantity_of,
        "isQuantity": lambda text: isinstance(quantity_of(text), QuantityValue),
        "sign": lambda value: (value.quantity.nano > 0) - (value.quantity.nano < 0),
        "isGreaterThan": lambda value, other: _order(value, other) > 0,
        "isLessThan": lambda value, other: _order(value, other) < 0,
        "compareTo": _order,
        "asApproximateFloat": lambda value: value.quantity.nano / 10**9,
        "asInteger": _as_integer,
        "isInteger": lambda value: _integer_of(value) is not None,
        "add": lambda value, other: _sum(value, other, 1),
        "sub": lambda value, other: _sum(value, other, -1),
    },
    """
    string_to_quantity: quantity(string) -> kubernetes.Quantity
    is_quantity_string: isQuantity(string) -> bool
    quantity_sign: sign(kubernetes.Quantity) -> int
    quantity_is_greater_than: kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool
    quantity_is_less_than: kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool
    quantity_compare_to: kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int
    quantity_get_float: kubernetes.Quantity.asApproximateFloat() -> double
    quantity_get_int: kubernetes.Quantity.asInteger() -> int
    quantity_is_integer: kubernetes.Quantity.isInteger() -> bool
    quantity_add: kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity
    quantity_add_int: kubernetes.Quantity.add(int) -> kubernetes.Quantity
    quantity_sub: kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity
    quantity_sub_int: kubernetes.Quantity.sub(int) -> kubernetes.Quantity
    """,
)
"""Kubernetes' functions on quantities."""


# --------------------------------------------------------------------------- versions


class VersionError(ValueError):
    """The text is not a semantic version; the message is upstream's."""


class SemverValue(OpaqueValue):
    """A semantic version; build metadata does not count in comparisons."""

    type_name: ClassVar[str] = "kubernetes.Semver"
    __slots__ = ("core", "prerelease")

    def __init__(self, core: tuple[int, int, int], prerelease: tuple[int | str, ...]) -> None:
        self.core = core
        self.prerelease = prerelease

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemverValue) and not self.order(other)

    def __hash__(self) -> int:
        return hash((self.core, self.prerelease))

    def order(self, other: SemverValue) -> Literal[-1, 0, 1]:
        """Return the order as -1, 0 or 1: a prerelease comes before its version."""
        # Numbers come before texts, fewer identifiers before more.
        left, right = self._key(), other._key()
        return -1 if left < right else 1 if left > right else 0

    def _key(self) -> tuple[object, ...]:
        identifiers = tuple(
            (0, part, "") if isinstance(part, int) else (1, 0, part) for part in self.prerelease
        )
        return (self.core, not identifiers, identifiers)


def parse_version(text: str, *, normalize: bool = False) -> SemverValue:
    """Return the version of a text.

    Parameters
    ----------
    normalize : bool
        Whether a leading v, missing parts and leading zeros are allowed.

    Raises
    ------
    VersionError
        The text is not a version.
    """
    if normalize:
        text = _normalized(text)
    if not text:
        raise VersionError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise VersionError("No Major.Minor.Patch elements found")
    major = _number("Major", parts[0])
    minor = _number("Minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch_text, dash, prerelease = rest.partition("-")
    patch = _number("Patch", patch_text)
    identifiers = tuple(map(_identifier, prerelease.split("."))) if dash else ()
    for part in build.split(".") if plus else ():
        if not part:
            raise VersionError("Build meta data is empty")
        if not _IDENTIFIER.fullmatch(part):
            raise VersionError(f"Invalid character(s) found in build meta data {go_quoted(part)}")
    return SemverValue((major, minor, patch), identifiers)


def _number(name: str, text: str) -> int:
    if not _NUMERIC.fullmatch(text):
        if not text:
            raise VersionError(integer_error("ParseUint", text))
        raise VersionError(f"Invalid character(s) found in {name.lower()} number {go_quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise VersionError(f'{name} number must not contain leading zeroes "{text}"')
    return _unsigned(text)


def _unsigned(text: str) -> int:
    number = parse_uint64(text)
    if number is None:
        raise VersionError(integer_error("ParseUint", text))
    return number


def _identifier(text: str) -> int | str:
    if not text:
        raise VersionError("Prerelease is empty")
    if _NUMERIC.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise VersionError(
                f'Numeric PreRelease version must not contain leading zeroes "{text}"'
            )
        return _unsigned(text)
    if not _IDENTIFIER.fullmatch(text):
        raise VersionError(f"Invalid character(s) found in prerelease {go_quoted(text)}")
    return text


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[index] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise VersionError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _semver(text: Value, normalize: Value = False) -> Value:  # noqa: FBT002 - as the function has it
    try:
        return parse_version(text, normalize=normalize)
    except VersionError as error:
        return ErrorValue(str(error))


SEMVER_LIBRARY: Final = library_of(
    {
        "semver": _semver,
        "isSemver": lambda *args: isinstance(_semver(*args), SemverValue),
        "isGreaterThan": lambda value, other: value.order(other) > 0,
        "isLessThan": lambda value, other: value.order(other) < 0,
        "compareTo": lambda value, other: value.order(other),
        "major": lambda value: value.core[0],
        "minor": lambda value: value.core[1],
        "patch": lambda value: value.core[2],
    },
    """
    string_to_semver: semver(string) -> kubernetes.Semver
    string_bool_to_semver: semver(string, bool) -> kubernetes.Semver
    is_semver_string: isSemver(string) -> bool
    is_semver_string_bool: isSemver(string, bool) -> bool
    semver_is_greater_than: kubernetes.Semver.isGreaterThan(kubernetes.Semver) -> bool
    semver_is_less_than: kubernetes.Semver.isLessThan(kubernetes.Semver) -> bool
    semver_compare_to: kubernetes.Semver.compareTo(kubernetes.Semver) -> int
    semver_major: kubernetes.Semver.major() -> int
    semver_minor: kubernetes.Semver.minor() -> int
    semver_patch: kubernetes.Semver.patch() -> int
    """,
)
"""Kubernetes' functions on versions."""
