"""Specs that objects share: equal content is one object.

The objects of a template have equal specs. Each kind has a table of the specs of its objects by
their JSON; the table holds them weakly, and the last ones also strongly. What a stage of a write
finds out about a spec is kept with it, as its defaults, its errors or its struct: so a stage is
quick for a spec that was seen before, whoever sent it.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

_TEXT_MAX_BYTES: Final = 64 * 1024
"""Longer specs are hardly repeated."""
_KEPT_MAX: Final = 2_048
"""The most specs that are kept though no object has them, of each kind."""
_SEEN_MAX: Final = 65_536


class Spec(dict[str, Any]):
    """An immutable spec, which is the only one of its kind with its content.

    A copy of it, such as one with another field, is a plain document. The fields `nodeName` of
    bound pods are in such copies.

    Parameters
    ----------
    document : dict
    table : Specs
    read : tuple of str

    Attributes
    ----------
    table : Specs
        That of its kind and version.
    read : tuple of str
        The fields of the metadata of an object on which facts about this spec depend.
    facts : dict
        What readers found out about it; each has its own keys. None of it refers to the spec, which
        would stay forever in a server, where no collector visits what is old.
    """

    __slots__ = ("__weakref__", "facts", "read", "table")

    def __init__(self, document: dict[str, Any], table: Specs, read: tuple[str, ...]) -> None:
        super().__init__(document)
        self.table = table
        self.read = read
        self.facts: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (dict(self),)


class Specs:
    """The specs of one kind and version by their content.

    Parameters
    ----------
    metadata_read : mapping of str to str
        The fields of the metadata of an object that matter beside its spec, each with the field
        inside the spec without which it does not, or "".
    """

    def __init__(self, metadata_read: Mapping[str, str] | None = None) -> None:
        self._metadata_read = (metadata_read or {}).items()
        self._by_text: WeakValueDictionary[bytes, Spec] = WeakValueDictionary()
        self._last: deque[Spec] = deque(maxlen=_KEPT_MAX)
        # Checksums of what occurred once: most specs of a cluster without templates.
        self._seen: set[int] = set()
        # Components create objects of one template after another.
        self._found: tuple[Any, Spec | None] = None, None

    def of(self, document: dict[str, Any], *, only_repeated: bool = False) -> Spec | None:
        """Return the spec with the content of a document; None for a large one.

        Parameters
        ----------
        document : dict
        only_repeated : bool
            Whether content that has not occurred before has none: most of it never does again.
        """
        written, found = self._found
        if document is written:
            return found
        text = msgspec.json.encode(document)
        found = self._by_text.get(text)
        if found is None and len(text) <= _TEXT_MAX_BYTES:
            if only_repeated and self._is_new(zlib.crc32(text)):
                return None
            read = tuple(
                field
                for field, inside in self._metadata_read
                if not inside or f'"{inside}"'.encode() in text
            )
            found = self._by_text[text] = Spec(document, self, read)
            self._last.append(found)
        self._found = document, found
        return found

    def _is_new(self, checksum: int) -> bool:
        if checksum in self._seen:
            return False
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        self._seen.add(checksum)
        return True


def facts_of(spec: Any) -> dict[Any, Any] | None:
    """Return what is known about the spec of a document; None if it is not shared."""
    return spec.facts if type(spec) is Spec else None
