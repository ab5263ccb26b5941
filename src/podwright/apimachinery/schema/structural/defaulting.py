"""Defaults of a structural schema, and nulls where no null is allowed.

Defaults apply to absent fields, and to nulls of fields that are not nullable. Other nulls of such
fields are removed.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/
{algorithm,prunenulls}.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from podwright.apimachinery import cel
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.strict_structs import UNKNOWN_FIELD
from podwright.apimachinery.schema.structural.shape import (
    META_FIELDS,
    Schema,
    _shared,
    embedded_problems,
    own_schemas,
    pruned,
    validate_embedded,
)
from podwright.apimachinery.schema.structural.values import rule_problems, validate_value
from podwright.apimachinery.schema.validation.field_errors import FieldErrors


def has_defaults(schema: Schema) -> bool:
    """Whether a schema or one below it has a default."""
    return any(each.get("default") is not None for each in own_schemas(schema))


def with_defaults(value: Any, schema: Schema | None) -> Any:
    """Return a value with the defaults of its schema."""
    if schema is None or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return value
        made = [with_defaults(_replaced(each, items), items) for each in value]
        return _shared(value, made)
    properties: Mapping[str, Any] = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    filled = dict(value)
    for name, part in properties.items():
        default = part.get("default")
        if default is not None and (
            name not in filled or (filled[name] is None and not part.get("nullable"))
        ):
            filled[name] = default
    for name, inner in filled.items():
        if name in properties:
            filled[name] = with_defaults(inner, properties[name])
        elif isinstance(values, Mapping):
            filled[name] = with_defaults(_replaced(inner, values), values)
    is_same = len(filled) == len(value) and all(filled[name] is value[name] for name in value)
    return value if is_same else filled


def _replaced(value: Any, schema: Schema) -> Any:
    """Return the default of a schema for a null that is not allowed."""
    return schema.get("default") if value is None and not schema.get("nullable") else value


def without_nulls(value: Any, schema: Schema | None) -> Any:
    """Return a value without the nulls that are neither allowed nor replaced by a default."""
    if not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        items = None if schema is None else schema.get("items")
        inner = items if isinstance(items, Mapping) else None
        return _shared(value, [without_nulls(each, inner) for each in value])
    made = {}
    for name, part in value.items():
        of = _field_schema(schema, name)
        if part is None and of is not None and _allows_no_null(of):
            continue
        made[name] = without_nulls(part, of)
    is_same = len(made) == len(value) and all(made[name] is value[name] for name in made)
    return value if is_same else made


def _allows_no_null(schema: Schema) -> bool:
    return not schema.get("nullable") and schema.get("default") is None


def _field_schema(schema: Schema | None, name: str) -> Schema | None:
    if schema is None:
        return None
    own: Schema | None = (schema.get("properties") or {}).get(name)
    if own is not None:
        return own
    values = schema.get("additionalProperties")
    return values if isinstance(values, Mapping) else None


# Whether the defaults of a schema are valid values of it.


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
    wrong = (each for each in embedded_problems(default, schema, path) if each[1] != UNKNOWN_FIELD)
    found.problems += islice(wrong, 1)
    if not found:
        validate_embedded(found, default, schema, path)
    if not found:
        validate_value(found, default, schema, path=path)
    if not found and (rules := cel.compile_rules(schema)) is not None:
        for old in (default, None):
            problems, _ = rules.validate(default, old, spares_unchanged=False)
            if problems:
                found.problems += rule_problems(problems, path)
                break
    errors.problems += found.problems
