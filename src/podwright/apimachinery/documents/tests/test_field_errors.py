"""The texts of field errors are those of apimachinery."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.documents import (
    did_you_mean,
    duplicate,
    first_names,
    forbidden,
    invalid,
    join,
    not_supported,
    problem,
    raise_errors,
    required,
)
from podwright.apimachinery.documents.field import EmptyList, is_required
from podwright.apimachinery.documents.tests.test_declared import Inner
from podwright.apimachinery.objects import FieldError, InputError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (required("a.b"), "a.b: Required value"),
        (required("a.b", "it names x"), "a.b: Required value: it names x"),
        (invalid("a", "é", "must be x"), 'a: Invalid value: "é": must be x'),
        (invalid("a", {"b": [1, None]}, "no"), 'a: Invalid value: {"b":[1,null]}: no'),
        (invalid("a", ({"b": (1,)},), "no"), 'a: Invalid value: [{"b":[1]}]: no'),
        (invalid("a", Inner(at="2s"), "no"), 'a: Invalid value: {"at":"2s"}: no'),
        (invalid("a", 1, ValueError("no")), "a: Invalid value: 1: no"),
        (invalid("a", (), "no"), "a: Invalid value: null: no"),
        (invalid("a", EmptyList(), "no"), "a: Invalid value: []: no"),
        (duplicate("a", "b"), 'a: Duplicate value: "b"'),
        (forbidden("a", "not here"), "a: Forbidden: not here"),
        (
            not_supported("a", "Alphas", ["Alpha", "Beta"]),
            'a: Unsupported value: "Alphas": supported values: "Alpha", "Beta"; did you mean '
            '"Alpha"?',
        ),
        (
            not_supported("a", "z", ["Alpha"]),
            'a: Unsupported value: "z": supported values: "Alpha"',
        ),
    ],
)
def test_an_error_reads_as_upstream(error: FieldError, text: str) -> None:
    assert f"{error.path}: {error.message}" == text


def test_only_the_error_of_a_missing_value_is_one() -> None:
    assert is_required(required("a"))
    assert is_required(required("a", "why"))
    assert not is_required(invalid("a", 1, "Required value"))


@pytest.mark.parametrize(
    ("names", "most", "text"),
    [
        (["a"], {}, "a"),
        (["a", "b", "c"], {}, "a, b, c"),
        (["a", "b", "c", "d"], {}, "a, b, c and 1 more"),
        (["a", "b", "c"], {"most": 1}, "a and 2 more"),
    ],
)
def test_some_names_and_how_many_more(names: list[str], most: dict[str, Any], text: str) -> None:
    assert first_names(names, **most) == text


def test_paths_and_hints() -> None:
    assert (join("", "a"), join("a", "b")) == ("a", "a.b")
    assert did_you_mean("nodeNam", ["nodeName", "x"]) == '; did you mean "nodeName"?'
    assert did_you_mean("quite", ["nodeName"]) == ""


def test_errors_are_raised_once_each_in_order_with_their_source() -> None:
    errors = [required("b"), required("a"), required("b"), problem("a", "other")]
    with pytest.raises(InputError) as raised:
        raise_errors(errors, source="f.yaml")
    assert [str(each) for each in raised.value.errors] == [
        "f.yaml: b: Required value",
        "f.yaml: a: Required value",
        "f.yaml: a: other",
    ]
    raise_errors([], source="f.yaml")
