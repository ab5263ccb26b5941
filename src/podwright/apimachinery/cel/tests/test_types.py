"""Types one by one: their names, which stand for others, and which is the more general one."""

from __future__ import annotations

import pytest

from podwright.apimachinery.cel.types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Substitutions,
    Type,
    checker_name,
    is_instance,
    is_optional,
    library_of,
    list_of,
    map_of,
    most_general,
    optional_of,
    parameter,
    struct_of,
    type_of,
)

A, B = parameter("A"), parameter("B")
SET = Type("opaque", "set", (INT,))


@pytest.mark.parametrize(
    ("type_", "shown", "of_values", "in_errors"),
    [
        (DYN, "dyn", "dyn", "dyn"),
        (ANY, "google.protobuf.Any", "google.protobuf.Any", "any"),
        (ERROR, "!error!", "!error!", "!error!"),
        (NULL, "null_type", "null_type", "null"),
        (INT, "int", "int", "int"),
        (TIMESTAMP, "google.protobuf.Timestamp", "google.protobuf.Timestamp", "timestamp"),
        (DURATION, "google.protobuf.Duration", "google.protobuf.Duration", "duration"),
        (TYPE, "type", "type", "type"),
        (type_of(INT), "type(int)", "type", "type(int)"),
        (list_of(NULL), "list(null_type)", "list", "list(null)"),
        (map_of(STRING, list_of(ANY)), "map(string, list(google.protobuf.Any))", "map",
         "map(string, list(any))"),
        (optional_of(INT), "optional_type(int)", "optional_type", "optional_type(int)"),
        (struct_of("a.B"), "a.B", "a.B", "a.B"),
        (A, "A", "A", "A"),
        (Type("opaque", "net.IP"), "net.IP", "net.IP", "net.IP"),
        (SET, "set(int)", "set", "set(int)"),
    ],
)  # fmt: skip
def test_the_names_of_a_type(type_: Type, shown: str, of_values: str, in_errors: str) -> None:
    assert (str(type_), type_.runtime_name, checker_name(type_)) == (shown, of_values, in_errors)


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ({"a": 1}, map_of(STRING, INT), True),
        ({1: 1}, map_of(STRING, INT), False),
        ({"a": "b"}, map_of(STRING, INT), False),
        ({}, map_of(STRING, INT), True),
        (["a"], list_of(INT), False),
        ([1, "a"], list_of(INT), True),
        (1, map_of(STRING, INT), False),
    ],
)
def test_the_first_element_decides_whether_a_value_has_a_type(
    value: object, type_: Type, expected: bool
) -> None:
    assert is_instance(value, type_) is expected


