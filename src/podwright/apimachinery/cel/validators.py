"""Checks of literals, after the types are known.

Upstream: cel-go cel/validator.go, ext/formatting.go (stringFormatValidator)
"""

from __future__ import annotations

from collections.abc import Iterator

from podwright.apimachinery.cel.errors import Issue
from podwright.apimachinery.cel.expressions import (
    Call,
    Constant,
    CreateList,
    CreateMap,
    Expression,
    children,
)
from podwright.apimachinery.cel.functions.formatting import check_format
from podwright.apimachinery.cel.functions.regular_expressions import PatternError, compile_pattern
from podwright.apimachinery.cel.functions.time_text import parse_duration, parse_timestamp
from podwright.apimachinery.cel.types import Type, checker_name


def validate_literals(root: Expression) -> list[Issue]:
    """Return the problems of literals: times, patterns, formats, mixed lists and maps."""
    nodes = list(_descendants(root))
    issues = [
        Issue(argument.offset, f"invalid {name} argument")
        for name in ("duration", "timestamp", "matches")
        for node, _ in nodes
        if isinstance(node, Call)
        and node.function == name
        and (argument := _literal_argument(node)) is not None
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
        pending += [(child, inside) for child in reversed(children(node))]


def _literal_argument(node: Call) -> Constant | None:
    index = 0 if node.target is not None or node.function != "matches" else 1
    argument = node.args[index] if index < len(node.args) else None
    return argument if isinstance(argument, Constant) else None


def _is_valid(name: str, value: object) -> bool:
    if not isinstance(value, str):
        return True
    if name == "duration":
        return parse_duration(value) is not None
    if name == "timestamp":
        return parse_timestamp(value) is not None
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
