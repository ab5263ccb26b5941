"""What structs declare about their values is checked when a document is decoded to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from podwright.apimachinery.documents import (
    Amount,
    Count,
    DurationText,
    Name,
    OptionalDurationText,
    PositiveCount,
    SelectorText,
    TimeoutText,
    as_document,
    decode,
    given_fields,
    needed,
    required,
    struct_errors,
)
from podwright.apimachinery.objects import FieldError

DurationNs = Annotated[int, Meta(ge=0, extra={"format": "duration"})]


class Inner(msgspec.Struct, frozen=True):
    at: DurationText = "1s"


class Form(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: Annotated[str, needed("a word")] = ""
    count: Count = 0
    burst: PositiveCount = 1
    share: Annotated[float, Meta(gt=0)] = 0.5
    wait_ns: DurationNs = msgspec.field(name="wait", default=0)
    every: OptionalDurationText = ""
    timeout: TimeoutText = ""
    pods: SelectorText = ""
    size: Amount = "1"
    sizes: dict[str, Amount] = {}
    other: Name | None = None
    inner: tuple[Inner, ...] = ()

    def problems(self, path: str) -> Iterator[FieldError]:
        if not self.count and not self.every:
            yield required(path, "count or every")


SHORT = 'Invalid value: "-1ns": must be a duration such as 1h30m'


def errors_of(**fields: Any) -> list[str]:
    errors: list[FieldError] = []
    decode({"name": "a", "every": "1s"} | fields, Form, "form", errors)
    return [f"{each.path}: {each.message}" for each in errors]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, [], id="nothing wrong"),
        pytest.param({"name": None}, ["form.name: Required value: a word"], id="absent"),
        pytest.param(
            {"count": -1}, ["form.count: Invalid value: -1: must not be negative"], id="ge"
        ),
        pytest.param({"burst": 0}, ["form.burst: Invalid value: 0: must be at least 1"], id="one"),
        pytest.param(
            {"share": 0}, ["form.share: Invalid value: 0: must be greater than 0"], id="above"
        ),
        pytest.param(
            {"wait": "-1s"}, ['form.wait: Invalid value: "-1s": must not be negative'], id="less"
        ),
        pytest.param(
            {"wait": "0s", "timeout": "1ns", "every": "0s", "inner": [{"at": "0s"}]},
            [],
            id="the least durations",
        ),
        pytest.param(
            {"timeout": "-1ns", "every": "-1ns", "inner": [{"at": "-1ns"}]},
            [
                f"form.every: {SHORT}, 0 or more",
                f"form.timeout: {SHORT}, greater than 0",
                f"form.inner[0].at: {SHORT}, 0 or more",
            ],
            id="durations below the least",
        ),
        pytest.param(
            {"pods": "=", "size": "-1"},
            [
                'form.pods: Invalid value: "=": ',
                'form.size: Invalid value: "-1": must not be negative',
            ],
            id="several",
        ),
        pytest.param({"size": 0, "sizes": {"cpu": "0"}}, [], id="the least amounts"),
        pytest.param(
            {"sizes": {"cpu": "many"}},
            ['form.sizes[cpu]: Invalid value: "many": '],
            id="a map",
        ),
        pytest.param(
            {"other": ""}, ['form.other: Invalid value: "": must be a name'], id="no name"
        ),
        pytest.param({"inner": [{}, {"at": ""}]}, ["form.inner[1].at: "], id="a list"),
        pytest.param({"timeout": "0s"}, ["form.timeout: "], id="a timeout of nothing"),
        pytest.param({"every": ""}, ["form: Required value: count or every"], id="together"),
        pytest.param(
            {"every": "often"},
            ["form.every: Invalid value"],
            id="what follows is not a second mistake",
        ),
        pytest.param(
            {"every": None, "evry": "1s"},
            ['form.evry: unknown field "evry"; did you mean "every"?'],
            id="nor what was misspelled",
        ),
    ],
)
def test_each_mistake_is_one_error(fields: dict[str, Any], expected: list[str]) -> None:
    found = errors_of(**fields)
    assert len(found) == len(expected), found
    for error, start in zip(found, expected, strict=True):
        assert error.startswith(start)


def test_a_struct_is_checked_and_written_as_its_document() -> None:
    form = Form(name="a", count=2, wait_ns=1_500_000_000, inner=(Inner(at="2s"),))
    assert as_document(form) == {
        "name": "a", "count": 2, "wait": "1.5s", "inner": [{"at": "2s"}],
    }  # fmt: skip
    assert given_fields(form)["inner"] == (Inner(at="2s"),)
    null: Any = None
    assert as_document(Form(wait_ns=null)) == {"name": "", "wait": None}
    assert not struct_errors(form, "form")
    (error,) = struct_errors(Form(count=1), "form")
    assert str(error) == "form.name: Required value: a word"


class Forms(msgspec.Struct, frozen=True, kw_only=True):
    forms: tuple[Form, ...] = ()


def test_a_null_in_a_list_is_checked_as_an_object_without_fields() -> None:
    errors: list[FieldError] = []
    decode({"forms": [None]}, Forms, "", errors)
    empty: list[FieldError] = []
    decode({"forms": [{}]}, Forms, "", empty)
    assert [str(each) for each in errors] == [str(each) for each in empty]
    assert [each.path for each in errors] == ["forms[0].name", "forms[0]"]
