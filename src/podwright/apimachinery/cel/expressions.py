"""Nodes of a parsed expression.

The parser makes them, the checker writes `type`, `overloads` and `reference` into them, and the
estimate and the program read them. A node belongs to one compilation.

Upstream: cel-go common/ast/expr.go
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from podwright.apimachinery.cel.types import DYN, Type
from podwright.apimachinery.cel.values import Value


@dataclass(slots=True, eq=False, kw_only=True)
class Node:
    """A part of an expression.

    Attributes
    ----------
    offset : int
        Where it stands in the source, in characters: of a call its parenthesis or operator.
    type : Type
        The type that the checker found.
    """

    offset: int
    type: Type = DYN


@dataclass(slots=True, eq=False)
class Constant(Node):
    """A literal."""

    value: Value


@dataclass(slots=True, eq=False)
class Identifier(Node):
    """A name: a variable, a local variable of a macro, or a type.

    Attributes
    ----------
    is_type : bool
        Whether the checker found a type.
    """

    name: str
    is_type: bool = False


@dataclass(slots=True, eq=False)
class Select(Node):
    """A field of an operand: `a.b`, or `has(a.b)` if `is_test`."""

    operand: Expression
    field: str
    is_test: bool = False
    reference: str = ""


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function or operator with its arguments.

    Attributes
    ----------
    target : Expression or None
        The receiver of a member call.
    overloads : tuple of str
        Ids of the overloads that the types of the arguments allow.
    """

    function: str
    args: list[Expression]
    target: Expression | None = None
    overloads: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class CreateList(Node):
    """A list literal; `optional_indices` are those written `[?e]`."""

    elements: list[Expression]
    optional_indices: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    """An entry of a map or struct literal."""

    key: Expression | str
    value: Expression
    offset: int
    is_optional: bool = False


@dataclass(slots=True, eq=False)
class CreateMap(Node):
    """A map literal."""

    entries: list[Entry]


@dataclass(slots=True, eq=False)
class CreateStruct(Node):
    """A literal of a declared type: `Object{spec: ...}`."""

    name: str
    entries: list[Entry]


@dataclass(slots=True, eq=False, kw_only=True)
class Comprehension(Node):
    """The loop that a macro expands to.

    Attributes
    ----------
    second_variable : str
        The variable of values, if the first is that of keys or indices; else empty.
    """

    range: Expression
    variable: str
    accumulator: str
    initial: Expression
    condition: Expression
    step: Expression
    result: Expression
    second_variable: str = field(default="")


Expression: TypeAlias = (
    Constant | Identifier | Select | Call | CreateList | CreateMap | CreateStruct | Comprehension
)


def children(node: Expression) -> list[Expression]:
    """Return the operands of a node, in the order of the source."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return [*([node.target] if node.target is not None else []), *node.args]
        case CreateList():
            return list(node.elements)
        case CreateMap() | CreateStruct():
            found: list[Expression] = []
            for entry in node.entries:
                if not isinstance(entry.key, str):
                    found.append(entry.key)
                found.append(entry.value)
            return found
        case Comprehension():
            return [node.range, node.initial, node.condition, node.step, node.result]
        case Constant() | Identifier():
            return []
