"""Environments: what an expression may name, and how it is compiled.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/environment/base.go; cel-go cel/validator.go,
ext/formatting.go (stringFormatValidator).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from podwright.apimachinery.cel.call_costs import estimate_call
from podwright.apimachinery.cel.checker import check
from podwright.apimachinery.cel.estimate import Path, Range, SizeBounds, estimate_cost
from podwright.apimachinery.cel.expressions import (
    Call,
    Constant,
    CreateList,
    CreateMap,
    Expression,
    children,
)
from podwright.apimachinery.cel.functions.addresses import ADDRESS_LIBRARY, URL_LIBRARY
from podwright.apimachinery.cel.functions.authorizations import AUTHORIZER_LIBRARY
from podwright.apimachinery.cel.functions.formats import (
    FORMAT_LIBRARY,
    TIMESTAMP_MAX_NS,
    TIMESTAMP_MIN_NS,
    PatternError,
    compile_pattern,
    parse_duration,
    parse_go_timestamp,
)
from podwright.apimachinery.cel.functions.formatting import (
    REGEX_LIBRARY,
    STRING_LIBRARY,
    check_format,
)
from podwright.apimachinery.cel.functions.list_functions import COLLECTION_LIBRARIES
from podwright.apimachinery.cel.functions.quantities import QUANTITY_LIBRARY, SEMVER_LIBRARY
from podwright.apimachinery.cel.functions.standard import STANDARD_LIBRARY
from podwright.apimachinery.cel.macros import (
    OPTIONAL_MACROS,
    SORT_MACROS,
    STANDARD_MACROS,
    TWO_VARIABLE_MACROS,
    Macros,
)
from podwright.apimachinery.cel.parser import parse
from podwright.apimachinery.cel.program import Program, build_program
from podwright.apimachinery.cel.types import DYN, Function, Library, Type, checker_name, combine
from podwright.apimachinery.cel.values import CompileError, Issue


class NoBounds:
    """Bounds for inputs of any size."""

    def size(self, path: Path) -> Range | None:
        """Return None: no size is known."""
        return None


class Environment(msgspec.Struct, frozen=True):
    """What an expression may name.

    Attributes
    ----------
    functions : mapping of str to Function
        By name.
    variables : mapping of str to Type
        By name.
    structs : mapping of str to mapping of str to Type
        The fields of the declared types.
    bounds : SizeBounds
        The sizes of the inputs, for estimates.
    open_struct : str
        A type that has any field, as have the types whose names start with it and a dot.
    """

    functions: Mapping[str, Function]
    macros: Macros
    variables: Mapping[str, Type] = {}
    structs: Mapping[str, Mapping[str, Type]] = {}
    bounds: SizeBounds = NoBounds()
    open_struct: str = ""

    def field(self, struct: str, name: str) -> Type | None:
        """Return the type of a field of a declared type; None if it has no such field."""
        if self._is_open(struct):
            return DYN
        return self.structs.get(struct, {}).get(name)

    def has_type(self, struct: str) -> bool:
        """Return whether a type with fields is declared."""
        return struct in self.structs or self._is_open(struct)

    def _is_open(self, struct: str) -> bool:
        name = self.open_struct
        return struct == name or struct.startswith(f"{name}.")

    def extended(
        self,
        *,
        libraries: tuple[Library, ...] = (),
        macros: Macros | None = None,
        variables: Mapping[str, Type] | None = None,
        structs: Mapping[str, Mapping[str, Type]] | None = None,
        bounds: SizeBounds | None = None,
        open_struct: str = "",
    ) -> Environment:
        """Return an environment with more in it."""
        known = Library(tuple(self.functions.values()))
        return Environment(
            combine([known, *libraries]) if libraries else self.functions,
            self.macros if macros is None else self.macros | macros,
            {**self.variables, **(variables or {})},
            {**self.structs, **(structs or {})},
            bounds or self.bounds,
            open_struct or self.open_struct,
        )

    def compile(self, source: str) -> Compiled:
        """Parse and check an expression.

        Raises
        ------
        CompileError
            With all problems of the first stage that has any: syntax, types, literals.
        """
        expression = parse(source, self.macros)
        try:
            issues = check(expression, self) or validate_literals(expression)
        except RecursionError:
            issues = [Issue(0, "expression recursion limit exceeded: 250")]
        if issues:
            raise CompileError(source, issues)
        return Compiled(source, expression, self)


class Compiled:
    """A checked expression.

    Attributes
    ----------
    source : str
        Its text.
    output_type : Type
        The type of its value.
    expression : Expression
        The checked nodes.
    """

    def __init__(self, source: str, expression: Expression, environment: Environment) -> None:
        self.source = source
        self.output_type = expression.type
        self.expression = expression
        self._environment = environment

    def program(self) -> Program:
        """Return the program.

        Raises
        ------
        ProgramError
            A constant part fails.
        """
        return build_program(self.expression, self._environment.functions)

    def cost(self) -> Range:
        """Return the estimate of the cost."""
        return estimate_cost(self.expression, self._environment.bounds, estimate_call)


KUBERNETES_BASE: Final = Environment(
    combine(
        [
            STANDARD_LIBRARY,
            STRING_LIBRARY,
            REGEX_LIBRARY,
            *COLLECTION_LIBRARIES,
            QUANTITY_LIBRARY,
            SEMVER_LIBRARY,
            ADDRESS_LIBRARY,
            URL_LIBRARY,
            FORMAT_LIBRARY,
            AUTHORIZER_LIBRARY,
        ]
    ),
    STANDARD_MACROS | TWO_VARIABLE_MACROS | OPTIONAL_MACROS | SORT_MACROS,
)
"""The environment that all of Kubernetes' environments extend; without variables."""


