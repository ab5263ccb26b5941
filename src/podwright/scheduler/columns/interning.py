"""Interning: each distinct value gets a small integer.

Kernels use the integers; a list returns the value of an integer.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Number distinct values from zero, in the order in which they first appear."""

    __slots__ = ("_ids", "values")

    def __init__(self) -> None:
        self._ids: dict[T, int] = {}
        self.values: list[T] = []

    def __len__(self) -> int:
        """How many distinct values there are."""
        return len(self.values)

    def id_of(self, value: T) -> int:
        """Return the number of `value`, giving it one if it is new."""
        number = self._ids.get(value)
        if number is None:
            number = self._ids[value] = len(self.values)
            self.values.append(value)
        return number

    def find(self, value: T) -> int:
        """Return the number of `value`, or -1 if it never appeared."""
        return self._ids.get(value, -1)
