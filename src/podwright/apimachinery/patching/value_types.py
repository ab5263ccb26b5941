"""The types of values as server-side apply sees them: scalars, lists and maps.

A `ValueType` is made from the table of the built-in kinds, or from the structural schema of a
custom resource. Types refer to themselves, so the fields of a type are made when they are first
needed.

Upstream: sigs.k8s.io/structured-merge-diff/schema/elements.go,
k8s.io/kube-openapi/pkg/schemaconv
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, Final, Literal, TypeAlias, TypeVar

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching.field_sets import (
    LEAF,
    SELF,
    Node,
    key_name,
    key_value,
    value_element,
)
from podwright.apimachinery.schema import TIME_VALUES, Field, StructType, TypeRef, built_in

T = TypeVar("T")

Form: TypeAlias = Literal["scalar", "list", "map", "deduced"]
"""`deduced` is a value of any form: its lists are atomic, its maps are not."""

Scalar: TypeAlias = Literal["any", "string", "number", "bool"]

_SCALARS: Final[Mapping[str, Scalar]] = {
    "string": "string", "bytes": "string", "bool": "bool", "int32": "number", "int64": "number",
    "double": "number", "quantity": "any", "time": "any", "micro-time": "any",
    "int-or-string": "any",
}  # fmt: skip
_ZERO: Final[Mapping[str, Any]] = {
    "string": "", "bytes": None, "bool": False, "int32": 0, "int64": 0, "double": 0,
    "quantity": "0", "time": None, "micro-time": None, "int-or-string": 0,
}  # fmt: skip
"""The zero values that Go writes for fields without `omitempty`."""


_ORDERS_MAX: Final = 1_024
"""The most combinations of names of a type whose order is kept."""

_NAMES_MAX: Final = 256
"""The most names of such a combination; a map of a client may have 200,000."""


MapPart: TypeAlias = "tuple[str, str, ValueType]"
"""A name in a map, its path element, and its type."""


class ValueType:
    """The type of a value.

    Attributes
    ----------
    form : str
    is_atomic : bool
        Whether a list or map has one owner as a whole.
    scalar : str
        What a scalar must be.
    keys : tuple of str
        The fields that identify an item of a list, sorted; empty for a set.
    key_defaults : mapping
        The values of absent keys.
    element : ValueType or None
        The type of the items of a list, or of the values of a map that are no named fields.
    is_leaf : bool
        Whether the value has no parts with their own owners, whatever it is.
    """

    def __init__(
        self,
        form: Form,
        *,
        is_atomic: bool = False,
        scalar: Scalar = "any",
        keys: tuple[str, ...] = (),
        key_defaults: Mapping[str, Any] | None = None,
        element: ValueType | None = None,
        fields: Callable[[], dict[str, ValueType]] = dict,
    ) -> None:
        self.form = form
        self.is_atomic = is_atomic
        self.scalar = scalar
        self.keys = tuple(sorted(keys))
        self.key_defaults = key_defaults or {}
        self.element = element
        self.is_leaf = is_atomic or form == "scalar"
        self._make_fields = fields
        self._orders: dict[tuple[str, ...], list[MapPart]] = {}
        self._nodes: dict[tuple[str, ...], tuple[Node, list[MapPart]]] = {}

    @cached_property
    def fields(self) -> dict[str, ValueType]:
        """The named fields of a map."""
        return self._make_fields()

    def parts(self, names: tuple[str, ...]) -> list[MapPart]:
        """Return the parts of a map with some names, sorted.

        The maps of one struct have few combinations of names, so the result is kept for few names.
        """
        known = self._orders.get(names)
        if known is None:
            fields, element = (self.fields, self.element) if self.form == "map" else ({}, self)
            known = [
                (name, f"f:{name}", fields.get(name) or element or DEDUCED)
                for name in sorted(names)
            ]
            _keep(self._orders, names, known)
        return known

    def node(self, names: tuple[str, ...]) -> tuple[Node, list[MapPart]]:
        """Return the node of a map with some names, and its parts that may have nodes below.

        The caller copies the node before it adds to it.
        """
        known = self._nodes.get(names)
        if known is None:
            parts = self.parts(names)
            node = {SELF: LEAF} | {key: LEAF for _, key, _ in parts}
            known = node, [part for part in parts if not part[2].is_leaf]
            _keep(self._nodes, names, known)
        return known

    @cached_property
    def item_element(self) -> Callable[[Any], str]:
        """Returns the path element of an item of a list that is a set or has keys.

        An item of a wrong form has the element "": it belongs to nothing.

        Raises
        ------
        UntypedError
            An item with none of the keys.
        """
        keys, defaults = self.keys, self.key_defaults
        if not keys:
            return value_element
        if len(keys) == 1:
            (name,) = keys
            start, default = f"k:{{{key_name(name)}", defaults.get(name, _ABSENT)

            def by_key(item: Any) -> str:
                if not isinstance(item, dict):
                    return ""
                value = item.get(name, default)
                if value is _ABSENT:
                    raise UntypedError
                return f"{start}{key_value(value)}}}"

            return by_key

        named = [(key, key_name(key), defaults.get(key, _ABSENT)) for key in keys]

        def by_keys(item: Any) -> str:
            if not isinstance(item, dict):
                return ""
            # An absent key identifies another item than any value of it.
            given = [
                start + key_value(value)
                for name, start, default in named
                if (value := item.get(name, default)) is not _ABSENT
            ]
            if not given:
                raise UntypedError
            return f"k:{{{','.join(given)}}}"

        return by_keys


def _keep(table: dict[tuple[str, ...], T], names: tuple[str, ...], value: T) -> None:
    if len(names) <= _NAMES_MAX:
        if len(table) >= _ORDERS_MAX:
            table.clear()
        table[names] = value


_ABSENT: Final[Any] = object()


class UntypedError(ValueError):
    """An object that does not have the types of a version."""


DEDUCED: Final = ValueType("deduced")
"""The type of a value without a schema."""
_SCALAR_TYPES: Final = {name: ValueType("scalar", scalar=one) for name, one in _SCALARS.items()}


_UNTYPED: Final = ValueType("deduced", is_atomic=True)
_RAW: Final = "runtime.RawExtension"
"""The Go type of fields with one owner, on which OpenAPI is silent.