# Checks of literals, after the types are known.


def validate_literals(root: Expression) -> list[Issue]:
    """Return the problems of literals: times, patterns, formats, mixed lists and maps."""
    nodes = list(_descendants(root))
    issues = [
        Issue(argument.offset, f"invalid {name} argument")
        for name in ("duration", "timestamp", "matches")
        for node, _ in nodes
        if isinstance(node, Call)
        and node.function == name
        # As upstream, which checks the text of `matches(text, pattern)`.
        and isinstance(argument := node.args[0], Constant)
        and not _is_valid(name, argument.value)
    ]
    for node, is_formatted in nodes:
        if isinstance(node, CreateList) and not is_formatted:
            issues += _mixed(node.elements, node.optional_indices)
        elif isinstance(node, CreateMap) and not is_formatted:
            keys = [entry.key for entry in node.entries if not isinstance(entry.key, str)]
            values = [entry.value for entry in node.entries]
            optional = frozenset(i for i, entry in enumerate(node.entries) if entry.is_optional)
            issues += [*_mixed(keys, frozenset()), *_mixed(values, optional)]
    for node, _ in nodes:
        if isinstance(node, Call) and node.function == "format" and node.target is not None:
            issues += check_format(node)
    return issues


def _descendants(root: Expression) -> Iterator[tuple[Expression, bool]]:
    """Yield each node, and whether it is inside the arguments of `format`."""
    pending: list[tuple[Expression, bool]] = [(root, False)]
    while pending:
        node, is_formatted = pending.pop()
        yield node, is_formatted
        inside = is_formatted or (isinstance(node, Call) and node.function == "format")
        pending += [(child, inside) for child in children(node)]


def _is_valid(name: str, value: object) -> bool:
    if isinstance(value, int):
        in_range = TIMESTAMP_MIN_NS <= value * 10**9 <= TIMESTAMP_MAX_NS
        return name == "timestamp" and in_range
    if not isinstance(value, str):
        return False
    if name == "duration":
        return parse_duration(value) is not None
    if name == "timestamp":
        return parse_go_timestamp(value) is not None
    try:
        compile_pattern(value)
    except PatternError:
        return False
    return True


def _mixed(nodes: list[Expression], optional: frozenset[int]) -> list[Issue]:
    """Report the first element whose type is not that of the first one."""
    expected: Type | None = None
    for index, node in enumerate(nodes):
        found = node.type
        if index in optional and found.parameters:
            found = found.parameters[0]
        if expected is None:
            expected = found
        elif found != expected:
            required, actual = checker_name(expected), checker_name(found)
            return [Issue(node.offset, f"expected type '{required}' but found '{actual}'")]
    return []