def test_the_facts_about_a_type() -> None:
    every = (
        DYN, ANY, ERROR, NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION, TYPE,
        list_of(INT), map_of(STRING, INT), struct_of("a"), A, optional_of(INT), optional_of(STRING),
        optional_of(optional_of(BOOL)), SET, Type("opaque", "net.IP"),
        Type("struct", "optional_type", (INT,)),
    )  # fmt: skip
    assert [str(each) for each in every if each.is_scalar] == [
        "bool", "int", "uint", "double", "google.protobuf.Timestamp", "google.protobuf.Duration",
        "optional_type(int)", "optional_type(optional_type(bool))",
    ]  # fmt: skip
    assert [str(each) for each in every if each.is_dynamic] == ["dyn", "google.protobuf.Any"]
    assert [each for each in every if is_optional(each)] == [
        optional_of(INT), optional_of(STRING), optional_of(optional_of(BOOL)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected", "is_assigned"),
    [
        ([INT], [INT], True),
        ([INT], [UINT], False),
        ([INT, STRING], [INT], False),
        ([], [], True),
        ([DYN], [INT], True),
        ([INT], [DYN], True),
        ([ANY], [INT], True),
        ([INT], [ERROR], True),
        ([NULL], [TIMESTAMP], True),
        ([NULL], [DURATION], True),
        ([NULL], [struct_of("a")], True),
        ([NULL], [optional_of(INT)], True),
        ([NULL], [NULL], True),
        ([NULL], [INT], False),
        ([NULL], [list_of(INT)], False),
        ([INT], [NULL], False),
        ([type_of(INT)], [type_of(STRING)], True),
        ([type_of(INT)], [INT], False),
        ([struct_of("a")], [struct_of("b")], False),
        ([struct_of("a")], [struct_of("a")], True),
        ([optional_of(INT)], [SET], False),
        ([list_of(INT)], [list_of(INT)], True),
        ([list_of(INT)], [list_of(STRING)], False),
        ([list_of(DYN)], [list_of(STRING)], True),
        ([map_of(STRING, INT)], [map_of(STRING, STRING)], False),
        ([map_of(STRING, INT)], [Type("map")], False),
        ([A], [INT], True),
        ([INT], [A], True),
        ([INT, INT], [A, A], True),
        ([INT, STRING], [A, A], False),
        ([INT, STRING], [A, B], True),
        ([INT, DYN], [A, A], True),
        ([list_of(INT), INT], [list_of(A), A], True),
        ([list_of(INT), STRING], [list_of(A), A], False),
        ([list_of(A)], [A], False),
        ([A], [A], True),
        ([map_of(STRING, list_of(B))], [map_of(A, B)], False),
    ],
)
def test_which_types_stand_for_others(
    given: list[Type], expected: list[Type], *, is_assigned: bool
) -> None:
    assert Substitutions().assign(given, expected) is is_assigned


def test_what_variables_stand_for() -> None:
    found = Substitutions()
    assert found.assign([INT, list_of(STRING)], [A, list_of(B)])
    assert found.resolve(A) == INT
    assert found.resolve(map_of(A, list_of(B))) == map_of(INT, list_of(STRING))
    free = parameter("C")
    assert found.resolve(free) == free
    assert found.resolve(list_of(free)) == list_of(free)
    assert found.resolve(list_of(free), unbound_to_dyn=True) == list_of(DYN)
    assert found.resolve(A, unbound_to_dyn=True) == INT
    plain = list_of(INT)
    assert found.resolve(plain) is plain
    # What a failed assignment implies is not kept.
    assert not found.assign([BOOL, STRING], [free, INT])
    assert found.resolve(free) == free
    # Of two types that agree, a variable stands for the more general one.
    assert found.assign([DYN], [A])
    assert found.resolve(A) == DYN
    chained = Substitutions()
    assert chained.assign([A], [B])
    assert chained.assign([INT], [B])
    assert {str(chained.resolve(each)) for each in (A, B)} == {"int"}
    assert not chained.assign([list_of(B)], [A])


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (DYN, INT, DYN),
        (INT, DYN, DYN),
        (ANY, INT, ANY),
        (A, INT, A),
        (INT, A, A),
        (INT, INT, INT),
        (INT, STRING, STRING),
        (list_of(DYN), list_of(INT), list_of(DYN)),
        (list_of(INT), list_of(DYN), list_of(DYN)),
        (map_of(STRING, DYN), map_of(STRING, INT), map_of(STRING, DYN)),
        (map_of(DYN, INT), map_of(STRING, DYN), map_of(STRING, DYN)),
        (type_of(INT), type_of(STRING), type_of(INT)),
        (struct_of("a"), struct_of("b"), struct_of("b")),
        (struct_of("a"), struct_of("a"), struct_of("a")),
    ],
)
def test_the_more_general_of_two_types(first: Type, second: Type, found: Type) -> None:
    assert most_general(first, second) == found


@pytest.mark.parametrize(
    ("head", "name", "args", "is_member"),
    [
        ("f(int)", "f", (INT,), False),
        ("f()", "f", (), False),
        ("string.f(int, list(int))", "f", (STRING, INT, list_of(INT)), True),
        ("list(int).f(map(string, int))", "f", (list_of(INT), map_of(STRING, INT)), True),
        ("::a.f(int)", "a.f", (INT,), False),
    ],
)
def test_a_signature_has_a_name_and_the_types_of_its_arguments(
    head: str, name: str, args: tuple[Type, ...], is_member: bool
) -> None:
    library = library_of({name: lambda *_: None}, f"one: {head} -> bool")
    (function,) = library.functions
    overload = function.overloads["one"]
    assert (function.name, overload.args, overload.is_member) == (name, args, is_member)
    assert overload.result == BOOL
