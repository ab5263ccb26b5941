"""The strategic merge patch between two documents: what `kubectl edit` sends.

Upstream: k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, CreateTwoWayMergePatch. Here the
patch sets no order of lists, so that a person can read it.
"""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching.strategic_merge import field_type, list_field, strategic_merged
from podwright.apimachinery.schema import Kind, TypeRef


def strategic_difference(kind: Kind, before: Document, after: Document) -> Document | None:
    """Return a strategic merge patch that makes one document of another.

    Parameters
    ----------
    before, after : dict
        Without nulls as values.

    Returns
    -------
    dict, optional
        None if no such patch does it, for example because the order of a merged list differs, or
        several of its items have one key.
    """
    patch = _of_maps(before, after, TypeRef("", kind.row.type))
    return patch if strategic_merged(kind, before, patch) == after else None


def _of_maps(before: Document, after: Document, of: TypeRef) -> Document:
    patch: Document = {name: None for name in before if name not in after}
    for name, value in after.items():
        present = before.get(name)
        if value == present:
            continue
        if isinstance(value, dict) and isinstance(present, dict):
            patch[name] = _of_maps(present, value, field_type(of, name))
        elif isinstance(value, list) and isinstance(present, list):
            field = list_field(of, name)
            is_keyed = field.is_merged and field.key
            patch[name] = _of_lists(present, value, field.key, field.element) if is_keyed else value
        else:
            patch[name] = value
    return patch


def _of_lists(before: list[Any], after: list[Any], key: str, of: TypeRef) -> list[Any]:
    present = {each.get(key): each for each in before}
    kept = {each.get(key) for each in after}
    patch: list[Any] = [{"$patch": "delete", key: name} for name in present if name not in kept]
    for each in after:
        name = each.get(key)
        old = present.get(name)
        if old is None:
            patch.append(each)
        elif old != each:
            patch.append({key: name, **_of_maps(old, each, of)})
    return patch
