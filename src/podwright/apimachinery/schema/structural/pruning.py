"""Removal of the fields that a structural schema does not specify.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document

Schema: TypeAlias = Mapping[str, Any]
"""A structural schema, decoded from JSON."""

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""The fields of a whole object that no schema needs to specify."""


def pruned(value: Any, schema: Schema | None, *, is_root: bool = False) -> tuple[Any, list[str]]:
    """Return a value without unknown fields, and their paths in order.

    Parameters
    ----------
    value : Any
        Decoded JSON.
    schema : mapping or None
        Without a schema every field is unknown.
    is_root : bool
        Whether the value is a whole object with `apiVersion`, `kind` and `metadata`.
    """
    unknown: list[str] = []
    found = _pruned(value, schema, "", unknown, is_object=is_root)
    return found, sorted(unknown)


def _pruned(
    value: Any, schema: Schema | None, path: str, unknown: list[str], *, is_object: bool = False
) -> Any:
    if not isinstance(value, dict | list):
        return value
    keeps = schema is not None and bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(value, list):
        items = None if schema is None else schema.get("items")
        if keeps and items is None:
            return value
        # The items of a list that keeps unknown fields keep them too.
        if keeps and isinstance(items, Mapping):
            items = {**items, "x-kubernetes-preserve-unknown-fields": True}
        made = [
            _pruned(each, items, f"{path}[{index}]", unknown) for index, each in enumerate(value)
        ]
        return _shared(value, made)
    return _pruned_fields(value, schema, path, unknown, keeps=keeps, is_object=is_object)


def _pruned_fields(
    value: Document,
    schema: Schema | None,
    path: str,
    unknown: list[str],
    *,
    keeps: bool,
    is_object: bool,
) -> Document:
    prefix = f"{path}." if path else ""
    if schema is None:
        unknown += [f"{prefix}{name}" for name in value]
        return {} if value else value
    is_object = is_object or bool(schema.get("x-kubernetes-embedded-resource"))
    properties: Mapping[str, Any] = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    made: Document = {}
    for name, part in value.items():
        if is_object and name in META_FIELDS:
            made[name] = part
        elif name in properties:
            made[name] = _pruned(part, properties[name], f"{prefix}{name}", unknown)
        elif values is not None:
            inner = values if isinstance(values, Mapping) else None
            made[name] = _pruned(part, inner, f"{prefix}{name}", unknown)
        elif keeps:
            made[name] = part
        else:
            unknown.append(f"{prefix}{name}")
    is_same = len(made) == len(value) and all(made[name] is value[name] for name in made)
    return value if is_same else made


def _shared(value: list[Any], made: list[Any]) -> list[Any]:
    """Return the list itself if none of its items changed."""
    return value if all(one is other for one, other in zip(value, made, strict=True)) else made
