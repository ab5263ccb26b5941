"""What each type of a field accepts, and what is read of a value of a wrong type."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.decoding import decodable, decoding_problems
from podwright.apimachinery.schema.types import StructType

INNER = StructType("Inner", {"n": "int32"})
OUTER = StructType(
    "Outer",
    {
        "string": "string", "bool": "bool", "int32": "int32", "int64": "int64",
        "double": "double", "quantity": "quantity", "time": "time", "micro": "micro-time",
        "bytes": "bytes", "port": "int-or-string", "object": "object", "any": "any",
        "strings": "[string]", "numbers": "[int64]", "map": "{int32}", "inner": "Inner",
        "inners": "[Inner]", "lists": "{[string]}",
    },
)  # fmt: skip


def type_of(name: str) -> StructType:
    return {"Inner": INNER, "Outer": OUTER}[name]


def problems_of(document: Any, path: str = "") -> list[str]:
    found = decoding_problems(document, OUTER, type_of, path)
    return [f"{at}: {text}" for at, text, _ in found]


@pytest.mark.parametrize(
    ("field", "right", "wrong", "expected"),
    [
        ("string", ["", "a"], [1, True, 1.5], "a string is expected; put it in quotes"),
        ("string", [], [[], {}], "a string is expected"),
        ("bool", [True, False], ["true", 1, 0, []], "true or false is expected"),
        ("double", [1, 0, -1.5], ["1", True, []], "a number is expected"),
        ("int32", [0, -(2**31), 2**31 - 1], ["1", 1.0, True, []], "an integer is expected"),
        ("int32", [], [2**31, -(2**31) - 1],
         "a number from -2147483648 to 2147483647 is expected"),
        ("int64", [-(2**63), 2**63 - 1, 2**31], ["1", 1.5, False], "an integer is expected"),
        ("int64", [], [2**63, -(2**63) - 1],
         "a number from -9223372036854775808 to 9223372036854775807 is expected"),
        ("quantity", ["1", "500m", "1Gi", 1, 1.5], [True, [], {}],
         "a quantity is expected, such as 500m or 2Gi"),
        ("time", ["2026-03-02T10:11:12Z", "2026-03-02T10:11:12.5+01:00"], ["", "x", 1, []],
         "a time is expected, such as 2026-03-02T10:11:12Z"),
        ("micro", ["2026-03-02T10:11:12.000000Z", "2026-03-02T10:11:12.123456+01:00"],
         ["2026-03-02T10:11:12Z", "2026-03-02T10:11:12.12345Z", "2026-03-02T10:11:12.1234567Z",
          "", 1], "a time is expected, such as 2026-03-02T10:11:12.000000Z"),
        ("bytes", ["", "YQ==", "YQ\n==\r"], [1, [], True], "a string in base64 is expected"),
        ("bytes", [], ["a", "YQ", "Y Q==", "%"],
         "not base64; plain text belongs in stringData or in data of a ConfigMap"),
        ("port", ["http", "", 0, 2**31 - 1, -(2**31)], [2**31, 1.5, True, []],
         "an integer or a string is expected"),
        ("object", [1, "a", [], {}], [], ""),
        ("any", [1, "a", [], {}], [], ""),
        ("strings", [[], ["a", None]], ["a", {}, 1], "a list is expected"),
        ("map", [{}, {"a": 1, "b": None}], ["a", [], 1], "a map is expected"),
        ("inner", [{}, {"n": 1}, {"n": None}], ["a", [], 1], "an object is expected"),
    ],
)  # fmt: skip
def test_a_field_accepts_the_values_of_its_type(
    field: str, right: list[Any], wrong: list[Any], expected: str
) -> None:
    for value in [*right, None]:
        assert problems_of({field: value}) == []
        assert decodable({field: value}, OUTER, type_of, []) == {field: value}
    for value in wrong:
        ((path, text, found),) = decoding_problems({field: value}, OUTER, type_of)
        assert (path, text.rpartition(": ")[2]) == (field, expected)
        assert found is value


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"strings": ["a", 1], "map": {"k": "x"}},
         ["strings[1]: Invalid value: 1: a string is expected; put it in quotes",
          'map[k]: Invalid value: "x": an integer is expected']),
        ({"inners": [{"n": 1}, None, {"n": "x"}, 5]},
         ['inners[2].n: Invalid value: "x": an integer is expected',
          "inners[3]: Invalid value: 5: an object is expected"]),
        ({"lists": {"k": [1]}},
         ["lists[k][0]: Invalid value: 1: a string is expected; put it in quotes"]),
        (5, [": Invalid value: 5: an object is expected"]),
        ({"quantity": "1x"},
         ['quantity: Invalid value: "1x": quantities are numbers with an optional suffix, such as'
          " 500m, 2, 1.5Gi or 1e3"]),
    ],
)  # fmt: skip
def test_problems_have_the_paths_of_their_values(document: Any, expected: list[str]) -> None:
    assert problems_of(document) == expected
    inner = problems_of(document, "p")
    dot = "." if isinstance(document, dict) else ""
    assert inner == [f"p{dot}{line}" for line in expected]


def test_only_some_unknown_fields_have_suggestions() -> None:
    near = {f"strin{index}": 1 for index in range(21)}
    found = problems_of(near)
    assert [line.endswith("unknown field") for line in found] == [False] * 20 + [True]


@pytest.mark.parametrize(
    ("given", "kept", "removed"),
    [
        ({"string": 1, "unknown": {"a": 1}}, {"string": "1", "unknown": {"a": 1}}, []),
        ({"string": True}, {"string": "true"}, []),
        ({"string": 1.5}, {"string": "1.5"}, []),
        ({"string": []}, {}, ["string"]),
        ({"int32": "12", "int64": "-5"}, {"int32": 12, "int64": -5}, []),
        ({"int32": "2147483648"}, {}, ["int32"]),
        ({"int64": "9223372036854775808"}, {}, ["int64"]),
        ({"int32": "1.5", "int64": "x"}, {}, ["int32", "int64"]),
        ({"int32": "12345678901234567890"}, {}, ["int32"]),
        ({"bool": "true", "double": "1"}, {}, ["bool", "double"]),
        ({"strings": ["a", [], 1, None]}, {"strings": ["a", "", "1", None]}, ["strings[1]"]),
        ({"numbers": [1, "x", "2"]}, {"numbers": [1, 0, 2]}, ["numbers[1]"]),
        ({"strings": "a"}, {}, ["strings"]),
        ({"map": {"a": 1, "b": "x", "c": "3"}}, {"map": {"a": 1, "c": 3}}, ["map[b]"]),
        ({"map": []}, {}, ["map"]),
        ({"inner": {"n": "x", "m": 1}}, {"inner": {"m": 1}}, ["inner.n"]),
        ({"inner": 5}, {}, ["inner"]),
        ({"inners": [5, {"n": []}]}, {"inners": [{}, {}]}, ["inners[0]", "inners[1].n"]),
        ({"lists": {"a": [[]], "b": 1}}, {"lists": {"a": [""]}}, ["lists[a][0]", "lists[b]"]),
    ],
)  # fmt: skip
def test_what_can_be_read_of_values_of_wrong_types(
    given: dict[str, Any], kept: dict[str, Any], removed: list[str]
) -> None:
    paths: list[str] = []
    assert decodable(given, OUTER, type_of, paths) == kept
    assert paths == removed
    below: list[str] = []
    assert decodable(given, OUTER, type_of, below, "p") == kept
    assert below == [f"p.{path}" for path in removed]
