"""Plain values become structs, and each mistake is an error with the path of its field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
import pytest

from podwright.apimachinery.documents import (
    Amount,
    Count,
    DurationText,
    Name,
    NotNegative,
    NotNegativeNs,
    OptionalDurationText,
    PositiveCount,
    SelectorText,
    TimeoutText,
    as_document,
    checked,
    decode,
    given_fields,
    invalid,
    needed,
    parse_document,
    problem,
    struct_errors,
)
from podwright.apimachinery.documents.field import EmptyList
from podwright.apimachinery.objects import FieldError, TopologySpreadConstraint


def even(value: Any, path: str) -> Iterator[FieldError]:
    if value % 2:
        yield invalid(path, value, "must be even")


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    part_name: Annotated[str, needed("a part has a name")] = ""
    size: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1


class Whole(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    parts: tuple[Part, ...] = ()
    first: Part | None = None
    either: Part | str = ""
    mode: Literal["Fast", "Safe"] = "Fast"
    counts: dict[str, int] = {}
    ratio: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    at_least: Annotated[int, msgspec.Meta(ge=3)] = 3
    count: Count = 0
    wait: NotNegativeNs = 0
    text: DurationText = "1s"
    is_on: bool = False
    data: bytes = b""
    anything: Any = None
    pairs: Annotated[int, checked(even)] = 0

    def problems(self, path: str) -> Iterator[FieldError]:
        if self.is_on and not self.parts:
            yield problem(f"{path}.parts" if path else "parts", "Required value: it is on")


def decoded(value: Any) -> tuple[Whole, list[str]]:
    errors: list[FieldError] = []
    return decode(value, Whole, "w", errors), [f"{each.path}: {each.message}" for each in errors]


@pytest.mark.parametrize(
    ("field", "given", "made"),
    [
        ("parts", [{"partName": "a", "size": 9}], (Part(part_name="a", size=9),)),
        ("first", {"partName": "a"}, Part(part_name="a")),
        ("first", None, None),
        ("either", "text", "text"),
        ("either", {"partName": "a"}, Part(part_name="a")),
        ("mode", "Safe", "Safe"),
        ("counts", {"a": 1}, {"a": 1}),
        ("ratio", 2, 2.0),
        ("atLeast", 3, 3),
        ("count", 0, 0),
        ("wait", "1m30s", 90_000_000_000),
        ("isOn", False, False),
        ("data", "aGk=\n", b"hi"),
        ("anything", {"a": [1]}, {"a": [1]}),
        ("pairs", 4, 4),
        ("mode", None, "Fast"),
    ],
)
def test_a_value_of_the_type_is_decoded(field: str, given: Any, made: Any) -> None:
    whole, errors = decoded({field: given})
    assert errors == []
    (name,) = (each.name for each in msgspec.structs.fields(Whole) if each.encode_name == field)
    assert getattr(whole, name) == made
    assert type(getattr(whole, name)) is type(made)


@pytest.mark.parametrize(
    ("document", "errors"),
    [
        ({"parts": {}}, ["w.parts: Invalid value: {}: must be a list"]),
        ({"parts": [7]}, ["w.parts[0]: Invalid value: 7: must be an object"]),
        ({"parts": [{"size": 1}]}, ["w.parts[0].partName: Required value: a part has a name"]),
        (
            {"parts": [{"partName": "a"}, {"partName": "b", "size": 10}]},
            ["w.parts[1].size: Invalid value: 10: must be between 1 and 9"],
        ),
        (
            {"parts": [{"partName": "a", "size": 0}]},
            ["w.parts[0].size: Invalid value: 0: must be between 1 and 9"],
        ),
        ({"mode": "fast"}, [
            'w.mode: Unsupported value: "fast": supported values: "Fast", "Safe"; did you mean '
            '"Fast"?'
        ]),
        ({"mode": 1}, ["w.mode: Invalid value: 1: must be a string"]),
        ({"counts": []}, ["w.counts: Invalid value: []: must be an object"]),
        ({"counts": {"a": "b", "c": 1}}, [
            'w.counts[a]: Invalid value: "b": must be an integer'
        ]),
        ({"ratio": 0}, ["w.ratio: Invalid value: 0: must be greater than 0"]),
        ({"ratio": True}, ["w.ratio: Invalid value: true: must be a number"]),
        ({"ratio": 1e39}, ['w.ratio: Invalid value: "1e+39": must be a 32-bit number']),
        ({"atLeast": 2}, ["w.atLeast: Invalid value: 2: must be at least 3"]),
        ({"atLeast": True}, ["w.atLeast: Invalid value: true: must be an integer"]),
        ({"count": -1}, ["w.count: Invalid value: -1: must not be negative"]),
        ({"wait": 5}, ['w.wait: Invalid value: 5: must be a duration such as "15s"']),
        ({"isOn": "yes"}, ['w.isOn: Invalid value: "yes": must be true or false']),
        ({"data": 5}, ["w.data: Invalid value: 5: must be a string in base64"]),
        ({"data": "!"}, ["w.data: Invalid value: must be base64"]),
        ({"data": "é"}, ["w.data: Invalid value: must be base64"]),
        ({"data": "YWJj===="}, ["w.data: Invalid value: must be base64"]),
        ({"pairs": 3}, ["w.pairs: Invalid value: 3: must be even"]),
        ({"part": []}, ['w.part: unknown field "part"; did you mean "parts"?']),
        ({"quite": []},
         ['w.quite: unknown field "quite"; known here: parts, first, either, mode, counts, ratio,'
          " atLeast, count, wait, text, isOn, data and 2 more"]),
        ({"either": 7}, ["w.either: Invalid value: 7: must be a string or an object"]),
        ({"either": {"size": 1}}, ["w.either.partName: Required value: a part has a name"]),
        ([], ["w: Invalid value: []: must be an object"]),
        ({"isOn": True}, ["w.parts: Required value: it is on"]),
        # A misspelled field, or a wrong one, is one mistake.
        ({"isOn": True, "part": []}, ['w.part: unknown field "part"; did you mean "parts"?']),
        ({"isOn": True, "parts": 1}, ["w.parts: Invalid value: 1: must be a list"]),
    ],
)  # fmt: skip
def test_each_mistake_is_an_error_with_its_path(document: Any, errors: list[str]) -> None:
    assert decoded(document)[1] == errors


class Declared(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    duration: DurationText = "1s"
    optional: OptionalDurationText = ""
    timeout: TimeoutText = ""
    selector: SelectorText = ""
    amount: Amount = "0"
    name: Name = "a"
    count: PositiveCount = 1
    ratio: NotNegative = 0


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ("duration", ["0s", "1h"], ["", "soon", "-1s"]),
        ("optional", ["", "0s"], ["soon"]),
        ("timeout", ["", "1ns"], ["0s", "soon"]),
        ("selector", ["", "a=b,c in (d)"], ["a=b=c"]),
        ("amount", ["1500m", 2, 0], ["-1", -1, "many"]),
        ("name", ["a"], [""]),
        ("count", [1], [0]),
        ("ratio", [0, 0.5], [-0.1]),
    ],
)
def test_what_a_field_declares_is_checked(field: str, right: list[Any], wrong: list[Any]) -> None:
    def paths(value: Any) -> list[str]:
        errors: list[FieldError] = []
        decode({field: value}, Declared, "", errors)
        return [each.path for each in errors]

    assert [paths(value) for value in right] == [[]] * len(right)
    assert [paths(value) for value in wrong] == [[field]] * len(wrong)


def test_a_wrong_value_has_the_default_and_the_rest_is_decoded() -> None:
    whole, errors = decoded({"atLeast": 1, "count": 7, "parts": [{"partName": "a"}, 5, None]})
    places = [error.partition(":")[0] for error in errors]
    assert places == ["w.atLeast", "w.parts[1]", "w.parts[2].partName"]
    assert (whole.at_least, whole.count) == (3, 7)
    assert [part.part_name for part in whole.parts] == ["a", "", ""]


class Required(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    count: int
    parts: tuple[Part, ...]
    part: Part
    is_on: bool
    mode: Literal["Fast", "Safe"]


def test_a_required_field_that_is_absent_has_the_zero_value_of_go() -> None:
    zero = Required(name="", count=0, parts=(), part=Part(), is_on=False, mode="")  # type: ignore[arg-type]
    for document in ({}, {"name": 7, "count": "x", "parts": 1, "is_on": 0, "mode": "z"}):
        errors: list[FieldError] = []
        assert decode(document, Required, "", errors) == zero
        assert len(errors) == len(document)


class Lists(msgspec.Struct, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()
    counts: tuple[Annotated[int, msgspec.Meta(ge=0)], ...] = ()
    shares: tuple[Annotated[float, msgspec.Meta(ge=0)], ...] = ()
    parts: tuple[Part, ...] = ()


@pytest.mark.parametrize(
    ("field", "zero", "wrong"),
    [
        ("names", "", []), ("counts", 0, []), ("shares", 0.0, []),
        ("parts", Part(), ["parts[0].partName"]),
    ],
)  # fmt: skip
def test_a_null_in_a_list_is_the_zero_value_of_go(
    field: str, zero: object, wrong: list[str]
) -> None:
    errors: list[FieldError] = []
    made = decode({field: [None]}, Lists, "", errors)
    assert getattr(made, field) == (zero,)
    assert [error.path for error in errors] == wrong


class Maps(msgspec.Struct):
    texts: dict[str, str] = {}
    counts: dict[str, int] = {}
    parts: dict[str, Part] = {}


@pytest.mark.parametrize(
    ("field", "zero", "wrong"),
    [
        ("texts", {"k": ""}, []), ("counts", {}, ["counts[k]"]),
        ("parts", {"k": Part()}, ["parts[k].partName"]),
    ],
)  # fmt: skip
def test_a_null_in_a_map_is_no_text_or_an_object_without_fields_as_in_go(
    field: str, zero: object, wrong: list[str]
) -> None:
    errors: list[FieldError] = []
    made = decode({field: {"k": None}}, Maps, "", errors)
    assert (getattr(made, field), [error.path for error in errors]) == (zero, wrong)


@pytest.mark.parametrize(
    ("skew", "is_valid"),
    [(-(2**31), True), (2**31 - 1, True), (-(2**31) - 1, False), (2**31, False), (-63, True)],
)
def test_a_number_of_a_core_type_has_32_bits_and_an_enumeration_is_any_text(
    skew: int, is_valid: bool
) -> None:
    errors: list[FieldError] = []
    document = {"maxSkew": skew, "topologyKey": "zone", "whenUnsatisfiable": "Perhaps"}
    decode(document, TopologySpreadConstraint, "", errors)
    assert [each.path for each in errors] == ([] if is_valid else ["maxSkew"])


def test_duplicate_keys_are_errors_at_any_depth() -> None:
    text = "count: 1\ncount: 2\nfirst: {partName: a, partName: b}\n"
    assert decoded(parse_document(text))[1] == [
        'w.count: duplicate field "count"',
        'w.first.partName: duplicate field "partName"',
    ]


def test_a_null_of_a_duration_is_an_empty_text_as_in_go() -> None:
    message = 'w.wait: Invalid value: null: time: invalid duration ""'
    assert decoded({"wait": None}) == (Whole(wait=0), [message])


def test_an_empty_list_is_not_an_absent_one() -> None:
    assert isinstance(decoded({"parts": []})[0].parts, EmptyList)
    assert not isinstance(decoded({})[0].parts, EmptyList)


def test_a_struct_is_written_without_its_defaults() -> None:
    whole = Whole(parts=(Part(part_name="a"), Part(part_name="", size=2)), wait=90_000_000_000)
    assert given_fields(whole)["wait"] == "1m30s"
    assert as_document(whole) == {
        "parts": [{"partName": "a"}, {"partName": "", "size": 2}],
        "wait": "1m30s",
    }
    assert as_document(Whole(counts={"a": 1})) == {"counts": {"a": 1}}


def test_a_struct_that_was_made_in_python_is_checked_as_a_document() -> None:
    wrong = Whole(parts=(Part(part_name="", size=10),), at_least=1)
    assert [each.path for each in struct_errors(wrong, "w")] == [
        "w.parts[0].size",
        "w.parts[0].partName",
        "w.atLeast",
    ]
    assert struct_errors(Whole(), "w") == []
