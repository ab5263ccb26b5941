"""Documents with another field, or without some."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document


def without(document: Document, *names: str) -> Document:
    """Return a document without some fields."""
    return {name: value for name, value in document.items() if name not in names}


def with_part(document: Document, name: str, value: Any) -> Document:
    """Return a document with a field set; None removes it."""
    return without(document, name) if value is None else document | {name: value}
