"""The JSON of objects, encoded once for the file, replies and all watches.

The encodings of the last versions are kept, up to a number of bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import msgspec

from podwright.objects import Document

KEPT_MAX_BYTES: Final = 176 * 1024 * 1024
"""The most bytes that are kept: those of 100,000 new pods, so that a page of a list costs what its
bytes cost."""


class Encodings:
    """The JSON of documents.

    Parameters
    ----------
    max_bytes : int
        The most bytes that are kept.
    """

    def __init__(self, max_bytes: int = KEPT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        # By the id() of a document; the value keeps the document alive, so its id is not reused.
        # In order of age; the first entry of a plain dictionary is behind all deleted ones.
        self._kept: OrderedDict[int, tuple[Document, bytes]] = OrderedDict()

    def of(self, document: Document) -> bytes:
        """Return a stored document, which never changes, as JSON."""
        known = self._kept.get(id(document))
        if known is not None:
            return known[1]
        text = msgspec.json.encode(document)
        self.keep(document, text)
        return text

    def keep(self, document: Document, text: bytes) -> None:
        """Keep the JSON of a new document."""
        self._kept[id(document)] = document, text
        self._bytes += len(text)
        while self._bytes > self._max_bytes:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= len(oldest)

    def peek(self, document: Document) -> bytes:
        """Return a stored document as JSON without keeping it, for long lists."""
        known = self._kept.get(id(document))
        return msgspec.json.encode(document) if known is None else known[1]

    def forget(self, document: Document) -> None:
        """Release a document that is not read again, and its JSON."""
        known = self._kept.pop(id(document), None)
        if known is not None:
            self._bytes -= len(known[1])
