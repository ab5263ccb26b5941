"""The result of a check: one field, expected and actual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

Case: TypeAlias = dict[str, Any]
"""One line of a vector file."""


class Comparison(msgspec.Struct, frozen=True):
    """One field of one case.

    Parameters
    ----------
    field : str
        As the format names it.
    expected, actual : object
        JSON values.
    agrees : bool
        Equality, or membership where several values are correct.
    """

    field: str
    expected: Any
    actual: Any
    agrees: bool


class LeftOut(msgspec.Struct, frozen=True):
    """Something that is not compared, and why."""

    reason: str


Check: TypeAlias = Iterator[Comparison | LeftOut]


def equal(field: str, expected: Any, actual: Any) -> Comparison:
    """Compare by equality."""
    return Comparison(field, expected, actual, expected == actual)


def only(place: str, expect: Mapping[str, Any], known: Iterable[str]) -> Check:
    """Report every field of a vector that is not one of those that are compared.

    A check that reads a vector field by field would otherwise ignore unknown fields.

    Parameters
    ----------
    place : str
        Where the fields are; "" for `expect` itself.
    """
    for name in sorted(expect.keys() - set(known)):
        field = f"{place}.{name}" if place else name
        yield Comparison(field, expect[name], "a field that is not compared", agrees=False)
