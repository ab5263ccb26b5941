"""Whether the defaults of a schema are valid values of it.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podwright.apimachinery.cel import OBJECT_COST_BUDGET, compile_rules
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.structural.object_metadata import validate_embedded
from podwright.apimachinery.schema.structural.pruning import META_FIELDS, Schema, pruned
from podwright.apimachinery.schema.structural.rules import rule_problems
from podwright.apimachinery.schema.structural.values import validate_value
from podwright.apimachinery.schema.validation.field_errors import FieldErrors


def default_problems(schema: Schema, path: str) -> list[Problem]:
    """Return what is wrong with the defaults of the schema of a whole object."""
    errors = FieldErrors()
    _validate(errors, schema, path, is_object=True)
    return errors.problems


def _validate(errors: FieldErrors, schema: Schema, path: str, *, is_object: bool = False) -> None:
    default = schema.get("default")
    if default is not None:
        _validate_default(errors, default, schema, f"{path}.default")
    items = schema.get("items")
    if isinstance(items, Mapping):
        _validate(errors, items, f"{path}.items")
    properties: Mapping[str, Any] = schema.get("properties") or {}
    is_object = is_object or bool(schema.get("x-kubernetes-embedded-resource"))
    for name in sorted(properties):
        # Metadata has the type of Go, whatever its schema is.
        if not (is_object and name in META_FIELDS):
            _validate(errors, properties[name], f"{path}.properties[{name}]")


def _validate_default(errors: FieldErrors, default: Any, schema: Schema, path: str) -> None:
    is_embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    _, unknown = pruned(default, schema, is_root=is_embedded)
    if unknown:
        errors.invalid(path, default, "must not have unknown fields")
    found = FieldErrors()
    validate_embedded(found, default, schema, path)
    if not found:
        validate_value(found, default, schema, path=path)
    if not found and (rules := compile_rules(schema)) is not None:
        for old in (default, None):
            problems, _ = rules.validate(default, old, OBJECT_COST_BUDGET)
            if problems:
                found.problems += rule_problems(problems, path)
                break
    errors.problems += found.problems
