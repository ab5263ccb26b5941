"""JSON patches: RFC 6902, with the departures of the library that the API server uses.

These are: `replace` adds a missing key of an object; `test` with null passes for a missing key;
a missing `value` is null; a negative index counts from the end of a list; the part of a path
before the first slash is ignored.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go,
gopkg.in/evanphx/json-patch.v4
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, parse_int64
from podwright.apimachinery.patching.errors import FailedTestError, PatchError, rejected, wrong_json

MOST_OPERATIONS: Final = 10_000
"""The most operations of one patch."""
_MOST_COPIED_BYTES: Final = 3 * 1024 * 1024
_OPERATION_FIELDS: Final = ("op", "path", "from", "value")
_STRINGS: Final = ("op", "path", "from")
_MISSING_PATHS: Final = {
    "add": 'add operation does not apply: doc is missing path: "{}": missing value',
    "remove": 'remove operation does not apply: doc is missing path: "{}": missing value',
    "replace": "replace operation does not apply: doc is missing path: {}: missing value",
}


def json_patched(document: Document, patch: Any) -> Document:
    """Return a document after a JSON patch; it shares what did not change.

    Parameters
    ----------
    document : dict
    patch : list of dict
        The operations as decoded from JSON.

    Raises
    ------
    PatchError
        The patch is not a list of operations, or an operation cannot be done; a
        `FailedTestError` if it is a test.
    """
    operations = _operations(patch)
    edited = _Edited(document)
    for operation in operations:
        edited.do(operation)
    if not isinstance(edited.root, dict):
        raise rejected()
    return edited.root


def json_patch_warnings(patch: list[Document]) -> list[str]:
    """Return the unknown fields of operations, as strict field validation reports them."""
    return [
        f'json patch unknown field "[{index}].{name}"'
        for index, operation in enumerate(patch)
        for name in operation or ()
        if name not in _OPERATION_FIELDS
    ]


def _operations(patch: Any) -> list[Document]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        go_type = "value of type []handlers.jsonPatchOp"
        raise PatchError(f"error decoding patch: {wrong_json(patch, go_type)}")
    # An operation that is null has no path, and cannot be done.
    operations: list[Any] = [{} if each is None else each for each in patch]
    for operation in operations:
        if not isinstance(operation, dict):
            go_type = "value of type handlers.jsonPatchOp"
            raise PatchError(f"error decoding patch: {wrong_json(operation, go_type)}")
        for name in _STRINGS:
            value = operation.get(name)
            if value is not None and not isinstance(value, str):
                go_type = f"struct field jsonPatchOp.{name} of type string"
                raise PatchError(f"error decoding patch: {wrong_json(value, go_type)}")
    if len(patch) > MOST_OPERATIONS:
        raise PatchError(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MOST_OPERATIONS}, got {len(patch)}",
            code=413,
            reason="RequestEntityTooLarge",
        )
    return operations


class _Edited:
    """A document that is edited; containers are copied before their first change."""

    def __init__(self, document: Document) -> None:
        self.root: Any = document
        # By id, the containers that only this edit refers to; the values keep the ids valid.
        self._copies: dict[int, Any] = {}
        self._copied_bytes = 0

    def do(self, operation: Document) -> None:
        path = operation.get("path")
        if path is None:
            raise rejected()
        value = operation.get("value")
        match operation.get("op"):
            case "add":
                self._add(path, value)
            case "remove":
                self._remove(path)
            case "replace":
                self._replace(path, value)
            case "move":
                self._move(operation.get("from"), path)
            case "copy":
                self._copy(operation.get("from"), path)
            case "test":
                self._test(path, value)
            case _:
                raise rejected()

    def _add(self, path: str, value: Any) -> None:
        container, key = self._editable(path, "add")
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            container.insert(_index(key, len(container) + 1), value)

    def _remove(self, path: str) -> None:
        container, key = self._editable(path, "remove")
        if isinstance(container, list):
            del container[_index(key, len(container))]
        elif key in container:
            del container[key]
        else:
            text = f"Unable to remove nonexistent key: {key}: missing value"
            raise rejected(f"error in remove for path: '{path}': {text}")

    def _replace(self, path: str, value: Any) -> None:
        if path == "":
            self.root = value
            return
        container, key = self._editable(path, "replace")
        if isinstance(container, dict):
            container[key] = value
        else:
            container[_index(key, len(container))] = value

    def _move(self, source: str | None, path: str) -> None:
        value = self._at(source)
        self._remove(source or "")
        self._add(path, value)

    def _copy(self, source: str | None, path: str) -> None:
        value = self._at(source)
        encoded = msgspec.json.encode(value)
        self._copied_bytes += len(encoded)
        if self._copied_bytes > _MOST_COPIED_BYTES:
            raise rejected()
        self._add(path, msgspec.json.decode(encoded))

    def _test(self, path: str, value: Any) -> None:
        present = self.root if path == "" else self._at(path)
        if not _equal(present, value):
            raise FailedTestError

    def _at(self, path: str | None) -> Any:
        """Return the value at a path; None for a missing key of an object."""
        if path is None:
            raise rejected()
        *parents, key = _keys(path)
        container = self.root
        for part in parents:
            container = _inside(container, part)
        return _inside(container, key)

    def _editable(self, path: str, operation: str) -> tuple[Any, str]:
        """Return the container of a path, copied up to the root, and the last key."""
        try:
            return self._container(path)
        except PatchError:
            raise rejected(_MISSING_PATHS[operation].format(path)) from None

    def _container(self, path: str) -> tuple[Any, str]:
        *parents, key = _keys(path)
        container = self.root = self._own(self.root)
        for part in parents:
            inside = self._own(_inside(container, part))
            if isinstance(container, dict):
                container[part] = inside
            else:
                container[_index(part, len(container))] = inside
            container = inside
        return container, key

    def _own(self, container: Any) -> Any:
        if id(container) in self._copies:
            return container
        if not isinstance(container, dict | list):
            raise rejected()
        copied = container.copy()
        self._copies[id(copied)] = copied
        return copied


def _keys(path: str) -> list[str]:
    _, slash, rest = path.partition("/")
    if not slash:
        raise rejected()
    return [part.replace("~1", "/").replace("~0", "~") for part in rest.split("/")]


def _inside(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    if isinstance(container, list):
        return container[_index(key, len(container))]
    raise rejected()


def _index(key: str, size: int) -> int:
    """Return a list index from 0; a negative key counts from the end."""
    index = parse_int64(key)
    if index is None:
        raise rejected()
    if index < 0:
        index += size
    if not 0 <= index < size:
        raise rejected()
    return index


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: 1, 1.0 and true differ."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


# JSON merge patches: RFC 7386.


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
