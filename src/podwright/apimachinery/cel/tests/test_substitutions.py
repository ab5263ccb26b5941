"""What type variables stand for: never for a type that contains them."""

from __future__ import annotations

import pytest

from podwright.apimachinery.cel.types import (
    DYN,
    INT,
    STRING,
    Substitutions,
    Type,
    list_of,
    map_of,
    parameter,
)

A, B, C = parameter("A"), parameter("B"), parameter("C")


@pytest.mark.parametrize(
    ("pairs", "resolved"),
    [
        pytest.param([(INT, A)], {A: INT}, id="a type"),
        pytest.param([(A, INT)], {A: INT}, id="a given variable"),
        pytest.param([(A, A)], {A: A}, id="itself"),
        pytest.param([(B, A), (INT, B)], {A: INT, B: INT}, id="through another"),
        pytest.param([(list_of(A), B), (INT, A)], {B: list_of(INT)}, id="inside of a list"),
        pytest.param([(map_of(A, B), C), (STRING, A)], {C: map_of(STRING, B)}, id="half of a map"),
    ],
)
def test_a_variable_stands_for_what_was_assigned(
    pairs: list[tuple[Type, Type]], resolved: dict[Type, Type]
) -> None:
    found = Substitutions()
    for given, expected in pairs:
        assert found.assign([given], [expected])
    assert {variable: found.resolve(variable) for variable in resolved} == resolved


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([(list_of(A), A)], id="a list of itself"),
        pytest.param([(map_of(STRING, list_of(A)), A)], id="deeply within"),
        pytest.param([(list_of(A), B), (B, A)], id="through another"),
        pytest.param([(list_of(A), B), (list_of(B), C), (C, A)], id="through two others"),
        pytest.param([(list_of(A), B), (map_of(STRING, B), A)], id="within another's"),
    ],
)
def test_no_variable_stands_for_a_type_that_contains_it(pairs: list[tuple[Type, Type]]) -> None:
    found = Substitutions()
    *before, (given, expected) = pairs
    for each, variable in before:
        assert found.assign([each], [variable])
    kept = [found.resolve(each) for each in (A, B, C)]
    assert not found.assign([given], [expected])
    assert [found.resolve(each) for each in (A, B, C)] == kept


def test_an_assignment_that_fails_leaves_no_trace() -> None:
    found = Substitutions()
    assert not found.assign([INT, INT], [A, STRING])
    assert not found.assign([INT], [A, B])
    assert found.resolve(A) == A
    assert found.resolve(list_of(A), unbound_to_dyn=True) == list_of(DYN)
