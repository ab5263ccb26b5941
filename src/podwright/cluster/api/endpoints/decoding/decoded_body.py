"""The result of decoding a body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Decoded(msgspec.Struct, frozen=True):
    """A decoded body.

    Attributes
    ----------
    document : Any
        The value of the body.
    duplicates : list of str
        The errors about fields that occur twice; the last value applies.
    overwritten : sequence of object
        For each value before the last one of a field, an object that has only this value.
    order : mapping, optional
        The place in the text of each field, by path, and of each of these errors; only of JSON
        with duplicates.
    has_new_spec : bool
        Whether no earlier body had the text of the spec; tables of specs would not find it.
    """

    document: Any
    duplicates: list[str]
    has_new_spec: bool = False
    order: Mapping[str, int] | None = None
    overwritten: Sequence[Any] = ()
