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

_SECTIONS_MAX: Final = 1_024


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
        # By the id() of a section, which the value keeps alive.
        self._sections: dict[int, tuple[Document | list[Document], bytes]] = {}
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

    def keep_extended(self, document: Document, section: str, before: Document, field: str) -> None:
        """Keep the JSON of a new document that has an older section with one more field.

        Parameters
        ----------
        document : dict
        section : str
            The name of the section in the document.
        before : dict
            The older section, without the field; many documents may share it.
        field : str
            The last field of the section.
        """
        shown = document.copy()
        value = msgspec.json.encode(document[section][field])
        begin = self._section(before)[:-1]
        separator = b"," if before else b""
        shown[section] = msgspec.Raw(b'%b%b"%b":%b}' % (begin, separator, field.encode(), value))
        status = document.get("status")
        if isinstance(status, dict):
            shown["status"] = msgspec.Raw(self._section(status))
        metadata = document.get("metadata")
        if isinstance(metadata, dict) and "managedFields" in metadata:
            # Half of the text of a small object; pods that were created together share them.
            owners = msgspec.Raw(self._section(metadata["managedFields"]))
            shown["metadata"] = metadata | {"managedFields": owners}
        self.keep(document, msgspec.json.encode(shown))

    def _section(self, section: Document | list[Document]) -> bytes:
        """Return a section as JSON, which is encoded once for documents that share it."""
        known = self._sections.get(id(section))
        if known is not None:
            return known[1]
        if len(self._sections) >= _SECTIONS_MAX:
            self._sections.clear()
        text = msgspec.json.encode(section)
        self._sections[id(section)] = section, text
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
