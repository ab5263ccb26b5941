"""JSON merge patches: RFC 7386."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching.errors import PatchError, wrong_json


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
    The patch type is `application/merge-patch+json`.
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
        elif isinstance(value, list) and not isinstance(present, dict):
            made = _without_nulls(value)
        if made is present:
            continue
        if merged is document:
            merged = dict(document)
        merged[name] = made
    return merged


def _without_nulls(values: list[Any]) -> list[Any]:
    """Return a list without the nulls in its objects; the list itself keeps them.

    Upstream: gopkg.in/evanphx/json-patch.v4 merge.go, pruneAryNils
    """
    made = [
        _merged({}, each)
        if isinstance(each, dict)
        else _without_nulls(each)
        if isinstance(each, list)
        else each
        for each in values
    ]
    return values if made == values else made


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
