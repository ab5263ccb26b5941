"""Functions and their overloads.

A library is a list of overloads, written as signatures: `string.indexOf(string, int) -> int` is a
member, `quantity(string) -> kubernetes.Quantity` is not; `A`, `B` stand for any type.

Upstream: cel-go common/decls/decls.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.cel.types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    parameter,
    struct_of,
    type_of,
)
from podwright.apimachinery.cel.values import ErrorValue, Optional, Value, type_name

Implementation: TypeAlias = Callable[..., Value]

_NAMED: Final = {
    "any": ANY, "bool": BOOL, "bytes": BYTES, "double": DOUBLE, "duration": DURATION, "dyn": DYN,
    "int": INT, "null": NULL, "string": STRING, "timestamp": TIMESTAMP, "type": TYPE, "uint": UINT,
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
    singleton : Implementation or None
        The implementation of all overloads together, if there is one.
    trait : callable or None
        What the first argument of a singleton must satisfy.
    is_guarded : bool
        Whether an error about the types of arguments names the function, as all but the
        functions of the language itself do.
    """

    name: str
    overloads: dict[str, Overload] = msgspec.field(default_factory=dict)
    singleton: Implementation | None = None
    trait: Callable[[Value], bool] | None = None
    is_guarded: bool = True


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
    is_guarded: bool = True,
    singletons: Mapping[str, Callable[[Value], bool] | None] | None = None,
) -> Library:
    """Return a library.

    Parameters
    ----------
    implementations : mapping
        By overload id, or by function name for all its overloads.
    signatures : str
        A line for each overload: `id: target.name(args) -> result`.
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
        function = functions.setdefault(name, Function(name, is_guarded=is_guarded))
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
                    dict(function.overloads),
                    function.singleton,
                    function.trait,
                    function.is_guarded,
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
