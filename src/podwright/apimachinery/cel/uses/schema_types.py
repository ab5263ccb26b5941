"""Types and values of expressions from a structural schema, as CRDs have it.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/common/schemas.go, valuesunstructured.go, maplist.go;
staging/src/k8s.io/apiserver/pkg/cel/types.go, escaping.go, limits.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.cel.estimate import Path, Range
from podwright.apimachinery.cel.functions.formats import parse_duration, parse_timestamp
from podwright.apimachinery.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    struct_of,
)
from podwright.apimachinery.cel.values import ErrorValue, Value, contains, equals
from podwright.apimachinery.objects import bytes_of_base64

Schema: TypeAlias = Mapping[str, Any]
"""A structural schema, decoded from JSON."""

MAX_REQUEST_SIZE: Final = 3 * 1024 * 1024
"""The largest request in bytes, which bounds what a schema does not bound."""

_MIN_STRING = 2
_MIN_DURATION = 3
_DATE_SIZE = 12
_MIN_DATETIME = 21
_MAX_TIME = 32
_RESERVED = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
    "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip
_ESCAPED = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_TO_ESCAPE = re.compile(r"__|[-./]|[^a-zA-Z0-9_]")


def escape(name: str) -> str | None:
    """Return a property's name as a name in expressions; None if it has none."""
    if not name or name[0].isdigit():
        return None
    if name in _RESERVED:
        return f"__{name}__"
    if any(match not in _ESCAPED for match in _TO_ESCAPE.findall(name)):
        return None
    return _TO_ESCAPE.sub(lambda match: _ESCAPED[match.group()], name)


# --------------------------------------------------------------------------- types


class DeclaredType(msgspec.Struct):
    """A type with the bounds of its values.

    Attributes
    ----------
    max_elements : int
        The most characters, items or entries.
    min_size : int
        The fewest bytes as JSON.
    """

    type: Type
    max_elements: int
    min_size: int
    key: DeclaredType | None = None
    element: DeclaredType | None = None
    fields: dict[str, DeclaredType] | None = None

    def size(self, path: Path) -> Range | None:
        """Return the size of the value at a path below this one; None if it is not declared."""
        found: DeclaredType | None = self
        for step in path:
            if found is None:
                return None
            match step:
                case "@items" | "@values":
                    found = found.element
                case "@keys":
                    found = found.key
                case _:
                    found = (found.fields or {}).get(step)
        return None if found is None else Range(0, found.max_elements)

    def renamed(self, name: str) -> DeclaredType:
        """Return this type with a name, from which the names of the types in it are made.

        Upstream: staging/src/k8s.io/apiserver/pkg/cel/types.go, MaybeAssignTypeName
        """
        if self.fields is not None:
            fields = {key: field.renamed(f"{name}.{key}") for key, field in self.fields.items()}
            return msgspec.structs.replace(self, type=struct_of(name), fields=fields)
        if self.element is None:
            return self
        is_map = self.key is not None
        element = self.element.renamed(f"{name}.{'@elem' if is_map else '@idx'}")
        type_ = map_of(STRING, element.type) if is_map else list_of(element.type)
        return msgspec.structs.replace(self, type=type_, element=element)


def _scalar(type_: Type, max_elements: int, min_size: int) -> DeclaredType:
    return DeclaredType(type_, max_elements, min_size)


_NO_SIZE = 0
"""The size of what upstream gives none: scalars, objects, and the keys of maps."""


def declared_type(  # noqa: PLR0911 - one per type
    schema: Schema, name: str, *, is_root: bool = False
) -> DeclaredType | None:
    """Return the type that expressions see; None if they do not see such values.

    Parameters
    ----------
    name : str
        The name of the type, if it is one with fields; those of nested types start with it.
    is_root : bool
        Whether the schema is that of a whole object, which always has a name and a kind.
    """
    if schema.get("x-kubernetes-int-or-string"):
        limit = schema.get("maxLength")
        longest = MAX_REQUEST_SIZE - 2 if limit is None else max(limit, 0) * 4
        return _scalar(DYN, longest, 1)
    if is_root:
        schema = with_object_meta(schema)
    match schema.get("type"):
        case "array":
            return _declared_list(schema, name)
        case "object" if isinstance(schema.get("additionalProperties"), Mapping):
            return _declared_map(schema, name)
        case "object":
            return _declared_object(schema, name)
        case "string":
            return _declared_string(schema)
        case "boolean":
            return _scalar(BOOL, _NO_SIZE, 4)
        case "number":
            return _scalar(DOUBLE, _NO_SIZE, 1)
        case "integer":
            return _scalar(INT, _NO_SIZE, 1)
        case _:
            return None


