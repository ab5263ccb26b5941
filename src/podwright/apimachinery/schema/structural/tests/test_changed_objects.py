"""Lists, replicas and embedded objects of custom resources, when they are made and changed."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.structural.custom_kind import CustomKind, CustomVersion
from podwright.apimachinery.schema.structural.field_paths import (
    AccessError,
    JsonPathError,
    ScalePaths,
    columns_of,
    compiled_path,
    integer_at,
    text_at,
)
from podwright.apimachinery.schema.structural.shape import (
    embedded_problems,
    validate_embedded,
    with_embedded_metadata,
)
from podwright.apimachinery.schema.structural.tests.test_custom_kind import OPEN, kind, train
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

Document = dict[str, Any]
SET = {"type": "array", "x-kubernetes-list-type": "set"}
LISTS = kind(
    {
        "type": "object",
        "properties": {
            "set": SET | {"items": {"type": "string"}},
            "map": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a", "b"],
                "items": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
                },
            },
            "nested": {"type": "array", "items": SET | {"items": OPEN}},
            "values": {
                "type": "object",
                "additionalProperties": SET | {"items": {"type": "integer"}},
            },
            "free": SET,
            "any": {"type": "array"},
        },
    }
)


def shown(problems: list[Any]) -> list[str]:
    return [f"{path}: {message}" for path, message, _ in problems]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"set": ["a", "b"], "any": [1, 1, {"x": 1}]}, []),
        ({"set": ["a", "b", "a", "a"]}, ['spec.set[2]: Duplicate value: "a"']),
        ({"map": [{"a": "x", "b": 1}, {"a": "x", "b": 2}, {"a": "y", "b": 1}]}, []),
        (
            {"map": [{"a": "x", "b": 1}, {"a": "y"}, {"a": "x", "b": 1}]},
            ['spec.map[2]: Duplicate value: {"a":"x","b":1}'],
        ),
        ({"map": [{"a": "x"}, {"a": "x"}]}, ['spec.map[1]: Duplicate value: {"a":"x"}']),
        (
            {"nested": [[{"x": 1}], [{"x": 1, "y": 2}, {"y": 2, "x": 1}]]},
            ['spec.nested[1][1]: Duplicate value: {"y":2,"x":1}'],
        ),
        ({"values": {"k": [1], "l": [2, 2]}}, ["spec.values[l][1]: Duplicate value: 2"]),
        ({"free": [1, "1", True, 1]}, ["spec.free[3]: Duplicate value: 1"]),
    ],
)
def test_lists_of_types_have_no_duplicates_unless_they_had_some(
    spec: Document, expected: list[str]
) -> None:
    new, empty = train(spec, resourceVersion="1"), train({}, resourceVersion="1")
    assert shown(LISTS.validation_problems(train(spec))) == expected
    assert shown(LISTS.update_problems(new, empty)) == expected
    assert shown(LISTS.status_problems(new, empty)) == expected
    assert shown(LISTS.problems_of_other_kind([], new, None)) == expected
    assert shown(LISTS.problems_of_other_kind([], new, empty)) == expected
    assert LISTS.update_problems(new, new) == []
    assert LISTS.status_problems(new, new) == []


def test_an_entry_of_a_map_is_an_object() -> None:
    found = shown(LISTS.validation_problems(train({"map": [{"a": "x"}, 3]})))
    assert (
        found[-1]
        == "spec.map[1]: Invalid value: 3: must be an object for an array of list-type map"
    )


SCALED = CustomKind(
    CustomVersion(
        group="example.com",
        version="v1",
        names={"plural": "trains", "kind": "Train"},
        namespaced=True,
        schema={"type": "object", "properties": {"spec": OPEN, "status": OPEN}},
        subresources={
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.n",
                "statusReplicasPath": ".status.n",
                "labelSelectorPath": ".status.selector",
            },
        },
    )
)
WRONG = "accessor error: {} is of the type {}, expected {}"
LARGE = "2147483648: should be less than or equal to 2147483647"


@pytest.mark.parametrize(
    ("spec", "status", "of_spec", "of_status"),
    [
        ({"n": 1}, {"n": 1, "selector": "a=b"}, [], []),
        ({"n": 2**31 - 1}, {"n": 0}, [], []),
        ({}, {}, [], []),
        (
            {"n": -1},
            {"n": 2**31},
            [".spec.n: Invalid value: -1: should be a non-negative integer"],
            [f".status.n: Invalid value: {LARGE}"],
        ),
        (
            {"n": True},
            {"n": 1.5, "selector": 3},
            [f".spec.n: Invalid value: 0: .spec.n {WRONG.format('true', 'bool', 'int64')}"],
            [
                f".status.n: Invalid value: 0: .status.n {WRONG.format(1.5, 'float64', 'int64')}",
                '.status.selector: Invalid value: "": .status.selector '
                + WRONG.format(3, "int64", "string"),
            ],
        ),
        (
            {"n": [1, "a", None]},
            {"n": {"b": 1, "a": False}},
            [
                ".spec.n: Invalid value: 0: .spec.n "
                + WRONG.format("[1 a <nil>]", "[]interface {}", "int64")
            ],
            [
                ".status.n: Invalid value: 0: .status.n "
                + WRONG.format("map[a:false b:1]", "map[string]interface {}", "int64")
            ],
        ),
        (
            {"n": None},
            {"n": "x"},
            [f".spec.n: Invalid value: 0: .spec.n {WRONG.format('<nil>', '<nil>', 'int64')}"],
            [f".status.n: Invalid value: 0: .status.n {WRONG.format('x', 'string', 'int64')}"],
        ),
    ],
)
def test_replicas_are_numbers_in_their_range(
    spec: Document, status: Document, of_spec: list[str], of_status: list[str]
) -> None:
    document = train(spec, resourceVersion="1") | {"status": status}
    assert shown(SCALED.validation_problems(document)) == of_spec + of_status
    assert shown(SCALED.update_problems(document, document)) == of_spec + of_status
    assert shown(SCALED.status_problems(document, document)) == of_status


def test_a_path_through_a_text_is_an_error() -> None:
    document = train({}, resourceVersion="1") | {"status": "x"}
    text = WRONG.format("x", "string", "map[string]interface{}")
    assert shown(SCALED.status_problems(document, document))[-2:] == [
        f".status.n: Invalid value: 0: .status.n {text}",
        f'.status.selector: Invalid value: "": .status.selector {text}',
    ]


EMBEDDED = OPEN | {"x-kubernetes-embedded-resource": True}
PLACES = kind(
    {
        "type": "object",
        "properties": {
            "one": EMBEDDED,
            "list": {"type": "array", "items": EMBEDDED},
            "map": {"type": "object", "additionalProperties": EMBEDDED},
        },
    }
)
POD = {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    ("path", "within"),
    [
        ("spec.one", lambda each: {"one": each}),
        ("spec.list[1]", lambda each: {"list": [POD, each]}),
        ("spec.map[k]", lambda each: {"map": {"k": each}}),
    ],
)
@pytest.mark.parametrize(
    ("embedded", "decoding", "validation"),
    [
        (POD, [], []),
        (POD | {"spec": {"x": 1}, "metadata": {"name": "a"}}, [], []),
        ({}, [], ["apiVersion: Required value", "kind: Required value"]),
        (
            {"apiVersion": "", "kind": ""},
            [],
            [
                'apiVersion: Invalid value: "": must not be empty',
                'kind: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"apiVersion": "a/b/c", "kind": "A_b"},
            [],
            [
                'apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                'kind: Invalid value: "A_b": may have mixed case, but should otherwise match: ',
            ],
        ),
        (
            {"apiVersion": 1, "kind": 2},
            [
                "apiVersion: Invalid value: 1: must be a string",
                "kind: Invalid value: 2: must be a string",
            ],
            [
                "apiVersion: Invalid value: 1: must be a string",
                "kind: Invalid value: 2: must be a string",
            ],
        ),
        (
            POD | {"metadata": {"name": "A/b", "namespace": "X"}},
            [],
            [
                "metadata.name: Invalid value: \"A/b\": may not contain '/'",
                'metadata.namespace: Invalid value: "X": a lowercase RFC 1123 label',
            ],
        ),
        (
            POD | {"metadata": {"labels": {"a": 1}}},
            ['metadata: Invalid value: {"labels":{"a":1}}: json: Invalid value: 1: must be'],
            [],
        ),
        (POD | {"metadata": {"bogus": 1}}, ["metadata.bogus: unknown field"], []),
    ],
)
def test_an_embedded_object_is_one_wherever_it_is(
    path: str, within: Any, embedded: Document, decoding: list[str], validation: list[str]
) -> None:
    document = train(within(embedded))
    for found, expected in (
        (PLACES.decoding_problems(document), decoding),
        (PLACES.validation_problems(document), validation),
        (PLACES.update_problems(*[train(within(embedded), resourceVersion="1")] * 2), validation),
    ):
        lines = shown(found)
        assert len(lines) == len(expected), lines
        for line, each in zip(lines, expected, strict=True):
            assert line.startswith(f"{path}.{each}")
    if embedded.get("metadata") == {"bogus": 1}:
        assert PLACES.go_form(document)["spec"] == within(POD | {"metadata": {}})
    else:
        assert PLACES.go_form(document)["spec"] == within(embedded)


def of_embedded(value: Any, schema: Any) -> list[str]:
    errors = FieldErrors()
    validate_embedded(errors, value, schema)
    problems = [*embedded_problems(value, schema), *errors.problems]
    return [f"{path}: {text.partition(': ')[0]}" for path, text, _ in problems]


WHOLE = {"x-kubernetes-embedded-resource": True}


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ({}, WHOLE, ["apiVersion: Required value", "kind: Required value"]),
        ({"apiVersion": "a/b", "kind": "A"}, WHOLE, []),
        ({"apiVersion": "a/b/c", "kind": "A"}, WHOLE, ["apiVersion: Invalid value"]),
        ({"apiVersion": 1, "kind": 2}, {}, []),
        ({"metadata": {"name": 1}}, {}, []),
        ([{"kind": 1}], {}, []),
        ([{"apiVersion": "v1"}], {"items": WHOLE}, ["[0].kind: Required value"]),
    ],
)
def test_only_an_embedded_object_has_the_errors_of_one(
    value: Any, schema: Any, expected: list[str]
) -> None:
    assert of_embedded(value, schema) == expected


def test_a_value_without_unknown_metadata_stays_the_same() -> None:
    schema = {"properties": {"a": WHOLE, "b": {"items": {"properties": {"c": {}}}}}}
    value = {"a": [], "b": [{"c": {"metadata": {"x": 1}}}], "metadata": {"x": 1}}
    assert with_embedded_metadata(value, schema) is value


def test_an_object_of_another_version_has_only_unknown_fields() -> None:
    document = train({"a": 1}) | {"apiVersion": "example.com/v2"}
    assert shown(kind(OPEN).decoding_problems(document)) == ["spec: unknown field"]
    other = train({"a": 1}) | {"apiVersion": "other.example/v1"}
    assert kind(OPEN).decoding_problems(other) == []


def test_null_is_a_value_of_an_enum_or_not() -> None:
    of = kind({"type": "string", "nullable": True, "enum": ["a"]})
    assert [path for path, _, _ in of.validation_problems(train(None))] == ["spec"]


DOCUMENT = {"spec": {"a.b": 1, "c-d": [{"e": 2}, {"e": 3}], "it's": 4, "f": {"e": 5}}}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (r".spec.a\.b", [1]),
        (".spec.c-d[0].e", [2]),
        (".spec.c-d[*].e", [2, 3]),
        (".spec.c-d[?(@.e > 2)].e", [3]),
        (".spec.it's", [4]),
        ("spec.f.e", [5]),
        ("$.spec.f.e", [5]),
        (".spec.f.*", [5]),
        (r".spec['a\.b']", [1]),
        (".spec.f..e", [5]),
        (".spec.none", []),
        # Each member of a union finds all its values before the next one does.
        (".spec.c-d[0,1].e", [2, 3]),
        (".spec.c-d[1, 0].e", [3, 2]),
        (".spec.c-d[*]['e','e']", [2, 3, 2, 3]),
        (".spec['f.e', 'f']", [5, {"e": 5}]),
        (r".spec['a\.b','f.e']", [1, 5]),
        (".spec.c-d[0:1,1:2].e", [2, 3]),
        (".spec.c-d[1,0]['e','none','e']", [3, 2, 3, 2]),
        (".spec.c-d[?(@.e in [1, 3])].e", [3]),
    ],
)
def test_a_path_is_read_as_kubernetes_spells_it(path: str, found: list[Any]) -> None:
    assert compiled_path(path).findall(DOCUMENT) == found


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".spec[", "unexpected '['"),
        (".spec..", "a name is missing after .."),
        (".spec..[0]", "a name is missing after .."),
        (".spec[0]x", "unexpected 'x'"),
        (".spec[?(]", "unexpected end of expression"),
        (". spec", "unexpected '. spec'"),
        (".spec[0,]", "empty bracketed segment"),
        (".spec[,0]", "empty bracketed segment"),
        (".spec[0,x y]", "expected TOKEN_COMMA, found 'TOKEN_NAME'"),
        (".spec" + "[0,1]" * 9, "its unions have more than 256 combinations"),
    ],
)
def test_a_path_that_cannot_be_parsed_is_an_error(path: str, problem: str) -> None:
    with pytest.raises(JsonPathError) as error:
        compiled_path(path)
    assert str(error.value) == f"{path!r}: {problem}"


def test_unions_of_a_path_have_all_their_combinations() -> None:
    value: Any = [0]
    for _ in range(8):
        value = [value, value]
    found = compiled_path(".spec" + "[0,1]" * 8).findall({"spec": value})
    assert found == [[0]] * 256


def test_what_no_schema_specifies_is_unknown_also_in_a_list_without_items() -> None:
    document = train({"any": [1, {"x": 1}, [{"y": 2}]]})
    assert [path for path, _, _ in LISTS.decoding_problems(document)] == [
        "spec.any[1].x",
        "spec.any[2][0].y",
    ]
    assert LISTS.go_form(document)["spec"] == {"any": [1, {}, [{}]]}


@pytest.mark.parametrize(
    ("type_", "value", "cell"),
    [
        ("integer", 3, 3),
        ("integer", 3.7, 3),
        ("integer", "3", None),
        ("integer", True, None),
        ("integer", float("inf"), None),
        ("number", 3, 3.0),
        ("number", "3", None),
        ("number", False, None),
        ("boolean", True, True),
        ("boolean", 1, None),
        ("string", "a", "a"),
        ("string", None, "<no value>"),
        ("string", True, "true"),
        ("string", False, "false"),
        ("string", 1.5, "1.5"),
        ("string", 2.0, "2"),
        ("string", {"b": 1, "a": [2]}, '{"a":[2],"b":1}'),
        ("date", 5, None),
        ("date", "x", "<invalid>"),
        ("date", "", "<unknown>"),
        ("date", "2026-01-01T00:00:00Z", "10s"),
        ("x", "a", None),
    ],
)
def test_a_cell_has_the_type_of_its_column(type_: str, value: Any, cell: Any) -> None:
    columns, (_, of_value, absent) = columns_of(
        [{"name": "A", "type": type_, "jsonPath": ".a"}, {"name": "B", "jsonPath": ".b"}]
    )
    now_ns = 1_767_225_610 * 10**9
    found = of_value({"a": value}, now_ns)
    assert (found, type(found)) == (cell, type(cell))
    assert absent({"a": value}, now_ns) is None
    assert [(each.name, each.type) for each in columns[1:]] == [("A", type_), ("B", "")]


def test_columns_end_at_a_path_that_cannot_be_parsed() -> None:
    broken = {"name": "B", "type": "string", "jsonPath": ".a..[0]"}
    columns, cells = columns_of([{"name": "A", "type": "string"}, broken, {"name": "C"}])
    assert [each.name for each in columns] == ["Name", "A"]
    assert len(cells) == 2


def test_replicas_below_null_are_absent() -> None:
    paths = ScalePaths(".spec.replicas", ".status.replicas", ".status.selector")
    assert paths.replicas_path == ("spec", "replicas")
    documents: list[Document] = [{"spec": None, "status": None}, {"spec": {}, "status": {}}, {}]
    for document in documents:
        assert integer_at(document, paths.replicas) is None
        assert text_at(document, paths.selector) == ""
    with pytest.raises(AccessError, match=r"\.spec\.replicas accessor error: <nil> is of the type"):
        integer_at({"spec": {"replicas": None}}, paths.replicas)
