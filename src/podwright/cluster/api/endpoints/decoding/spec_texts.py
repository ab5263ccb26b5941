"""Specs of JSON bodies by their text: a spec that was read before is not decoded again.

The bodies of a template differ in little but their metadata. The text of the spec is found without
decoding it; the rest of the body is decoded with `null` in its place.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document

_TEXT_MIN_BYTES: Final = 64
"""Shorter specs are decoded faster than they are found."""

_TEXT_MAX_BYTES: Final = 64 * 1024
_SPECS_MAX: Final = 4_096
_SEEN_MAX: Final = 65_536


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    spec: msgspec.Raw = msgspec.Raw(b"")


_DECODER: Final = msgspec.json.Decoder(_Envelope)


class SpecTexts:
    """The specs of bodies by their text.

    All documents with a known text share its spec, which never changes.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, Document] = {}
        # Checksums of texts that occurred once: most specs of a cluster without templates.
        self._seen: set[int] = set()

    def split(self, body: bytes, text: bytes) -> tuple[bytes, Document] | None:
        """Return a body with `null` in the place of its spec, and the spec; None if not known.

        Parameters
        ----------
        body : bytes
        text : bytes
            The result of `spec_text` for it.
        """
        known = self._known.get(text) if text else None
        if known is None:
            return None
        start = body.find(text)
        return body[:start] + b"null" + body[start + len(text) :], known

    def keep(self, text: bytes, document: Document) -> bool:
        """Keep the spec of a decoded body without duplicate fields if its text occurs again.

        Return whether this is the first time; False too for a text that is never kept.
        """
        spec: Any = document.get("spec")
        if not text or not isinstance(spec, dict):
            return False
        checksum = zlib.crc32(text)
        if checksum not in self._seen:
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen.add(checksum)
            return True
        if len(self._known) >= _SPECS_MAX:
            self._known.clear()
        self._known[text] = spec
        return False


def spec_text(body: bytes) -> bytes:
    """Return the text of the last field `spec`; empty if it is short, long or absent."""
    try:
        text = bytes(_DECODER.decode(body).spec)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return b""
    return text if _TEXT_MIN_BYTES <= len(text) <= _TEXT_MAX_BYTES else b""
