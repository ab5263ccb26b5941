"""The types of the table: fields with their facts, parsed when a kind first needs them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final, Literal, TypeAlias

import msgspec

ListType: TypeAlias = Literal["", "atomic", "granular", "set", "map"]
"""How server-side apply merges a list: `x-kubernetes-list-type`."""

SCALARS: Final = frozenset(
    {"any", "object", "string", "bool", "int32", "int64", "double", "bytes", "quantity", "time",
     "micro-time", "int-or-string"}
)  # fmt: skip
"""The types that are not composed of others. `any` is any value, `object` one that
validation limits to objects."""


class TypeRef(msgspec.Struct, frozen=True, gc=False):
    """The type of a field: a scalar or a struct, or a list or a map of such.

    Attributes
    ----------
    container : str
        `list`, `map` (from strings), or "" for a single value.
    name : str
        A scalar or the name of a struct; "" for a container.
    element : TypeRef or None
        The type of the container's values.
    """

    container: Literal["", "list", "map"] = ""
    name: str = ""
    element: TypeRef | None = None

    @property
    def is_struct(self) -> bool:
        """Whether the values are structs of the table."""
        return not self.container and self.name not in SCALARS

    @property
    def innermost(self) -> str:
        """The name of the scalar or struct inside all containers."""
        return self.name if self.element is None else self.element.innermost


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a struct.

    Attributes
    ----------
    name : str
        The name in JSON.
    type : TypeRef
    number : tuple of int
        The protobuf field number; (2, 5) is field 5 of the embedded message in field 2.
    is_required : bool
        Whether OpenAPI requires the field. Decoding does not: validation reports absent fields.
    is_zero : bool
        Whether Go writes the field also if it has the zero value (no `omitempty`).
    is_null : bool
        Whether Go writes an absent list, map, bytes or pointer as null (no `omitempty`).
    default : Any
        The default of OpenAPI, which applies when the list or map that holds the struct is
        merged; None if there is none. Other defaults are functions, see `schema.defaults`.
    list_type : str
        `atomic`, `set` or `map`; a struct or map can also be `atomic`, or `granular` if its
        struct is atomic elsewhere.
    keys : tuple of str
        The fields that identify an entry of a list of type `map`.
    merge_key : str
        The field that identifies an entry in a strategic merge patch; "" if none does.
    is_merged : bool
        Whether a strategic merge patch merges the list instead of replacing it.
    retains_keys : bool
        Whether a strategic merge patch may clear the other fields (`retainKeys`).
    is_replaced : bool
        Whether a strategic merge patch replaces the struct instead of merging it.
    enum : tuple of str
        The valid values; empty if they are not limited.
    go_type : str
        Go's type if it does not follow from `type`: `v1.Protocol`, `types.UID`.
    embedded : str
        The embedded structs that have the field in Go: `VolumeSource`; "" if there is none.
    """

    name: str
    type: TypeRef
    number: tuple[int, ...] = ()
    is_required: bool = False
    is_zero: bool = False
    is_null: bool = False
    default: Any = None
    list_type: ListType = ""
    keys: tuple[str, ...] = ()
    merge_key: str = ""
    is_merged: bool = False
    retains_keys: bool = False
    is_replaced: bool = False
    enum: tuple[str, ...] = ()
    go_type: str = ""
    embedded: str = ""


class StructType:
    """One struct of the table.

    Parameters
    ----------
    name : str
        For example `core.v1.PodSpec`.
    row : mapping of str to str
        The fields as the table has them.
    """

    def __init__(self, name: str, row: Mapping[str, str]) -> None:
        self.name = name
        self.is_atomic = "$atomic" in row
        self.quantity_fields: list[tuple[str, TypeRef]] | None = None
        """The fields with quantities in them; computed by `schema.kind`."""
        self._row = row

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The fields by name, in alphabetical order; read-only."""
        return {
            name: parse_field(name, text) for name, text in self._row.items() if name != "$atomic"
        }


def parse_type(text: str) -> TypeRef:
    """Parse a type: `string`, `[core.v1.Container]`, `{quantity}`."""
    if text[0] == "[":
        return TypeRef("list", "", parse_type(text[1:-1]))
    if text[0] == "{":
        return TypeRef("map", "", parse_type(text[1:-1]))
    return TypeRef("", text)


def parse_field(name: str, text: str) -> Field:
    """Parse a field of the table: `[core.v1.Container] 2 required keys=name merge=name`."""
    text, _, enum = text.partition(" enum=")  # the last fact; its values may have spaces
    kind, *facts = text.split(" ")
    values: dict[str, Any] = {"enum": tuple(enum.split("|"))} if enum else {}
    for fact in facts:
        key, _, value = fact.partition("=")
        match key:
            case "required" | "zero" | "null":
                values[f"is_{key}"] = True
            case "retain-keys":
                values["retains_keys"] = True
            case "replace":
                values["is_replaced"] = True
            case "default":
                values["default"] = json.loads(value)
            case "atomic" | "granular" | "set":
                values["list_type"] = key
            case "keys":
                values |= {"list_type": "map", "keys": tuple(value.split(","))}
            case "go":
                values["go_type"] = value
            case "in":
                values["embedded"] = value
            case "merge":
                values |= {"is_merged": True, "merge_key": value}
            case _:
                values["number"] = tuple(map(int, key.split(".")))
    return Field(name=name, type=parse_type(kind), **values)


# Descriptions of structs and fields, in our own words: what `kubectl explain` prints.
#
# The files `descriptions/*.toml` have a table for each struct, with a sentence for each field. The
# key `""` describes the struct itself, and `"$like"` takes the sentences of another struct for
# what the table does not have. The table `"*"` is for the fields that all kinds have. The files
# are read when a description is first needed.

Tables: TypeAlias = Mapping[str, Mapping[str, str]]

COMMON: Final = "*"
LIKE: Final = "$like"


@cache
def read_descriptions() -> Tables:
    """Return the sentences by struct, such as `core.v1.PodSpec`, and field."""
    found: dict[str, Mapping[str, str]] = {}
    folder = resources.files("podwright.apimachinery.schema").joinpath("descriptions")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
        assert not tables.keys() & found.keys(), (file.name, tables.keys() & found.keys())
        found |= tables
    return found


def description(struct: str, field: str = "") -> str:
    """Return what a field of a struct is for, or the struct itself; "" if nothing is known.

    Fields that all kinds have are those of `COMMON`.

    Examples
    --------
    >>> description("core.v1.SleepAction", "seconds")
    'How many seconds it lasts.'
    """
    tables = read_descriptions()
    own = tables.get(struct, {})
    if field in own:
        return own[field]
    return tables.get(own.get(LIKE, ""), {}).get(field, "")
