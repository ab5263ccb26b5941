"""JSON merge patches: RFC 7386."""

from __future__ import annotations

from typing import Any

from podwright.objects import Document
from podwright.patching.errors import PatchError, wrong_json


def merge_patched(document: Document, patch: Any) -> Document:
    """Return a document after a JSON merge patch; it shares what did not change.

    Parameters
    ----------
    document : dict
    patch : dict
        The patch as decoded from JSON.

    Raises
    ------
    PatchError
        The patch is not an object.

    Notes
    -----
    Upstream: the patch type `application/merge-patch+json`.
    """
    if patch is None:
        raise PatchError("Invalid JSON Patch")
    if not isinstance(patch, dict):
        go_type = "value of type map[string]interface {}"
        raise PatchError(f"error decoding patch: {wrong_json(patch, go_type)}")
    return _merged(document, patch)


def _merged(document: Document, patch: Document) -> Document:
    merged = document
    for name, value in patch.items():
        present = merged.get(name, _ABSENT)
        if value is None:
            if present is _ABSENT:
                continue
            if merged is document:
                merged = dict(document)
            del merged[name]
            continue
        made = value
        if isinstance(value, dict):
            made = _merged(present if isinstance(present, dict) else {}, value)
        if made is present:
            continue
        if merged is document:
            merged = dict(document)
        merged[name] = made
    return merged


_ABSENT: Any = object()
