"""Validation of values against a schema: types, enumerations, ranges, patterns, formats, sizes.

The order of the errors, their texts, and which of several alternatives is reported are upstream's.
An error of a part that an update does not change is left out (`correlation`).

Upstream: k8s.io/kube-openapi/pkg/validation/validate,
k8s.io/kube-openapi/pkg/validation/errors/schema.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/{validation,ratcheting}.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go;
staging/src/k8s.io/apiserver/pkg/cel/common/equality.go.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from podwright.apimachinery import cel
from podwright.apimachinery.objects import go_number
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.structural.formats import (
    NUMBER_FORMATS,
    has_format,
    known_format,
)
from podwright.apimachinery.schema.structural.shape import Schema
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

_JSON_TYPES: Final = {
    bool: ("boolean", ""), str: ("string", ""), int: ("integer", "int64"),
    float: ("number", "float64"), list: ("array", ""), dict: ("object", ""),
}  # fmt: skip
_NUMBER_FORMATS: Final = frozenset().union(*NUMBER_FORMATS.values())
_INT32: Final = (-(2**31), 2**31 - 1)
_INT64: Final = (-(2**63), 2**63 - 1)
_FLOAT32_MAX: Final = 3.4028234663852886e38


class _Fault(msgspec.Struct, frozen=True):
    """One error.

    Attributes
    ----------
    text : str
        Identifies the error: the same one is reported once.
    name : str or None
        The path; None for an error without a field.
    kind : str
        How it is written: `required`, `enum`, `too-long`, `too-many`, `type`, or "" for others.
    value, limit : Any
    """

    text: str
    name: str | None = None
    kind: str = ""
    value: Any = None
    limit: Any = None


class _Result:
    """The errors of a value, and how many checks ran: the best alternative has most of them."""

    __slots__ = ("count", "faults")

    def __init__(self, *faults: _Fault) -> None:
        self.faults = list(faults)
        self.count = 0

    def merge(self, other: _Result | None) -> None:
        if other is not None:
            self.add(other.faults)
            self.count += other.count

    def ran(self, check: _Result | None) -> None:
        """Merge the result of a check, and count it."""
        self.merge(check)
        self.count += 1

    def add(self, faults: Iterable[_Fault]) -> None:
        for fault in faults:
            if all(fault.text != each.text for each in self.faults):
                self.faults.append(fault)


def validate_value(
    errors: FieldErrors,
    value: Any,
    schema: Schema,
    *,
    path: str = "",
    old: Correlation | None = None,
) -> None:
    """Check a value against its schema.

    Parameters
    ----------
    errors : FieldErrors
    value : Any
        Decoded JSON.
    schema : mapping
        Of the value.
    path : str
        The field of the value in its object, which starts the paths, but not the texts.
    old : Correlation, optional
        The value with its stored counterpart: errors of what did not change are left out.
    """
    for fault in _ratcheted(value, schema, "", old).faults:
        _report(errors, fault, path)


def _report(errors: FieldErrors, fault: _Fault, path: str) -> None:
    name = (fault.name or "").removeprefix(".")
    at = (f"{path}.{name}" if path else name) if name else path or "<nil>"
    match fault.kind:
        case "required":
            errors.required(at)
        case "enum":
            shown = [
                each if isinstance(each, str) else json.dumps(each, separators=(",", ":"))
                for each in fault.limit
            ]
            errors.unsupported(at, fault.value, shown)
        case "too-long":
            errors.too_long(at, fault.limit)
        case "too-many":
            errors.too_many(at, fault.value, fault.limit)
        case _:
            errors.invalid(at, "" if fault.value is None else fault.value, fault.text)


# ------------------------------------------------------------------------- one value


def _ratcheted(value: Any, schema: Schema, path: str, old: Correlation | None) -> _Result:
    found = _validated(value, schema, path, old)
    if found.faults and old is not None and old.is_unchanged():
        found.faults = []
    return found


def _validated(value: Any, schema: Schema, path: str, old: Correlation | None) -> _Result:
    result = _Result()
    if value is None:
        result.merge(_check_type(value, schema, path))
        result.merge(_check_enum(value, schema, path))
        return result
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if schema.get("type") or _format_of(schema) or _is_int_or_string(schema):
        result.ran(_check_type(value, schema, path))
    result.ran(_check_alternatives(value, schema, path, old))
    if isinstance(value, str):
        result.ran(_check_text(value, schema, path))
        if (name := _format_of(schema)) and name not in _NUMBER_FORMATS:
            result.ran(_check_format(value, name, path))
    if is_number:
        result.ran(_check_number(value, schema, path))
    if isinstance(value, list):
        result.ran(_check_list(value, schema, path, old))
    result.ran(_check_enum(value, schema, path))
    if isinstance(value, dict):
        result.ran(_check_object(value, schema, path, old))
    result.count += 1
    return result


def _is_int_or_string(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string"))


def _types(schema: Schema) -> tuple[str, ...]:
    if _is_int_or_string(schema):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _format_of(schema: Schema) -> str:
    name = schema.get("format")
    if not name:
        return ""
    return known_format(name, "" if _is_int_or_string(schema) else schema.get("type") or "")


def _type_fault(path: str, expected: str, value: str) -> _Fault:
    text = f"{path} in body must be of type {expected}: {json.dumps(value, ensure_ascii=False)}"
    return _Fault(text, path, "type", value)


def _check_type(value: Any, schema: Schema, path: str) -> _Result:
    types, format_ = _types(schema), _format_of(schema)
    result = _Result()
    result.count = 1
    if value is None:
        if types and not schema.get("nullable"):
            return _Result(_type_fault(path, ",".join(types), "null"))
        return result
    found, found_format = _JSON_TYPES[type(value)]
    is_whole = isinstance(value, float) and _is_whole(value) and "integer" in types
    is_widened = found == "integer" and "number" in types
    is_text = isinstance(value, str | list)
    fits = found in types or is_whole or is_widened
    if not is_text and format_ and not fits and found_format != format_:
        return _Result(_type_fault(path, format_, found_format))
    if format_ and is_text and not {"number", "integer"} & {*types}:
        return result
    if not fits:
        return _Result(_type_fault(path, ",".join(types), found))
    return result


def _is_whole(number: float) -> bool:
    if not math.isfinite(number) or abs(number) > 2**53 - 1:
        return False
    nearest = math.trunc(number)
    if number == nearest:
        return True
    return abs(number - nearest) / (abs(number) + abs(nearest)) < 1e-9


def _check_enum(value: Any, schema: Schema, path: str) -> _Result | None:
    allowed = schema.get("enum")
    if not allowed or any(each is not None and _is_allowed(value, each) for each in allowed):
        return None
    text = f"{path} in body should be one of {allowed}"
    return _Result(_Fault(text, path, "enum", value, allowed))


def _is_allowed(value: Any, allowed: Any) -> bool:
    if isinstance(value, bool) or isinstance(allowed, bool):
        return value is allowed
    if isinstance(value, float) and isinstance(allowed, int) and math.isfinite(value):
        return math.trunc(value) == allowed  # as Go converts it
    return bool(value == allowed)


def _check_text(value: str, schema: Schema, path: str) -> _Result | None:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > longest:
        text = f"{path} in body should be at most {longest} chars long"
        return _Result(_Fault(text, path, "too-long", value, longest))
    if shortest is not None and len(value) < shortest:
        text = f"{path} in body should be at least {shortest} chars long"
        return _Result(_Fault(text, path, value=value))
    pattern = schema.get("pattern")
    if not pattern:
        return None
    shown = pattern
    try:
        if cel.compile_pattern(pattern).search(value) is not None:
            return None
    except cel.PatternError as error:
        shown = f"{pattern}, but pattern is invalid: {error}"
    return _Result(_Fault(f"{path} in body should match '{shown}'", path, value=value))


def _check_format(value: str, name: str, path: str) -> _Result | None:
    return None if has_format(value, name) else _Result(_type_fault(path, name, value))


# --------------------------------------------------------------------------- numbers


def _check_number(value: float, schema: Schema, path: str) -> _Result:
    result = _Result()
    result.add(_range_faults(value, schema, "Checked", path))
    factor = schema.get("multipleOf")
    if factor is not None:
        found = list(_range_faults(factor, schema, "MultipleOf", path))
        found += _multiple_faults(value, factor, path, is_native=not found)
        result.add(found)
    for name, shown, bound, word in (
        ("minimum", "Minimum boundary", "exclusiveMinimum", "greater"),
        ("maximum", "Maximum boundary", "exclusiveMaximum", "less"),
    ):
        limit = schema.get(name)
        if limit is None:
            continue
        found = list(_range_faults(limit, schema, shown, path))
        is_native = not found and isinstance(value, int)
        most = math.trunc(limit) if is_native else float(limit)
        is_exclusive = bool(schema.get(bound))
        excess = value - most if name == "maximum" else most - value
        if excess > 0 or (is_exclusive and excess == 0):
            than = f"{word} than" if is_exclusive else f"{word} than or equal to"
            text = f"{path} in body should be {than} {go_number(most)}"
            found.append(_Fault(text, path, value=value))
        result.add(found)
    result.count += 1
    return result


def _multiple_faults(
    value: float, factor: float, path: str, *, is_native: bool
) -> Iterable[_Fault]:
    if is_native and isinstance(value, int):
        factor = math.trunc(factor)
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {go_number(factor)}"
        return [_Fault(text, path, value=factor)]
    if isinstance(value, int) and isinstance(factor, int):
        is_multiple = value % factor == 0
    else:
        quotient = 1 / factor * value if factor < 1 else value / factor
        is_multiple = _is_whole(float(quotient))
    if is_multiple:
        return []
    text = f"{path} in body should be a multiple of {go_number(factor)}"
    return [_Fault(text, path, value=value)]


def _range_faults(value: float, schema: Schema, prefix: str, path: str) -> Iterable[_Fault]:
    """Return an error of a number that the type and the format cannot hold."""
    type_ = "" if _is_int_or_string(schema) else schema.get("type") or ""
    format_ = _format_of(schema) if type_ in ("integer", "number") else ""
    if type_ == "integer":
        low, high = _INT32 if format_ == "int32" else _INT64
        is_whole = isinstance(value, int) or value.is_integer()
        if is_whole and low <= value <= high:
            return []
    elif format_ != "float" or abs(value) <= _FLOAT32_MAX:
        return []
    shown = f"with format {format_}" if format_ else "(default format)"
    return [_Fault(f"{prefix} value must be of type {type_} {shown} in {path}")]


# ------------------------------------------------------------------- lists and objects


def _check_list(value: list[Any], schema: Schema, path: str, old: Correlation | None) -> _Result:
    result = _Result()
    items = schema.get("items")
    if isinstance(items, Mapping):
        for index, each in enumerate(value):
            inner = None if old is None else old.item(index)
            result.merge(_ratcheted(each, items, f"{path}[{index}]", inner))
    result.add(_count_faults(len(value), schema, "Items", path))
    result.count += 1
    return result


def _count_faults(count: int, schema: Schema, what: str, path: str) -> Iterator[_Fault]:
    """Yield the errors of the number of items or properties."""
    fewest, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if fewest is not None and count < fewest:
        text = f"{path} in body should have at least {fewest} {what.lower()}"
        yield _Fault(text, path, value=count)
    if most is not None and count > most:
        text = f"{path} in body should have at most {most} {what.lower()}"
        yield _Fault(text, path, "too-many", count, most)


def _check_object(
    value: dict[str, Any], schema: Schema, path: str, old: Correlation | None
) -> _Result:
    result = _Result()
    properties: Mapping[str, Any] = schema.get("properties") or {}
    result.add(_count_faults(len(value), schema, "Properties", path))
    values = schema.get("additionalProperties")
    for name, part in value.items():
        if name in properties:
            continue
        if values is False:
            text = f"{path}.{name} in body is a forbidden property"
            result.add([_Fault(text, path, value=name)])
        elif isinstance(values, Mapping):
            inner = _field_of(old, name, path)
            result.merge(_ratcheted(part, values, f"{path}.{name}", inner))
    for name in sorted({*properties} & {*value}):
        at = f"{path}.{name}" if path else name
        inner = _field_of(old, name, path)
        result.merge(_ratcheted(value[name], properties[name], at, inner))
    for name in schema.get("required") or ():
        if name not in value:
            text = f"{path}.{name} in body is required"
            result.add([_Fault(text, f"{path}.{name}", "required")])
    return result


def _field_of(old: Correlation | None, name: str, path: str) -> Correlation | None:
    # The version of an object is not a change of the object.
    if old is None or (not path and name in ("apiVersion", "kind")):
        return None
    return old.field(name)


# ---------------------------------------------------------------------- alternatives


def _check_alternatives(value: Any, schema: Schema, path: str, old: Correlation | None) -> _Result:
    result = _Result()
    if any_of := schema.get("anyOf"):
        result.merge(_any_of(value, any_of, path, old))
    if one_of := schema.get("oneOf"):
        result.merge(_one_of(value, one_of, path, old))
    if all_of := schema.get("allOf"):
        found = [_validated(value, each, path, old) for each in all_of]
        for each in found:
            result.merge(each)
        valid = sum(not each.faults for each in found)
        if valid != len(found):
            more = "" if valid else ". None validated"
            text = f'"{path}" must validate all the schemas (allOf){more}'
            result.add([_Fault(text)])
    if (excluded := schema.get("not")) is not None and not _validated(
        value, excluded, path, old
    ).faults:
        result.add([_Fault(f'"{path}" must not validate the schema (not)')])
    result.count += 1
    return result


def _any_of(value: Any, schemas: list[Schema], path: str, old: Correlation | None) -> _Result:
    result = _Result()
    best: _Result | None = None
    for each in schemas:
        found = _validated(value, each, path, old)
        if not found.faults:
            result.merge(found)
            return result
        if best is None or found.count > best.count:
            best = found
    result.add([_Fault(f'"{path}" must validate at least one schema (anyOf)')])
    result.merge(best)
    return result


def _one_of(value: Any, schemas: list[Schema], path: str, old: Correlation | None) -> _Result:
    result = _Result()
    best: _Result | None = None
    valid: list[_Result] = []
    for each in schemas:
        found = _validated(value, each, path, old)
        if not found.faults:
            valid.append(found)
            best = None
        elif not valid and (best is None or found.count > best.count):
            best = found
    if len(valid) == 1:
        result.merge(*valid)
        return result
    more = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.add([_Fault(f'"{path}" must validate one and only one schema (oneOf). {more}')])
    result.merge(best)
    return result


# The errors of validation rules as problems of an object.


def rule_problems(errors: Iterable[cel.RuleError], path: str = "") -> list[Problem]:
    """Return the errors of rules as problems.

    Parameters
    ----------
    path : str
        The field to which the paths of the errors are relative.
    """
    found = FieldErrors()
    for error in errors:
        at = f"{path}.{error.path}" if path and error.path else path or error.path or "<nil>"
        add_rule_error(found, at, error)
    return found.problems


def add_rule_error(found: FieldErrors, path: str, error: cel.RuleError) -> None:
    """Add the error of a rule at a path."""
    match error.reason:
        case "FieldValueRequired":
            found.required(path, error.detail)
        case "FieldValueForbidden":
            found.forbidden(path, error.detail)
        case "FieldValueDuplicate" if error.value is UNSET:
            found.problems.append((path, "Duplicate value", None))
        case "FieldValueDuplicate":
            found.duplicate(path, error.value)
        case _ if error.value is UNSET:
            found.invalid_object(path, error.detail)
        case _:
            found.invalid(path, error.value, error.detail)


# Which part of the stored object a part of the new one corresponds to.
#
# Errors of unchanged parts do not prevent an update: the schema may have changed since.


class Correlation:
    """A value of the new object with its counterpart.

    Parameters
    ----------
    value, old : Any
        Decoded JSON.
    schema : mapping
        Their schema.
    """

    __slots__ = ("_old", "_schema", "_value")

    def __init__(self, value: Any, old: Any, schema: Schema) -> None:
        self._value = value
        self._old = old
        self._schema = schema

    def is_unchanged(self) -> bool:
        """Whether both are equal; the order of the items of a list of type map is ignored."""
        value, old = self._value, self._old
        if not isinstance(value, list) or not isinstance(old, list) or not self._is_map_list:
            return bool(type(value) is type(old) and value == old)
        if len(value) != len(old):
            return False
        items = [self.item(index) for index in range(len(value))]
        return all(each is not None and each.is_unchanged() for each in items)

    @property
    def _is_map_list(self) -> bool:
        return self._schema.get("x-kubernetes-list-type") == "map"

    def field(self, name: str) -> Correlation | None:
        """Return a field of an object; None if one of the two objects does not have it."""
        value, old = self._value, self._old
        if not isinstance(value, dict) or not isinstance(old, dict):
            return None
        if name not in value or name not in old:
            return None
        schema = (self._schema.get("properties") or {}).get(name)
        if schema is None:
            schema = self._schema.get("additionalProperties")
        if not isinstance(schema, Mapping):
            return None
        return Correlation(value[name], old[name], schema)

    def item(self, index: int) -> Correlation | None:
        """Return an item of a list; only those of lists of type map have counterparts."""
        items = self._schema.get("items")
        if not self._is_map_list or not isinstance(self._old, list):
            return None
        if not isinstance(items, Mapping):
            return None
        value = self._value[index]
        names = self._schema.get("x-kubernetes-list-map-keys") or ()
        if not isinstance(value, dict):
            return None
        for old in self._old:
            if isinstance(old, dict) and all(old.get(name) == value.get(name) for name in names):
                return Correlation(value, old, items)
        return None
