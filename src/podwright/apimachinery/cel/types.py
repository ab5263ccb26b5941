"""Types of expressions, and when a value of one may stand for another.

Upstream: cel-go common/types/types.go, checker/types.go, checker/format.go
"""

from __future__ import annotations

from typing import Final

import msgspec


class Type(msgspec.Struct, frozen=True, gc=False):
    """A type.

    Attributes
    ----------
    kind : str
        What sort of type: `dyn`, `any`, `error`, `null`, a scalar by its name, `list`, `map`,
        `struct` (fields), `opaque` (no fields), `type` (of types) or `param` (a type variable).
    name : str
        Of a struct, an opaque type or a type variable.
    parameters : tuple of Type
        The element of a list, key and value of a map, the parameters of an opaque type.
    """

    kind: str
    name: str = ""
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return _display(self, _RUNTIME_NAMES)

    @property
    def is_scalar(self) -> bool:
        """Whether a value has the size 1."""
        if self.kind == "opaque" and self.name == "optional_type":
            return self.parameters[0].is_scalar
        return self.kind in _SIZE_OF_ONE

    @property
    def is_dynamic(self) -> bool:
        """Whether nothing is known about a value."""
        return self.kind in ("dyn", "any")


DYN: Final = Type("dyn")
ANY: Final = Type("any")
ERROR: Final = Type("error")
NULL: Final = Type("null")
BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")
TYPE: Final = Type("type")

_SIZE_OF_ONE = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_CHECKER_NAMES = {"null": "null", "any": "any", "timestamp": "timestamp", "duration": "duration"}
_RUNTIME_NAMES = {
    "null": "null_type",
    "any": "google.protobuf.Any",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


def list_of(element: Type) -> Type:
    """Return the type of lists of `element`."""
    return Type("list", parameters=(element,))


def map_of(key: Type, value: Type) -> Type:
    """Return the type of maps."""
    return Type("map", parameters=(key, value))


def struct_of(name: str) -> Type:
    """Return a type with fields; the environment knows them by the name."""
    return Type("struct", name)


def optional_of(value: Type) -> Type:
    """Return the type of optional values."""
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    """Return the type of a type."""
    return Type("type", parameters=(value,))


def parameter(name: str) -> Type:
    """Return a type variable."""
    return Type("param", name)


def is_optional(type_: Type) -> bool:
    """Return whether a type is that of optional values."""
    return type_.kind == "opaque" and type_.name == "optional_type"


def checker_name(type_: Type) -> str:
    """Return a type as messages of the checker write it."""
    return _display(type_, _CHECKER_NAMES)


def _display(type_: Type, names: dict[str, str]) -> str:
    match type_.kind:
        case "struct" | "param":
            return type_.name
        case "error":
            return "!error!"
        case "list" | "map" | "opaque" | "type":
            base = type_.name or type_.kind
            if not type_.parameters:
                return base
            return f"{base}({', '.join(_display(p, names) for p in type_.parameters)})"
        case kind:
            return names.get(kind, kind)


# --------------------------------------------------------------------------- assignment


class Substitutions:
    """What type variables stand for, as far as the checker has found out.

    Notes
    -----
    Upstream: cel-go checker/mapping.go, checker/types.go
    """

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}

    def assign(self, given: list[Type], expected: list[Type]) -> bool:
        """Return whether types may stand for others, one by one; keep what that implies."""
        before = dict(self._bound)
        if len(given) == len(expected) and all(map(self._is_assignable, given, expected)):
            return True
        self._bound = before
        return False

    def resolve(self, type_: Type, *, unbound_to_dyn: bool = False) -> Type:
        """Return a type without its bound variables, and with DYN for free ones if so wished."""
        bound = self._bound.get(type_)
        if bound is not None:
            return self.resolve(bound, unbound_to_dyn=unbound_to_dyn)
        if type_.kind == "param":
            return DYN if unbound_to_dyn else type_
        if not type_.parameters:
            return type_
        parameters = tuple(self.resolve(p, unbound_to_dyn=unbound_to_dyn) for p in type_.parameters)
        return (
            type_
            if parameters == type_.parameters
            else msgspec.structs.replace(type_, parameters=parameters)
        )

    def _is_assignable(self, given: Type, expected: Type) -> bool:
        if expected.kind == "param":
            valid, has_substitution = self._substitute(given, expected)
            if valid or has_substitution:
                return valid
        if given.kind == "param":
            return self._substitute(expected, given)[0]
        if given.kind in _WILDCARDS or expected.kind in _WILDCARDS:
            return True
        if given.kind == "null":
            return expected.kind in _NULLABLE
        if given.kind != expected.kind:
            return False
        if given.kind == "type":
            return True
        if given.name != expected.name or len(given.parameters) != len(expected.parameters):
            return False
        return all(map(self._is_assignable, given.parameters, expected.parameters))

    def _substitute(self, type_: Type, variable: Type) -> tuple[bool, bool]:
        """Return whether the variable may stand for the type, and whether it was bound before."""
        if type_ == variable:
            return True, True
        bound = self._bound.get(variable)
        if bound is not None:
            if bound == type_:
                return True, True
            if self._is_assignable(type_, bound):
                general = most_general(type_, bound)
                if self._is_free_of(variable, general):
                    self._bound[variable] = general
                return True, True
            return False, True
        if self._is_free_of(variable, type_):
            self._bound[variable] = type_
            return True, False
        return False, False

    def _is_free_of(self, variable: Type, within: Type) -> bool:
        if within == variable:
            return False
        if within.kind == "param":
            bound = self._bound.get(within)
            return bound is None or self._is_free_of(variable, bound)
        return all(self._is_free_of(variable, p) for p in within.parameters)


_WILDCARDS = frozenset({"dyn", "any", "error"})
_NULLABLE = frozenset({"opaque", "struct", "null", "timestamp", "duration"})


def most_general(first: Type, second: Type) -> Type:
    """Return the one of two types that agree which says less."""
    return first if _is_less_specific(first, second) else second


def _is_less_specific(first: Type, second: Type) -> bool:
    if first.is_dynamic or first.kind == "param":
        return True
    if second.is_dynamic or second.kind == "param" or first.kind != second.kind:
        return False
    if first.kind == "type":
        return True
    return first.name == second.name and all(
        map(_is_less_specific, first.parameters, second.parameters)
    )
