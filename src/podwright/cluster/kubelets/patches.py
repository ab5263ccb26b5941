"""Patches of documents: JSON patch, merge patch, and Kubernetes' strategic merge patch.

The original document is not modified; the result shares its unchanged parts.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from podwright.apimachinery.schema import built_in

PatchType: TypeAlias = Literal["json", "merge", "strategic"]

_MERGED: Final = tuple(
    field
    for name in ("Pod", "Node")
    if (kind := built_in().of("", name)) is not None
    for field in kind.fields()
    if field.is_merged
)

MERGE_KEYS: Final[dict[str, str]] = {
    field.name: field.merge_key for field in _MERGED if field.merge_key
}
"""The lists of pods and nodes whose entries are merged, and their merge keys (`patchMergeKey`).
All other lists are replaced. A field of this name has the same key in every struct."""

MERGED_SETS: Final = frozenset(field.name for field in _MERGED if not field.merge_key)
"""The lists of scalars that are merged (`patchStrategy: merge`)."""


class PatchError(ValueError):
    """A patch that cannot be applied."""


def apply_patch(document: Any, patch: Any, kind: PatchType) -> Any:
    """Return the document with a patch of one of the three kinds.

    Raises
    ------
    PatchError
        The patch is malformed for its kind, or does not apply to the document.
    """
    return _APPLY[kind](document, patch)


# ------------------------------------------------------------------------- merge patch


def merge_patch(document: Any, patch: Any) -> Any:
    """Return the document with a JSON merge patch (RFC 7386); null removes a field."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


# --------------------------------------------------------------------- strategic merge


def strategic_patch(document: Any, patch: Any) -> Any:
    """Return the document with a strategic merge patch.

    Supported directives are `$patch` (merge, replace, delete), `$setElementOrder/…`,
    `$deleteFromPrimitiveList/…` and `$retainKeys`.
    """
    if not isinstance(patch, dict):
        raise PatchError("a strategic merge patch is an object")
    return _merge_maps(document if isinstance(document, dict) else {}, patch)


