"""What recent requests and objects have in common: how often texts occur, and parts kept once.

The Events of one pod refer to the same object and have the same times. With 250,000 Events, the
copies took 200 MiB.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document

LEARNED_AT: Final = 6
"""How often what requests have in common must occur until it is learned.

Learning costs as much as several creations. In a cluster of many workloads with few pods each,
most of what occurs twice does not occur often enough to repay that.
"""

_SEEN_MAX: Final = 65_536
_KEPT_MAX: Final = 4_096

Fields: TypeAlias = Sequence[tuple[str, int]]
"""The fields of a part that differ between objects, with the numbers of their values."""


class SeenTexts:
    """How often the texts have occurred that occurred last, by their checksums.

    Two texts may have the same checksum, so a text may be taken for one that occurred.

    Parameters
    ----------
    learned_at : int
        How often texts have to occur.
    """

    def __init__(self, learned_at: int) -> None:
        self._learned_at = learned_at
        self._counts: dict[int, int] = {}

    def are_frequent(self, texts: Iterable[bytes]) -> bool:
        """Count texts in this order, and return whether they have occurred often enough."""
        least = self._learned_at
        checksum = zlib.crc32(b"".join(texts))
        count = self._counts.get(checksum, 0) + 1
        if count < least:
            if len(self._counts) >= _SEEN_MAX:
                self._counts.clear()
            self._counts[checksum] = count
        return count >= least


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
