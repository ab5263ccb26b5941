"""Quantities are checked wherever the struct of a kind has one."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pytest

from podwright.apimachinery.objects import InvalidObject, QuantityText, decode
from podwright.apimachinery.objects.kinds import TYPE_OF

QUANTITY = set(get_args(QuantityText))
REQUIRED: dict[Any, Any] = {str: "1", int: 1, bool: True, dict: {}, tuple: []}


def smallest(expected: Any) -> Any:
    """Return the smallest value of a type: its required fields only."""
    if isinstance(expected, type) and issubclass(expected, msgspec.Struct):
        return {
            field.encode_name: smallest(hint)
            for field, hint in fields_of(expected)
            if field.required
        }
    origin, arguments = get_origin(expected), get_args(expected)
    if origin in (dict, tuple):
        return REQUIRED[origin]
    # A literal is its own value.
    return smallest(arguments[0]) if arguments else REQUIRED.get(expected, expected)


def fields_of(struct: type[msgspec.Struct]) -> Iterator[tuple[Any, Any]]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        yield field, hints[field.name]


def with_quantity(expected: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path of each quantity of a type, and a function that makes a value with it."""
    origin, arguments = get_origin(expected), get_args(expected)
    if origin in (dict, tuple):
        inner = f"{path}[k]" if origin is dict else f"{path}[0]"
        for found, make in with_quantity(arguments[1] if origin is dict else arguments[0], inner):
            if origin is dict:
                yield found, lambda text, make=make: {"k": make(text)}
            else:
                yield found, lambda text, make=make: [make(text)]
    elif isinstance(expected, type) and issubclass(expected, msgspec.Struct):
        rest = smallest(expected)
        for field, hint in fields_of(expected):
            name = field.encode_name
            for found, make in with_quantity(hint, f"{path}.{name}" if path else name):
                yield found, lambda text, make=make, name=name: rest | {name: make(text)}
    elif arguments and origin is not Annotated:
        given = [each for each in arguments if each is not NoneType]
        if set(given) == QUANTITY:
            yield path, lambda text: text
        elif len(given) == 1:
            yield from with_quantity(given[0], path)


QUANTITIES = [
    pytest.param(kind, make, path, id=f"{kind.__name__} {path}")
    for kind in TYPE_OF.values()
    for path, make in with_quantity(kind)
]


@pytest.mark.parametrize(("kind", "make", "path"), QUANTITIES)
def test_a_quantity_is_checked_wherever_it_is(kind: Any, make: Any, path: str) -> None:
    """Upstream: each is a resource.Quantity, whose UnmarshalJSON rejects another text."""
    head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "n"}}
    assert decode(make("1") | head).kind == kind.kind
    with pytest.raises(InvalidObject) as refused:
        decode(make("x") | head)
    assert str(refused.value).startswith(f'{path}: Invalid value: "x": quantities are numbers')
