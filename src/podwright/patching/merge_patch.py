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


def merge_difference(before: Document, after: Document) -> Document:
    """Return the smallest JSON merge patch that makes one document of another.

    Lists that differ are replaced whole: merge patches have nothing smaller.

    Parameters
    ----------
    before, after : dict
        Neither has nulls in `after`'s values: a merge patch cannot set one.
    """
    patch: Document = {name: None for name in before if name not in after}
    for name, value in after.items():
        present = before.get(name, _ABSENT)
        if isinstance(value, dict) and isinstance(present, dict):
            inner = merge_difference(present, value)
            if inner:
                patch[name] = inner
        elif value != present:
            patch[name] = value
    return patch


_ABSENT: Any = object()
