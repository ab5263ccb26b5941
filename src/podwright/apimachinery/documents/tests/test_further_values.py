"""Further texts and values: signs and bases, free maps, errors of the whole, references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest

from podwright.apimachinery.documents import (
    Count,
    NamespacedNameText,
    checked,
    decode,
    has_more_documents,
    join,
    parse_document,
    problem,
    required,
    struct_errors,
)
from podwright.apimachinery.objects import (
    FieldError,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-0x1F", -31),
        ("+0b11", 3),
        ("-0o17", -15),
        ("-08", -8),
        ("09.5", 9.5),
        ("0_7", 7),
        ("-1_000", -1000),
        ("-2.50", -2.5),
        ("+.5e1", 5),
        ("-1e2", -100),
        ("1.5e300", 1.5e300),
        ("-9e20", -900_000_000_000_000_000_000),
        ("-1e21", -1e21),
        ("1e-2", 0.01),
        ("0x", "0x"),
        ("1.2.3", "1.2.3"),
        ("NO", False),
        ("Off", False),
        ("nO", "nO"),
        ("nULL", "nULL"),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!int '010'", 8),
        ("!!float 1", 1),
        ("!!bool 'ON'", True),
    ],
)
def test_signs_and_bases_of_yaml(text: str, value: object) -> None:
    document: Any = parse_document(f"a: {text}\n")
    assert (document["a"], type(document["a"])) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "has_more"),
    [
        ("  # indented\n---\na: 1\n", False),
        ("a: 1 # b\n---\nc: 1\n", True),
        ("a: 1\n---\tb\n", True),
        ("\n\n---\n\n---\na: 1\n", False),
        ("%YAML 1.1\n---\na: 1\n", True),
    ],
)
def test_comments_are_not_documents(text: str, has_more: bool) -> None:
    assert has_more_documents(text) is has_more


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    size: Count = 0


def two_problems(value: int, path: str) -> Iterator[FieldError]:
    if value % 2:
        yield problem(path, "it is odd")
    if value > 2:
        yield problem(path, "it is above 2")


class Free(msgspec.Struct, frozen=True, kw_only=True):
    several: Choice | str | int | None = None
    anything: dict[str, Any] = {}
    numbers: dict[str, float] = {}
    ratio: float = 0.0
    data: bytes = b""
    reference: NamespacedNameText = "a/b"
    odd: Annotated[int, checked(two_problems)] | None = None
    name: str = ""

    def problems(self, path: str) -> Iterator[FieldError]:
        if self.name == "wrong":
            yield problem(path, "wrong as a whole")
        if self.name == "part":
            yield problem(f"{path}.numbers" if path else "numbers", "wrong in part")
        if self.name == "absent":
            yield from (required(join(path, each)) for each in ("numbers", "several.size", "ratio"))


def errors_of(document: Any, path: str = "") -> tuple[Free, list[str]]:
    errors: list[FieldError] = []
    made = decode(document, Free, path, errors)
    return made, [f"{each.path}: {each.message}" for each in errors]


@pytest.mark.parametrize(
    ("document", "made"),
    [
        ({"anything": {"a": [None, {"b": 1}]}}, Free(anything={"a": [None, {"b": 1}]})),
        ({"numbers": {"a": 1, "b": 0.5}}, Free(numbers={"a": 1.0, "b": 0.5})),
        ({"ratio": -3}, Free(ratio=-3.0)),
        ({"ratio": 3.4028235677973366e38}, Free(ratio=3.4028235677973366e38)),
        ({"ratio": -3.4028235677973366e38}, Free(ratio=-3.4028235677973366e38)),
        ({"odd": None}, Free()),
        ({"odd": 2}, Free(odd=2)),
        ({"data": "aG\r\nk="}, Free(data=b"hi")),
        ({"data": ""}, Free(data=b"")),
        ({"reference": "d/n"}, Free(reference="d/n")),
        ({"several": {"size": 2}}, Free(several=Choice(size=2))),
        ({"several": "a"}, Free(several="a")),
        ({"several": 3}, Free(several=3)),
        ({"several": None}, Free()),
        (None, Free()),
    ],
)
def test_free_values_are_decoded(document: Any, made: Free) -> None:
    if document is None:
        assert errors_of(document) == (made, [": Invalid value: null: must be an object"])
    else:
        assert errors_of(document) == (made, [])


@pytest.mark.parametrize(
    ("document", "path", "errors"),
    [
        ({"anything": []}, "", ["anything: Invalid value: []: must be an object"]),
        ({"numbers": {"a": True, "b": "1"}}, "f", [
            "f.numbers[a]: Invalid value: true: must be a number",
            'f.numbers[b]: Invalid value: "1": must be a number']),
        ({"ratio": float("nan")}, "", ['ratio: Invalid value: "nan": must be a 32-bit number']),
        ({"ratio": 3.402823567797337e38}, "", [
            'ratio: Invalid value: "3.402823567797337e+38": must be a 32-bit number']),
        ({"ratio": -1e39}, "", ['ratio: Invalid value: "-1e+39": must be a 32-bit number']),
        ({"reference": "d"}, "", ['reference: Invalid value: "d": must be namespace/name']),
        # What is wrong inside of an object says more than that it is neither a text nor a number.
        ({"several": {"size": -1}}, "f", [
            "f.several.size: Invalid value: -1: must not be negative"]),
        ({"several": True}, "f", [
            "f.several: Invalid value: true: must be a string or an integer or an object"]),
        ({"name": "wrong"}, "", [": wrong as a whole"]),
        ({"name": "wrong"}, "f", ["f: wrong as a whole"]),
        # What is said of the whole may follow from a part that is wrong.
        ({"name": "wrong", "ratio": "x"}, "", ['ratio: Invalid value: "x": must be a number']),
        ({"name": "wrong", "ratio": "x"}, "f", ['f.ratio: Invalid value: "x": must be a number']),
        ({"name": "part", "ratio": "x"}, "f", [
            'f.ratio: Invalid value: "x": must be a number', "f.numbers: wrong in part"]),
        ({"name": "part", "numbers": 1}, "f", ["f.numbers: Invalid value: 1: must be an object"]),
        ({"name": "part", "nam": 1}, "f", [
            'f.nam: unknown field "nam"; did you mean "name"?', "f.numbers: wrong in part"]),
        # A field that is misspelled may be an absent one, and none that is inside of a field.
        ({"name": "absent", "nam": 1}, "", [
            'nam: unknown field "nam"; did you mean "name"?', "several.size: Required value"]),
        ({"name": "absent", "nam": 1}, "f", [
            'f.nam: unknown field "nam"; did you mean "name"?', "f.several.size: Required value"]),
        ({"name": "absent"}, "f", ["f.numbers: Required value", "f.several.size: Required value",
                                   "f.ratio: Required value"]),
        ({"odd": 3}, "f", ["f.odd: it is odd", "f.odd: it is above 2"]),
        ({"odd": 1}, "f", ["f.odd: it is odd"]),
    ],
)  # fmt: skip
def test_an_error_of_the_whole_follows_no_error_of_a_part(
    document: Any, path: str, errors: list[str]
) -> None:
    assert errors_of(document, path)[1] == errors


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({"minDomains": 2**31 - 1}, []),
        ({"minDomains": 2**31}, ["minDomains"]),
        ({"minDomains": None}, []),
        ({"minDomains": "1"}, ["minDomains"]),
        ({"nodeAffinityPolicy": "Perhaps"}, []),
        ({"nodeAffinityPolicy": 5}, ["nodeAffinityPolicy"]),
    ],
)
def test_an_optional_number_of_a_core_type_has_32_bits(document: Any, paths: list[str]) -> None:
    errors: list[FieldError] = []
    usual = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    decode(usual | document, TopologySpreadConstraint, "", errors)
    assert [each.path for each in errors] == paths


def test_structs_of_python_are_checked_with_what_is_inside_of_them() -> None:
    assert struct_errors(Free(numbers={"a": 1.0}), "f") == []
    wrong = struct_errors(Free(reference="d", ratio=1e39), "f")
    assert [each.path for each in wrong] == ["f.ratio", "f.reference"]
    assert struct_errors(Toleration(key="a", operator="Exists"), "") == []
    assert struct_errors(Taint(key="a", effect="NoSchedule"), "") == []
