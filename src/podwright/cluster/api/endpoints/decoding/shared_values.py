"""Texts and parts of objects that recent objects have too, kept once.

The Events of one pod refer to the same object and have the same times. With 250,000 Events, the
copies took 200 MiB.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document

_KEPT_MAX: Final = 4_096

Fields: TypeAlias = Sequence[tuple[str, int]]
"""The fields of a part that differ between objects, with the numbers of their values."""


class SharedValues:
    """Texts and parts that were used last; parts are immutable by convention."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._forms: dict[tuple[tuple[str, str], ...], int] = {}
        self._parts: dict[tuple[int, tuple[str, ...]], Document] = {}

    def texts(self, texts: Iterable[str]) -> list[str]:
        """Return equal texts, which are those of earlier calls where these had them."""
        known = self._texts
        if len(known) > _KEPT_MAX:
            known.clear()
        return [known.setdefault(text, text) for text in texts]

    def form_of(self, like: Document, fields: Fields) -> int:
        """Return the number of what a part has besides the fields that differ."""
        form = tuple((name, repr(value)) for name, value in (like | dict(fields)).items())
        return self._forms.setdefault(form, len(self._forms))

    def part(self, like: Document, form: int, fields: Fields, values: Sequence[str]) -> Document:
        """Return a part with values in the fields that differ.

        Parameters
        ----------
        like : dict
            A part of the same form.
        form : int
            The result of `form_of`.
        fields : sequence of (str, int)
        values : sequence of str
            The values by their numbers.
        """
        key = form, tuple(values[number] for _, number in fields)
        known = self._parts.get(key)
        if known is None:
            if len(self._parts) >= _KEPT_MAX:
                self._parts.clear()
            known = self._parts[key] = like | {name: values[number] for name, number in fields}
        return known
