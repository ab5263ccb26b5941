"""What each type of a field accepts, and what is read of a value of a wrong type."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.decoding import decodable, decoding_problems
from podwright.apimachinery.schema.go_form import GoForms
from podwright.apimachinery.schema.strict_structs import (
    StrictStructs,
    converted,
    edit_distance,
    unknown_field,
)
from podwright.apimachinery.schema.types import VALUES, StructType

INNER = StructType("Inner", {"n": "int32 1"})
_TYPES = {
    "string": "string", "bool": "bool", "int32": "int32", "int64": "int64",
    "double": "double", "quantity": "quantity", "time": "time", "micro": "micro-time",
    "bytes": "bytes", "port": "int-or-string", "object": "object", "any": "any",
    "strings": "[string]", "numbers": "[int64]", "ints": "[int32]", "map": "{int32}",
    "inner": "Inner", "inners": "[Inner]", "lists": "{[string]}",
}  # fmt: skip
OUTER = StructType(
    "Outer",
    {name: f"{_TYPES[name]} {number}" for number, name in enumerate(reversed(_TYPES), start=1)},
)


def type_of(name: str) -> StructType:
    return {"Inner": INNER, "Outer": OUTER}[name]


def written(found: Any) -> bytes:
    return msgspec.json.encode(msgspec.to_builtins(found, order="deterministic"))


def problems_of(document: Any, path: str = "") -> list[str]:
    found = decoding_problems(document, OUTER, type_of, path)
    return [f"{at}: {text}" for at, text, _ in found]


@pytest.mark.parametrize(
    ("field", "right", "wrong", "expected"),
    [
        ("string", ["", "a"], [1, True, 1.5], "must be a string; put it in quotes"),
        ("string", [], [[], {}], "must be a string"),
        ("bool", [True, False], ["true", 1, 0, []], "must be true or false"),
        ("double", [1, 0, -1.5], ["1", True, []], "must be a number"),
        ("int32", [0, -(2**31), 2**31 - 1], ["1", 1.0, True, []], "must be an integer"),
        ("int32", [], [2**31, -(2**31) - 1],
         "must be a number from -2147483648 to 2147483647"),
        ("int64", [-(2**63), 2**63 - 1, 2**31], ["1", 1.5, False], "must be an integer"),
        ("int64", [], [2**63, -(2**63) - 1],
         "must be a number from -9223372036854775808 to 9223372036854775807"),
        ("quantity", ["1", "500m", "1Gi", 1, 1.5], [True, [], {}],
         "must be a quantity, such as 500m or 2Gi"),
        ("time", ["2026-03-02T10:11:12Z", "2026-03-02T10:11:12.5+01:00"],
         ["", "x", 1, [], "2026-03-02 10:11:12Z", "2026-W10-1T10:11:12Z", "20260302T101112Z"],
         "must be a time, such as 2026-03-02T10:11:12Z"),
        ("micro", ["2026-03-02T10:11:12.000000Z", "2026-03-02T10:11:12.123456+01:00"],
         ["2026-03-02T10:11:12Z", "2026-03-02T10:11:12.12345Z", "2026-03-02T10:11:12.1234567Z",
          "", 1], "must be a time, such as 2026-03-02T10:11:12.000000Z"),
        ("bytes", ["", "YQ==", "YQ\n==\r"], [1, [], True], "must be a string in base64"),
        ("bytes", [], ["a", "YQ", "Y Q==", "%", "YWJj=", "é"],
         "not base64; plain text belongs in stringData or in data of a ConfigMap"),
        ("port", ["http", "", 0, 2**31 - 1, -(2**31)], [2**31, 1.5, True, []],
         "must be an integer or a string"),
        ("object", [1, "a", [], {}], [], ""),
        ("any", [1, "a", [], {}], [], ""),
        ("strings", [[], ["a", None]], ["a", {}, 1], "must be a list"),
        ("map", [{}, {"a": 1, "b": None}], ["a", [], 1], "must be a map"),
        ("inner", [{}, {"n": 1}, {"n": None}], ["a", [], 1], "must be an object"),
    ],
)  # fmt: skip
def test_a_field_accepts_the_values_of_its_type(
    field: str, right: list[Any], wrong: list[Any], expected: str
) -> None:
    for value in [*right, None]:
        assert problems_of({field: value}) == []
        assert decodable({field: value}, OUTER, type_of, []) == {field: value}
    for value in wrong:
        assert converted({field: value}, STRICT) is None
        ((path, text, found),) = decoding_problems({field: value}, OUTER, type_of)
        assert (path, text.rpartition(": ")[2]) == (field, expected)
        assert found is value


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"strings": ["a", 1], "map": {"k": "x"}},
         ["strings[1]: Invalid value: 1: must be a string; put it in quotes",
          'map[k]: Invalid value: "x": must be an integer']),
        ({"inners": [{"n": 1}, None, {"n": "x"}, 5]},
         ['inners[2].n: Invalid value: "x": must be an integer',
          "inners[3]: Invalid value: 5: must be an object"]),
        ({"lists": {"k": [1]}},
         ["lists[k][0]: Invalid value: 1: must be a string; put it in quotes"]),
        (5, [": Invalid value: 5: must be an object"]),
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
        ({"ints": ["x", 1]}, {"ints": [0, 1]}, ["ints[0]"]),
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


FORMS = GoForms(type_of)
STRICT = StrictStructs(type_of).prepared("Outer")
CANONICAL = StrictStructs(type_of, FORMS).prepared("Outer")
DECIMAL = [f"{number}{suffix}" for number in (0, 1, 9, 10, 99, 100, 999, 1000, 1001, 1024, 1500,
           2000, 2048, 4096, 10000, 12000, 12500, 999999, 1000000, 1000001, 123456789012345,
           1234567890123456, 1000500, 1000000500)
           for suffix in ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti",
                          "Pi", "Ei")]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("quantity", [*DECIMAL, "1.5", "+1", "-1", "01", ".5", "1e3", "", "m", "00"]),
        ("time", ["2026-03-02T10:11:12Z", "2026-03-02T10:11:12.5Z", "2026-03-02T10:11:12+01:00",
                  "2026-03-31T23:59:59Z", "2026-02-29T00:00:00Z", "2026-03-02T24:00:00Z"]),
        ("micro", ["2026-03-02T10:11:12.000000Z", "2026-03-02T10:11:12.123456+01:00"]),
        ("bytes", ["", "YQ==", "YWI=", "YWJj", "YQ\n=="]),
        ("double", [1, 1.0, 1.5]),
        ("port", ["", "a", 0, 5]),
        ("string", ["", "a"]),
        ("bool", [True, False]),
        ("int32", [0, 1]),
        ("strings", [[], ["a"], [None]]),
        ("map", [{}, {"b": 1, "a": 2}, {"a": None}]),
        ("inner", [{}, {"n": 0}, {"n": 5}, {"m": 1}]),
        ("inners", [[], [{}], [{"n": 1}, {"n": 0}], [None]]),
        ("object", [{}, {"b": 1}]),
    ],
)  # fmt: skip
def test_what_is_read_at_once_is_what_is_read_step_by_step(field: str, values: list[Any]) -> None:
    for value in [*values, None]:
        document = {field: value}
        found = converted(document, CANONICAL)
        if found is not None:
            formed = FORMS.of("Outer").convert(document)
            assert written(found) == msgspec.json.encode(formed), value
        if converted(document, STRICT) is not None:
            assert problems_of(document) == [], value


@pytest.mark.parametrize(
    ("document", "is_strict", "is_canonical"),
    [
        ({}, True, True),
        ({"quantity": "0"}, True, True),
        ({"quantity": "999m"}, True, True),
        ({"quantity": "100Mi"}, True, True),
        ({"quantity": "1500m"}, True, True),
        ({"quantity": "1025Mi"}, True, True),
        ({"quantity": "1000m"}, True, False),
        ({"quantity": "1024Mi"}, True, False),
        ({"quantity": "1.5"}, True, False),
        ({"quantity": 5}, True, False),
        ({"quantity": 1.5}, True, False),
        ({"quantity": 1e15}, True, False),
        ({"int64": -(2**63)}, True, True),
        ({"int64": 2**63 - 1}, True, True),
        ({"quantity": "1" * 101}, False, False),
        ({"time": "2026-03-02T10:11:12Z"}, True, True),
        ({"time": "2026-03-02T10:11:12.5Z"}, True, False),
        ({"time": "2026-03-29T10:11:12Z"}, False, False),
        ({"micro": "2026-03-02T10:11:12.000000Z"}, True, True),
        ({"bytes": "YQ=="}, True, True),
        ({"bytes": "YQ\n=="}, False, False),
        ({"object": {}}, True, False),
        ({"any": 1}, True, False),
        ({"double": 1}, True, True),
        ({"port": "a", "int64": 5, "bool": True, "strings": ["a"], "map": {"a": 1}}, True, True),
        ({"inner": {"n": 1}, "inners": [{"n": 2}], "lists": {"a": ["b"]}}, True, True),
        ({"string": None}, True, False),
        ({"unknown": 1}, False, False),
        ({"inner": {"unknown": 1}}, False, False),
    ],
)
def test_most_documents_are_read_at_once(
    document: dict[str, Any], *, is_strict: bool, is_canonical: bool
) -> None:
    assert (converted(document, STRICT) is not None) == is_strict
    if is_canonical:
        found = converted(document, CANONICAL)
        assert found is not None
        formed = FORMS.of("Outer").convert(document)
        assert written(found) == msgspec.json.encode(formed)
    else:
        assert converted(document, CANONICAL) is None


@pytest.mark.parametrize("struct", VALUES)
def test_a_number_that_is_no_pointer_is_omitted_if_it_is_zero_only(struct: str) -> None:
    forms = GoForms(built_in().type)
    canonical = StrictStructs(built_in().type, forms).prepared(struct)
    numbers = [
        name
        for name in VALUES[struct]
        if built_in().type(struct).fields[name].type.name in ("int32", "int64")
    ]
    for document in ({name: number} for name in numbers for number in (0, 1)):
        formed = forms.of(struct).convert(document)
        assert set(document).issubset(formed) == (1 in document.values())
        if canonical is not None:
            found = converted(document, canonical)
            assert written(found) == msgspec.json.encode(formed)


def test_a_struct_in_itself_is_not_read_at_once() -> None:
    itself = StructType("Itself", {"a": "[Itself]", "b": "string"})
    assert StrictStructs({"Itself": itself}.__getitem__).prepared("Itself") is None
    assert converted({}, None) is None


@pytest.mark.parametrize(
    ("a", "b", "edits"),
    [
        ("", "", 0), ("a", "", 1), ("", "ab", 2), ("ab", "ab", 0), ("ab", "ba", 1),
        ("abc", "acb", 1), ("abcd", "badc", 2), ("abc", "axc", 1), ("ca", "abc", 3),
        ("image", "iamge", 1), ("contaners", "containers", 1), ("abcdef", "azced", 3),
    ],
)  # fmt: skip
def test_edits_are_changes_and_swaps_of_letters(a: str, b: str, edits: int) -> None:
    assert edit_distance(a, b) == edit_distance(b, a) == edits


TREE = {
    "Top": StructType("Top", {
        "spec": "Middle", "status": "Late", "metadata": "Data", "list": "[Leaf]",
        "mapped": "{Hidden}", "container": "string", "containers": "[string] required",
        "l" * 99: "string", "stopped": "bool",
    }),
    "Middle": StructType("Middle", {"replicas": "int32", "template": "Leaf", "name": "string",
                                    "stopped": "bool"}),
    "Late": StructType("Late", {"phase": "string", "below": "Deep"}),
    "Deep": StructType("Deep", {"depth": "string"}),
    "Data": StructType("Data", {"labels": "{string}"}),
    "Leaf": StructType("Leaf", {"image": "string", "next": "Last", "containerz": "string"}),
    "Last": StructType("Last", {"ending": "string", "more": "Further"}),
    "Further": StructType("Further", {"unreachable": "string", "deeper": "Deepest"}),
    "Deepest": StructType("Deepest", {"bottom": "string"}),
    "Hidden": StructType("Hidden", {"secret": "string"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "inside", "used", "expected"),
    [
        ("replicas", [], [], "; it is a field of spec"),
        ("image", [], [], "; it is a field of list[]"),
        ("ending", [], [], "; it is a field of list[].next"),
        ("unreachable", [], [], "; it is a field of list[].next.more"),
        ("bottom", [], [], ""),
        ("containerz", [], [], '; did you mean "containers"?'),
        ("l" * 100, [], [], f'; did you mean "{"l" * 99}"?'),
        ("l" * 101, [], [], ""),
        ("stopped", ["spec", "template"], [], "; it is a field of spec"),
        ("secret", [], [], ""),
        ("phase", [], [], ""),
        ("labels", [], [], ""),
        ("depth", [], [], ""),
        ("zzz", [], [], ""),
        ("Container", [], [], '; did you mean "container"?'),
        ("contaners", [], [], '; did you mean "containers"?'),
        ("containerx", [], [], '; did you mean "containers"?'),
        ("containerx", [], ["containers"], '; did you mean "container"?'),
        ("spec", ["spec"], [], "; it is a field of the object"),
        ("spec", ["spec", "template"], [], "; it is a field of the object"),
        ("replicas", ["spec", "template"], [], "; it is a field of spec"),
        ("name", ["spec", "template"], [], ""),
        ("ending", ["spec"], [], "; it is a field of spec.template.next"),
        ("replicas" + "x" * 93, [], [], ""),
    ],
)
def test_an_unknown_field_is_probably_another_one(
    name: str, inside: list[str], used: list[str], expected: str
) -> None:
    here, struct, path = [("", TREE["Top"])], TREE["Top"], ""
    for part in inside:
        struct = TREE[struct.fields[part].type.innermost]
        path = f"{path}.{part}" if path else part
        here.append((path, struct))
    found = unknown_field(name, tuple(here), TREE.__getitem__, used)
    assert found == f"unknown field{expected}"