def plain_patch(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return the document with a strategic merge patch that has no directives.

    A faster equivalent of `strategic_patch` for patches without directives and sets, and with nulls
    only at the top level, in maps that exist, and in entries of merged lists. The result shares
    unmerged parts with the patch.
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


def _merge_maps(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    directive = patch.get("$patch", "merge")
    if directive not in {"merge", "replace", "delete"}:
        raise PatchError(f'$patch: "{directive}" is none of merge, replace, delete')
    if directive == "delete":
        return {}
    merged = dict(document) if directive == "merge" else {}
    if "$retainKeys" in patch:
        retained = patch["$retainKeys"]
        merged = {key: value for key, value in merged.items() if key in retained}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_field(key, merged.get(key), value)
    # These directives apply to merged lists, so they follow the merge of all fields.
    for key, value in patch.items():
        directive, _, name = key.partition("/")
        if directive == "$deleteFromPrimitiveList":
            merged[name] = [entry for entry in merged.get(name) or () if entry not in value]
        elif directive == "$setElementOrder" and name in merged:
            merged[name] = _ordered(name, merged[name], value)
    return merged


def _merge_field(key: str, current: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return _merge_maps(current if isinstance(current, dict) else {}, value)
    if isinstance(value, list):
        if key in MERGE_KEYS and all(isinstance(entry, dict) for entry in value):
            return _merge_lists(MERGE_KEYS[key], current or [], value)
        if key in MERGED_SETS:
            present = list(current or ())
            return [*present, *(entry for entry in value if entry not in present)]
    return value


def _merge_lists(
    merge_key: str, current: list[dict[str, Any]], patch: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    merged = [] if any(entry.get("$patch") == "replace" for entry in patch) else list(current)
    for entry in patch:
        if entry.get("$patch") == "replace":
            if len(entry) > 1:
                merged.append(_merge_maps({}, entry))
            continue
        if merge_key not in entry:
            raise PatchError(f'an entry of a list has no "{merge_key}" to find it by')
        name = entry[merge_key]
        index = next((i for i, old in enumerate(merged) if old.get(merge_key) == name), None)
        if entry.get("$patch") == "delete":
            if index is not None:
                del merged[index]
        elif index is None:
            merged.append(_merge_maps({}, entry))
        else:
            merged[index] = _merge_maps(merged[index], entry)
    return merged


def _ordered(name: str, entries: list[Any], order: list[Any]) -> list[Any]:
    """Return the entries in the given order; entries without a position keep theirs."""
    merge_key = MERGE_KEYS.get(name)

    def name_of(entry: Any) -> Any:
        return entry.get(merge_key) if merge_key and isinstance(entry, dict) else entry

    places = {name_of(entry): index for index, entry in reversed(list(enumerate(order)))}
    named = iter(
        sorted(
            (entry for entry in entries if name_of(entry) in places),
            key=lambda entry: places[name_of(entry)],
        )
    )
    return [next(named) if name_of(entry) in places else entry for entry in entries]


# -------------------------------------------------------------------------- JSON patch


def json_patch(document: Any, patch: Any) -> Any:
    """Return the document with a JSON patch (RFC 6902)."""
    if not isinstance(patch, list):
        raise PatchError("a JSON patch is a list of operations")
    for operation in patch:
        if not isinstance(operation, dict) or operation.get("op") not in _OPERATIONS:
            listed = ", ".join(_OPERATIONS)
            raise PatchError(f'an operation has an "op" out of {listed}')
        document = _OPERATIONS[operation["op"]](document, operation)
    return document


def _path_of(operation: dict[str, Any], name: str = "path") -> list[str]:
    path = operation.get(name)
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise PatchError(f'"{name}" is a path that starts with "/"')
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _at(document: Any, path: list[str]) -> Any:
    for part in path:
        document = _child(document, part)
    return document


def _child(document: Any, part: str) -> Any:
    try:
        return document[int(part)] if isinstance(document, list) else document[part]
    except (LookupError, TypeError, ValueError):
        raise PatchError(f'there is no "{part}" where the path leads') from None


def _changed(document: Any, path: list[str], change: Callable[[Any, str], Any]) -> Any:
    """Return a copy with the container at the end of the path changed."""
    if not path:
        raise PatchError("the whole document cannot be changed so")
    copy = dict(document) if isinstance(document, dict) else document
    copy = list(copy) if isinstance(copy, list) else copy
    if len(path) == 1:
        return change(copy, path[0])
    child = _changed(_child(copy, path[0]), path[1:], change)
    if isinstance(copy, list):
        copy[int(path[0])] = child
    else:
        copy[path[0]] = child
    return copy


def _put(value: Any) -> Callable[[Any, str], Any]:
    def change(container: Any, part: str) -> Any:
        if isinstance(container, list):
            index = len(container) if part == "-" else _place(part, len(container))
            container.insert(index, value)
        elif isinstance(container, dict):
            container[part] = value
        else:
            raise PatchError(f'there is no place for "{part}" where the path leads')
        return container

    return change


def _place(part: str, last: int) -> int:
    if not part.isdigit() or int(part) > last:
        raise PatchError(f'"{part}" is not an index of a list of {last}')
    return int(part)


def _drop(container: Any, part: str) -> Any:
    _child(container, part)
    del container[int(part) if isinstance(container, list) else part]
    return container


def _add(document: Any, operation: dict[str, Any]) -> Any:
    path = _path_of(operation)
    value = operation.get("value")
    return _changed(document, path, _put(value)) if path else value


def _remove(document: Any, operation: dict[str, Any]) -> Any:
    return _changed(document, _path_of(operation), _drop)


def _replace(document: Any, operation: dict[str, Any]) -> Any:
    path = _path_of(operation)
    if not path:
        return operation.get("value")
    return _changed(_changed(document, path, _drop), path, _put(operation.get("value")))


def _copy(document: Any, operation: dict[str, Any]) -> Any:
    value = _at(document, _path_of(operation, "from"))
    return _changed(document, _path_of(operation), _put(value))


def _move(document: Any, operation: dict[str, Any]) -> Any:
    origin = _path_of(operation, "from")
    value = _at(document, origin)
    return _changed(_changed(document, origin, _drop), _path_of(operation), _put(value))


def _test(document: Any, operation: dict[str, Any]) -> Any:
    if _at(document, _path_of(operation)) != operation.get("value"):
        raise PatchError(f'the test of "{operation["path"]}" fails')
    return document


_OPERATIONS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "add": _add,
    "copy": _copy,
    "move": _move,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
}

_APPLY: dict[PatchType, Callable[[Any, Any], Any]] = {
    "json": json_patch,
    "merge": merge_patch,
    "strategic": strategic_patch,
}
