"""Duplicates in lists of type set, and of keys in lists of type map.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from podwright.apimachinery.schema.structural.pruning import Schema
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, printed


def validate_list_types(errors: FieldErrors, value: Any, schema: Schema, path: str = "") -> None:
    """Check all lists in a value."""
    if isinstance(value, list):
        match schema.get("x-kubernetes-list-type"):
            case "set":
                for index in _repeated(value):
                    errors.duplicate(f"{path}[{index}]", value[index])
            case "map":
                _validate_keys(errors, value, schema, path)
            case _:
                pass
        items = schema.get("items")
        if isinstance(items, Mapping):
            for index, each in enumerate(value):
                validate_list_types(errors, each, items, f"{path}[{index}]")
    elif isinstance(value, dict):
        values = schema.get("additionalProperties")
        properties: Mapping[str, Any] = schema.get("properties") or {}
        for name, part in value.items():
            if isinstance(values, Mapping):
                validate_list_types(errors, part, values, f"{path}[{name}]")
            if name in properties:
                inner = f"{path}.{name}" if path else name
                validate_list_types(errors, part, properties[name], inner)


def _validate_keys(errors: FieldErrors, value: Sequence[Any], schema: Schema, path: str) -> None:
    for index, each in enumerate(value):
        if each is not None and not isinstance(each, dict):
            text = "must be an object for an array of list-type map"
            errors.invalid(f"{path}[{index}]", each, text)
            return
    names = schema.get("x-kubernetes-list-map-keys") or ()
    keys = [{name: each[name] for name in names if name in (each or {})} for each in value]
    for index in _repeated(keys):
        errors.duplicate(f"{path}[{index}]", keys[index])


def _repeated(values: Sequence[Any]) -> list[int]:
    """Return where a value occurs for the second time; further ones are not reported."""
    counts: dict[Hashable, int] = {}
    found = []
    for index, value in enumerate(values):
        key: Hashable = (type(value).__name__, value)
        if isinstance(value, dict | list):
            key = printed(_sorted(value))
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == 2:
            found.append(index)
    return found


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
