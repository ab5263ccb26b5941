"""The JSON of objects, encoded once for the file, replies and all watches.

The encodings of the last versions are kept, up to a number of bytes. Documents that differ in few
values share a `TextForm`, so that only these values are kept for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document

KEPT_MAX_BYTES: Final = 64 * 1024 * 1024
"""The most bytes that are kept. 100,000 new pods of a template need 40 MB, so that a page of a list
costs what its bytes cost."""

_ENTRY_BYTES: Final = 200
"""What a kept document takes besides its text: a tuple, the head of the text, and its place."""

_KEPT_SHARE: Final = 63 / 64
"""What is left of the most bytes when the oldest encodings are released: a millisecond's work."""

_FORMS_MAX: Final = 1_024
_OWNERS: Final = "managedFields"

# Neither is in any JSON of ours.
_BREAK: Final = b"\n"
_PLACE: Final = b"\xff"
_RAW_PLACE: Final = msgspec.Raw(_PLACE)


class TextForm:
    """What the JSON of several documents has in common.

    Parameters
    ----------
    texts : sequence of bytes
        Between the places for values.

    Attributes
    ----------
    format : bytes
        The texts with `%b` in each place.
    size_bytes : int
        The size of the texts.
    """

    __slots__ = ("_breaks", "format", "size_bytes")

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.format = b"%b".join(text.replace(b"%", b"%%") for text in texts)
        self.size_bytes = sum(map(len, texts))
        self._breaks = len(texts) - 2

    def filled(self, values: Sequence[bytes]) -> bytes:
        """Return the text with values."""
        return self.format % tuple(values)

    def size_with(self, joined: bytes) -> int:
        """Return the size of the text with values that line breaks separate."""
        return self.size_bytes + len(joined) - self._breaks


_Kept: TypeAlias = tuple[Document, TextForm | None, bytes]
"""A document, and its JSON; or its form, and the values with line breaks between them."""

_Sections: TypeAlias = tuple[object, ...]


class Encodings:
    """The JSON of documents.

    Parameters
    ----------
    max_bytes : int
        The most bytes that are kept, without the forms.
    """

    def __init__(self, max_bytes: int = KEPT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        # By the id() of each section, which the value keeps alive; no form until they occur again.
        self._forms: dict[tuple[object, ...], tuple[_Sections, TextForm | None]] = {}
        # By the id() of a document; the value keeps the document alive, so its id is not reused.
        # In order of age.
        self._kept: dict[int, _Kept] = {}

    def of(self, document: Document) -> bytes:
        """Return a stored document, which never changes, as JSON."""
        known = self._kept.get(id(document))
        if known is not None:
            return _text_of(known)
        text = msgspec.json.encode(document)
        self.keep(document, text)
        return text

    def size_of(self, document: Document) -> int:
        """Return the size of a stored document as JSON."""
        known = self._kept.get(id(document))
        if known is None:
            return len(self.of(document))
        _, form, text = known
        return len(text) if form is None else form.size_with(text)

    def keep_extended(self, document: Document, section: str, before: Document, field: str) -> None:
        """Keep the JSON of a new document that has an older section with one more field.

        Parameters
        ----------
        document : dict
            Of the kind of all such documents; a few of its sections are shared by many.
        section : str
            The name of the section in the document.
        before : dict
            The older section, without the field; many documents may share it.
        field : str
            The last field of the section.
        """
        metadata, status = document.get("metadata") or {}, document.get("status")
        # Half of the text of a small object; pods that were created together share them.
        owners = metadata.get(_OWNERS)
        key = (id(before), id(status), id(owners), *document)
        known = self._forms.get(key)
        if known is None:
            if len(self._forms) >= _FORMS_MAX:
                self._forms.clear()
            self._forms[key] = (before, status, owners), None
            self.keep(document, msgspec.json.encode(document))
            return
        form = known[1] or _form_of(document, section, before, field)
        if form is None or owners is None:
            self.keep(document, msgspec.json.encode(document))
            return
        self._forms[key] = known[0], form
        own = msgspec.json.encode(metadata | {_OWNERS: _RAW_PLACE}).split(_PLACE)
        self.keep_filled(document, form, (*own, msgspec.json.encode(document[section][field])))

    def keep(self, document: Document, text: bytes) -> None:
        """Keep the JSON of a new document."""
        self._keep((document, None, text))

    def keep_filled(self, document: Document, form: TextForm, values: Sequence[bytes]) -> None:
        """Keep the JSON of a new document as a form and its values; at least one."""
        self._keep((document, form, _BREAK.join(values)))

    def _keep(self, kept: _Kept) -> None:
        self._kept[id(kept[0])] = kept
        self._bytes += len(kept[2]) + _ENTRY_BYTES
        if self._bytes > self._max_bytes:
            self._release_oldest()

    def _release_oldest(self) -> None:
        # Many at once: the first entry of a dictionary is found behind all deleted ones.
        released = []
        for address, (_, _, oldest) in self._kept.items():
            if self._bytes <= self._max_bytes * _KEPT_SHARE:
                break
            released.append(address)
            self._bytes -= len(oldest) + _ENTRY_BYTES
        for address in released:
            del self._kept[address]

    def peek(self, document: Document) -> bytes:
        """Return a stored document as JSON without keeping it, for long lists."""
        known = self._kept.get(id(document))
        return msgspec.json.encode(document) if known is None else _text_of(known)

    def forget(self, document: Document) -> None:
        """Release a document that is not read again, and its JSON."""
        known = self._kept.pop(id(document), None)
        if known is not None:
            self._bytes -= len(known[2]) + _ENTRY_BYTES


def _text_of(kept: _Kept) -> bytes:
    _, form, text = kept
    return text if form is None else form.filled(text.split(_BREAK))


def _form_of(document: Document, section: str, before: Document, field: str) -> TextForm | None:
    """Return the form of documents with the same sections; None if they are in another order.

    It has places for the metadata before and after the owners, and for the field.
    """
    names = list(document)
    if "metadata" not in names or names.index("metadata") > names.index(section):
        return None
    owners = msgspec.json.encode(document["metadata"].get(_OWNERS))
    begin = msgspec.json.encode(before)[:-1] + (b"," if before else b"")
    shown = document | {
        "metadata": msgspec.Raw(b"%b%b%b" % (_PLACE, owners, _PLACE)),
        section: msgspec.Raw(b'%b"%b":%b}' % (begin, field.encode(), _PLACE)),
    }
    return TextForm(msgspec.json.encode(shown).split(_PLACE))