def with_object_meta(schema: Schema) -> Schema:
    """Return a schema of an object in which kind, version and names are declared."""
    text = {"type": "string"}
    metadata = {"type": "object", "properties": {"name": text, "generateName": text}}
    properties = schema.get("properties") or {}
    added = {"kind": text, "apiVersion": text, "metadata": metadata}
    known = properties.get("metadata") or {}
    if {"name", "generateName"} <= (known.get("properties") or {}).keys():
        added["metadata"] = known
    return {**schema, "properties": {**properties, **added}}


def _is_embedded(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def _declared_list(schema: Schema, name: str) -> DeclaredType | None:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return None
    element = declared_type(items, f"{name}.@idx", is_root=_is_embedded(items))
    if element is None:
        return None
    limit = schema.get("maxItems")
    most = (MAX_REQUEST_SIZE - 2) // (element.min_size + 1) if limit is None else max(limit, 0)
    return DeclaredType(list_of(element.type), most, 2, element=element)


def _declared_map(schema: Schema, name: str) -> DeclaredType | None:
    values = schema["additionalProperties"]
    element = declared_type(values, f"{name}.@elem", is_root=_is_embedded(values))
    if element is None:
        return None
    limit = schema.get("maxProperties")
    most = (MAX_REQUEST_SIZE - 2) // (element.min_size + 6) if limit is None else max(limit, 0)
    key = _scalar(STRING, _NO_SIZE, _MIN_STRING)
    return DeclaredType(map_of(STRING, element.type), most, 2, key=key, element=element)


def _declared_object(schema: Schema, name: str) -> DeclaredType:
    required = set(schema.get("required") or ())
    fields: dict[str, DeclaredType] = {}
    size = 2
    for key, field_schema in (schema.get("properties") or {}).items():
        escaped = escape(key)
        field = declared_type(field_schema, f"{name}.{escaped}", is_root=_is_embedded(field_schema))
        if field is None:
            continue
        if escaped is not None:
            fields[escaped] = field
        if key in required and field_schema.get("default") is None:
            size += len(key.encode()) + field.min_size + 4
    return DeclaredType(struct_of(name), _NO_SIZE, size, fields=fields)


def _declared_string(schema: Schema) -> DeclaredType:
    limit = schema.get("maxLength")
    match schema.get("format"):
        case "byte":
            longest = MAX_REQUEST_SIZE - 2 if limit is None else max(limit, 0)
            return _scalar(BYTES, longest, _MIN_STRING)
        case "duration":
            return _scalar(DURATION, _MAX_TIME, _MIN_DURATION)
        case "date":
            return _scalar(TIMESTAMP, _DATE_SIZE, _DATE_SIZE)
        case "date-time":
            return _scalar(TIMESTAMP, _MAX_TIME, _MIN_DATETIME)
        case _:
            pass
    if limit is not None:
        longest = max(limit, 0) * 4
    elif schema.get("enum"):
        texts = [value for value in schema["enum"] if isinstance(value, str)]
        longest = max((len(text.encode()) for text in texts), default=0)
    else:
        longest = MAX_REQUEST_SIZE - 2
    return _scalar(STRING, longest, _MIN_STRING)


def structs_of(declared: DeclaredType) -> dict[str, dict[str, Type]]:
    """Return the types with fields in a declared type, by name."""
    found: dict[str, dict[str, Type]] = {}
    pending = [declared]
    while pending:
        each = pending.pop()
        if each.fields is not None:
            found[each.type.name] = {name: field.type for name, field in each.fields.items()}
            pending += each.fields.values()
        pending += [part for part in (each.key, each.element) if part is not None]
    return found


# --------------------------------------------------------------------------- values


class SetList(list[Value]):
    """A list of type set: equal without regard to order; `+` adds what is missing."""

    def equals_list(self, other: list[Value]) -> bool:
        """Return whether each element of one list is in the other."""
        return len(self) == len(other) and all(contains(other, value) for value in self)

    def add_list(self, other: list[Value]) -> SetList:
        """Return the union."""
        return SetList([*self, *(value for value in other if not contains(self, value))])


class MapList(list[Value]):
    """A list of type map: equal without regard to order; `+` replaces elements of equal keys."""

    def __init__(self, elements: list[Value], keys: tuple[str, ...]) -> None:
        super().__init__(elements)
        self.keys = keys

    def key_of(self, element: Value) -> tuple[str, ...]:
        """Return the values of the keys of an element."""
        return tuple(repr(element.get(key)) for key in self.keys)

    def equals_list(self, other: list[Value]) -> bool:
        """Return whether the elements of equal keys are equal."""
        others = {self.key_of(element): element for element in other}
        return len(self) == len(other) and all(
            self.key_of(element) in others and equals(element, others[self.key_of(element)]) is True
            for element in self
        )

    def add_list(self, other: list[Value]) -> MapList:
        """Return the elements of both; of equal keys, those of the other list."""
        merged = {self.key_of(element): element for element in self}
        merged.update((self.key_of(element), element) for element in other)
        return MapList(list(merged.values()), self.keys)


def schema_value(value: Value, schema: Schema, *, is_root: bool = False) -> Value:
    """Return the value of an expression for decoded JSON.

    Formats become times and bytes, names are escaped, and fields that the schema does not declare
    are left out. A value that does not have the type of its schema becomes an error.
    """
    if value is None or schema.get("x-kubernetes-int-or-string"):
        return value
    if is_root:
        schema = with_object_meta(schema)
    convert = _CONVERSIONS.get(str(schema.get("type")))
    return value if convert is None else convert(value, schema)


def _object_value(value: Value, schema: Schema) -> Value:
    if not isinstance(value, Mapping):
        return ErrorValue(
            f"invalid data, expected a map for the provided schema with type={schema['type']}"
        )
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        embedded = _is_embedded(values)
        return {key: schema_value(each, values, is_root=embedded) for key, each in value.items()}
    properties = schema.get("properties") or {}
    return dict(_declared_items(value, properties))


def _declared_items(
    value: Mapping[str, Value], properties: Mapping[str, Schema]
) -> Iterator[tuple[str, Value]]:
    for key, field_schema in properties.items():
        escaped = escape(key)
        if escaped is not None and key in value:
            is_root = _is_embedded(field_schema)
            yield escaped, schema_value(value[key], field_schema, is_root=is_root)


def _list_value(value: Value, schema: Schema) -> Value:
    if not isinstance(value, list):
        return ErrorValue("invalid data, expected an array for the provided schema with type=array")
    items = schema.get("items") or {}
    embedded = _is_embedded(items)
    elements = [schema_value(each, items, is_root=embedded) for each in value]
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return SetList(elements)
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys") or ()
            return MapList(elements, tuple(escape(key) or key for key in keys))
        case _:
            return elements


def _string_value(value: Value, schema: Schema) -> Value:
    if not isinstance(value, str):
        return _unexpected("string", value)
    match schema.get("format"):
        case "duration":
            return parse_duration(value) or ErrorValue(f"Invalid duration {value}")
        case "date":
            return parse_timestamp(f"{value}T00:00:00Z") or ErrorValue(f"Invalid date {value}")
        case "date-time":
            return parse_timestamp(value) or ErrorValue(f"Invalid date-time {value}")
        case "byte":
            return _decoded(value)
        case _:
            return value


def _decoded(value: str) -> Value:
    try:
        return bytes_of_base64(value)
    except ValueError:
        return ErrorValue(f"Invalid byte formatted string {value}")


def _number_value(value: Value, schema: Schema) -> Value:  # noqa: ARG001 - as other conversions
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_integer else value


def _integer_value(value: Value, schema: Schema) -> Value:  # noqa: ARG001 - as other conversions
    # A whole number with a fraction, such as 4.0, is valid by the schema.
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer else _unexpected("int", value)


def _unexpected(wanted: str, value: Value) -> ErrorValue:
    return ErrorValue(f"invalid data, expected {wanted}, got {_GO_TYPES.get(type(value), '')}")


_GO_TYPES: Final[dict[type, str]] = {
    bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}",
    dict: "map[string]interface {}",
}  # fmt: skip
_CONVERSIONS: Final[dict[str, Callable[[Value, Schema], Value]]] = {
    "object": _object_value,
    "array": _list_value,
    "string": _string_value,
    "number": _number_value,
    "integer": _integer_value,
}
