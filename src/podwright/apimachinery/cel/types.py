"""Types of expressions, and when a value of one may stand for another.

Upstream: cel-go common/types/types.go, checker/types.go, checker/format.go; cel-go
common/decls/decls.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.cel.values import ErrorValue, Optional, Value, type_name


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
    def runtime_name(self) -> str:
        """The name of the type of its values, which have no parameters."""
        return str(msgspec.structs.replace(self, parameters=()))

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
        if "null" in (given.kind, expected.kind):
            return {given.kind, expected.kind} <= _NULLABLE
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


# Functions and their overloads.
#
# A library is a list of overloads, written as signatures: `string.indexOf(string, int) -> int` is
# a member, `quantity(string) -> kubernetes.Quantity` is not; `A`, `B` stand for any type.

Implementation: TypeAlias = Callable[..., Value]

_NAMED: Final = {
    "bool": BOOL, "bytes": BYTES, "double": DOUBLE, "duration": DURATION, "dyn": DYN, "int": INT,
    "string": STRING, "timestamp": TIMESTAMP, "uint": UINT,
    "net.IP": Type("opaque", "net.IP"), "net.CIDR": Type("opaque", "net.CIDR"),
}  # fmt: skip
_GENERIC: Final[Mapping[str, Callable[..., Type]]] = {
    "list": list_of,
    "map": map_of,
    "optional": optional_of,
    "type": type_of,
}


class Overload(msgspec.Struct, frozen=True):
    """One form of a function.

    Attributes
    ----------
    args : tuple of Type
        With the target first, if it is a member.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    is_member: bool
    implementation: Implementation

    def accepts(self, values: tuple[Value, ...]) -> bool:
        """Return whether values have the declared types, as far as they can be seen."""
        return len(values) == len(self.args) and all(
            is_instance(value, type_) for value, type_ in zip(values, self.args, strict=True)
        )


class Function(msgspec.Struct):
    """A function.

    Attributes
    ----------
    is_guarded : bool
        Whether an error about the types of arguments names the function.
    singleton : Implementation or None
        The implementation of all overloads together, if there is one.
    trait : callable or None
        What the first argument of a singleton must satisfy.
    """

    name: str
    is_guarded: bool
    overloads: dict[str, Overload] = msgspec.field(default_factory=dict)
    singleton: Implementation | None = None
    trait: Callable[[Value], bool] | None = None


class Library(msgspec.Struct, frozen=True):
    """Functions that an environment is made of."""

    functions: tuple[Function, ...]


def parse_type(text: str) -> Type:
    """Return the type that a signature names; a name with a dot is a struct, `A` a variable."""
    text = text.strip()
    if text in _NAMED:
        return _NAMED[text]
    if "(" in text:
        base, _, inner = text.partition("(")
        parameters = [parse_type(part) for part in _split(inner[:-1])]
        return _GENERIC[base](*parameters)
    return parameter(text) if len(text) == 1 else struct_of(text)


def _split(text: str) -> list[str]:
    """Split at commas that are not in parentheses."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    if text.strip():
        parts.append(text[start:])
    return parts


def library_of(
    implementations: Mapping[str, Implementation],
    signatures: str,
    *,
    unguarded: Collection[str] = (),
    singletons: Mapping[str, Callable[[Value], bool] | None] | None = None,
) -> Library:
    """Return a library.

    Parameters
    ----------
    implementations : mapping
        By overload id, or by function name for all its overloads.
    signatures : str
        A line for each overload: `id: target.name(args) -> result`.
    unguarded : collection of str
        Functions that check the types of arguments themselves.
    singletons : mapping
        Functions whose overloads share an implementation, with the trait of the first argument.
    """
    functions: dict[str, Function] = {}
    shared = singletons or {}
    for line in signatures.strip().splitlines():
        identifier, _, signature = line.strip().partition(": ")
        head, _, result = signature.rpartition(" -> ")
        name, args, is_member = _parse_head(head)
        implementation = implementations.get(identifier) or implementations[name]
        function = functions.setdefault(name, Function(name, name not in unguarded))
        if name in shared:
            function.singleton, function.trait = implementation, shared[name]
        function.overloads[identifier] = Overload(
            identifier, args, parse_type(result), is_member, implementation
        )
    return Library(tuple(functions.values()))


def _parse_head(head: str) -> tuple[str, tuple[Type, ...], bool]:
    """Split `target.name(args)`; a static name may have dots, and is written after `::`."""
    if head.startswith("::"):
        name, _, args = head[2:].partition("(")
        return name, tuple(parse_type(part) for part in _split(args[:-1])), False
    depth = 0
    # The parenthesis of the arguments is the one that the last character closes.
    for index in range(len(head) - 1, -1, -1):
        depth += (head[index] == ")") - (head[index] == "(")
        if depth == 0:
            break
    else:
        index = 0
    own = tuple(parse_type(part) for part in _split(head[index + 1 : -1]))
    target, dot, name = head[:index].rpartition(".")
    if not dot:
        return head[:index], own, False
    return name, (parse_type(target), *own), True


def combine(libraries: Iterable[Library]) -> dict[str, Function]:
    """Return the functions of libraries by name; overloads of one name are put together."""
    functions: dict[str, Function] = {}
    for part in libraries:
        for function in part.functions:
            known = functions.get(function.name)
            if known is None:
                functions[function.name] = Function(
                    function.name,
                    function.is_guarded,
                    dict(function.overloads),
                    function.singleton,
                    function.trait,
                )
            else:
                known.overloads.update(function.overloads)
    return functions


_CLASS_NAMES = {
    "bool": "bool", "int": "int", "uint": "uint", "double": "double", "string": "string",
    "bytes": "bytes", "null": "null_type", "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration", "list": "list", "map": "map", "type": "type",
}  # fmt: skip


def is_instance(value: Value, type_: Type) -> bool:
    """Return whether a value may be of a type; of a list or map, the first entry tells.

    Notes
    -----
    Upstream: cel-go common/types/types.go, Type.IsAssignableRuntimeType
    """
    kind = type_.kind
    if kind in ("dyn", "any", "param"):
        return True
    name = type_name(value)
    if kind in ("struct", "opaque"):
        if name != type_.name:
            return False
        if isinstance(value, Optional) and value.is_present:
            return is_instance(value.value, type_.parameters[0])
        return True
    if name != _CLASS_NAMES.get(kind):
        return False
    if kind == "list" and value:
        return is_instance(value[0], type_.parameters[0])
    if kind == "map" and value:
        key, item = next(iter(value.items()))
        return is_instance(key, type_.parameters[0]) and is_instance(item, type_.parameters[1])
    return True


def no_such_overload(name: str, values: Iterable[Value]) -> ErrorValue:
    """Return the error of a call whose arguments no overload accepts."""
    return ErrorValue(f"no such overload: {name}({', '.join(map(type_name, values))})")
