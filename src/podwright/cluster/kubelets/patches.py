"""Patches by stages: as the API server applies them, and faster ones of built-in stages.

The original document is not modified; the result shares its unchanged parts.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, without_nulls
from podwright.apimachinery.patching import (
    PatchError,
    json_patched,
    merge_patched,
    strategic_merged,
)
from podwright.apimachinery.schema import built_in

PatchType: TypeAlias = Literal["json", "merge", "strategic"]

MERGE_KEYS: Final[dict[str, str]] = {
    field.name: field.merge_key
    for name in ("Pod", "Node")
    if (kind := built_in().of("", name)) is not None
    for field in kind.fields()
    if field.is_merged and field.merge_key
}
"""The lists of pods and nodes whose entries are merged, and their merge keys (`patchMergeKey`).
All other lists are replaced. A field of this name has the same key in every struct."""


def apply_patch(document: Document, patch: Any, patch_type: PatchType) -> Document:
    """Return the document with a patch of one of the three types.

    Raises
    ------
    PatchError
        The patch is malformed for its type, or does not apply to the document.
    """
    match patch_type:
        case "merge":
            return merge_patched(document, patch)
        case "strategic":
            kind = built_in().find(document["apiVersion"], document["kind"])
            if kind is None:
                raise PatchError("strategic merge patches are for kinds of Kubernetes only")
            return strategic_merged(kind, document, _new_last(document, patch))
        case "json":
            if not isinstance(patch, list):
                raise PatchError("a JSON patch is a list of operations")
            for operation in patch:
                try:
                    document = json_patched(document, [operation])
                except PatchError as error:
                    # The API server does not say which operation it rejects.
                    text = msgspec.json.encode(operation).decode()
                    raise PatchError(f"operation {text}: {error}") from None
            return document


def _new_last(document: Document, patch: Any) -> Any:
    """Return a strategic merge patch whose new entries of lists stand last, without nulls.

    This is what `plain_patch` does. The API server puts new entries first, unless the patch sets
    an order, and drops their nulls when it decodes the object.
    """
    if not isinstance(patch, dict):
        return patch
    made = dict(patch)
    for name, value in patch.items():
        present, key = document.get(name), MERGE_KEYS.get(name, "")
        if isinstance(present, dict):
            made[name] = _new_last(present, value)
        elif isinstance(value, list) and value and key and _are_entries(value, key):
            names = dict.fromkeys(each[key] for each in present or ())
            entries: dict[Any, Document] = {}
            for each in value:
                entries[each[key]] = entries.get(each[key], {}) | each
            order = list(entries)
            if f"$setElementOrder/{name}" not in patch:
                order = list(names | dict.fromkeys(entries))
                made[f"$setElementOrder/{name}"] = [{key: each} for each in order]
            made[name] = [
                entries[each] if each in names else without_nulls(entries[each])
                for each in order
                if each in entries
            ]
    return made


def _are_entries(value: list[Any], key: str) -> bool:
    return all(isinstance(each, dict) and key in each and "$patch" not in each for each in value)


def plain_patch(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return the document with a strategic merge patch that has no directives.

    Faster than `strategic_merged`, for patches without directives and sets, and with nulls only at
    the top level, in maps that exist, and in entries of merged lists. New entries stand last. The
    result shares unmerged parts with the patch.
    """
    merged = dict(document)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        current = merged.get(key)
        if type(current) is dict and type(value) is dict:
            merged[key] = plain_patch(current, value)
        elif key in MERGE_KEYS:
            merged[key] = _plain_lists(MERGE_KEYS[key], current or [], value)
        else:
            merged[key] = value
    return merged


def _plain_lists(
    merge_key: str, current: list[dict[str, Any]], patch: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    merged = list(current)
    for entry in patch:
        name = entry[merge_key]
        for index, old in enumerate(merged):
            if old.get(merge_key) == name:
                merged[index] = plain_patch(old, entry)
                break
        else:
            merged.append(plain_patch({}, entry) if None in entry.values() else entry)
    return merged