Upstream: staging/src/k8s.io/client-go/applyconfigurations/internal/internal.go, `__untyped_atomic_`
"""


# ---------------------------------------------------------------------- from the table


@cache
def struct_type(name: str) -> ValueType:
    """Return the type of a struct of the table, such as `core.v1.PodSpec`."""
    struct = built_in().type(name)

    def fields() -> dict[str, ValueType]:
        return {
            each.name: _UNTYPED if each.go_type == _RAW else _field_type(each)
            for each in struct.fields.values()
        }

    return ValueType("map", is_atomic=struct.is_atomic, fields=fields)


def _field_type(field: Field) -> ValueType:
    ref = field.type
    if ref.container == "list":
        assert ref.element is not None, field.name
        element = _referred_type(ref.element)
        if field.list_type not in ("map", "set"):
            return ValueType("list", is_atomic=True, element=element)
        defaults = {}
        if field.keys:
            items = built_in().type(ref.element.name).fields
            defaults = {
                key: default
                for key in field.keys
                if (default := _key_default(items[key])) is not None
            }
        return ValueType("list", keys=field.keys, key_defaults=defaults, element=element)
    found = _referred_type(ref)
    if field.list_type == "atomic" and not found.is_leaf:
        return ValueType("map", is_atomic=True, element=found.element, fields=lambda: found.fields)
    if field.list_type == "granular" and found.is_atomic:
        return ValueType("map", element=found.element, fields=lambda: found.fields)
    return found


def _key_default(field: Field) -> Any:
    """Return the default of a key; a field that Go always writes has its zero value."""
    if field.default is None and field.is_zero:
        return _ZERO.get(field.type.name)
    return field.default


def _referred_type(ref: TypeRef) -> ValueType:
    if ref.element is not None:
        element = _referred_type(ref.element)
        if ref.container == "list":
            return ValueType("list", is_atomic=True, element=element)
        return ValueType("map", element=element)
    if ref.is_struct:
        return struct_type(ref.name)
    return _SCALAR_TYPES.get(ref.name, DEDUCED)


_TIMES: Final = ("time", "micro-time")


@cache
def zero_struct(name: str) -> Document:
    """Return a struct of the table without values, as Go writes it."""
    return _zero_fields(built_in().type(name))


def _zero_fields(struct: StructType) -> Document:
    # Go writes a mandatory list or map as null, and a time that is not set.
    return {
        each.name: _zero_value(each.type)
        for each in struct.fields.values()
        if each.is_zero or each.is_null or (each.name in TIME_VALUES and each.type.name in _TIMES)
    }


def _zero_value(ref: TypeRef) -> Any:
    if ref.container:
        return None
    return zero_struct(ref.name) if ref.is_struct else _ZERO.get(ref.name)


# ---------------------------------------------------------- from a structural schema

_METADATA: Final = "meta.v1.ObjectMeta"


def structural_type(schema: Mapping[str, Any]) -> ValueType:
    """Return the type of the objects of a custom resource.

    Parameters
    ----------
    schema : mapping
        `openAPIV3Schema` of a version of a CustomResourceDefinition.
    """
    return _structural(schema, is_object=True)


def _structural(schema: Mapping[str, Any], *, is_object: bool = False) -> ValueType:
    kind = schema.get("type", "")
    if kind == "array":
        return _structural_list(schema)
    if kind in ("string", "boolean", "integer", "number"):
        scalar: Scalar = "string" if kind == "string" else "bool" if kind == "boolean" else "number"
        return ValueType("scalar", scalar=scalar)
    if kind != "object" and not schema.get("properties"):
        return DEDUCED
    return _structural_map(
        schema, is_object=is_object or bool(schema.get("x-kubernetes-embedded-resource"))
    )


def _structural_map(schema: Mapping[str, Any], *, is_object: bool) -> ValueType:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    element: ValueType | None = None
    if schema.get("x-kubernetes-preserve-unknown-fields") or values is True:
        element = DEDUCED
    elif isinstance(values, Mapping):
        element = _structural(values)
    elif not properties and not is_object:
        element = DEDUCED

    def fields() -> dict[str, ValueType]:
        made = {name: _structural(one) for name, one in properties.items()}
        if is_object:
            text = ValueType("scalar", scalar="string")
            made |= {"apiVersion": text, "kind": text, "metadata": struct_type(_METADATA)}
        return made

    return ValueType(
        "map",
        is_atomic=schema.get("x-kubernetes-map-type") == "atomic",
        element=element,
        fields=fields,
    )


def _structural_list(schema: Mapping[str, Any]) -> ValueType:
    items: Mapping[str, Any] = schema.get("items") or {}
    list_type = schema.get("x-kubernetes-list-type")
    if list_type not in ("map", "set"):
        return ValueType("list", is_atomic=True, element=_structural(items))
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if list_type == "map" else ()
    properties = items.get("properties") or {}
    defaults = {
        key: properties[key]["default"] for key in keys if "default" in properties.get(key, {})
    }
    return ValueType("list", keys=keys, key_defaults=defaults, element=_structural(items))
