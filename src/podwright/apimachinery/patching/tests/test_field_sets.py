"""Sets of fields: members, operations, path elements, and their order in messages."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching.field_sets import (
    ElementError,
    canonical,
    contains,
    difference,
    intersection,
    key_element,
    paths,
    union,
    value_element,
    without,
)

LEAF: dict[str, Any] = {}
NESTED: dict[str, Any] = {"f:a": {".": {}, "f:b": {}}}


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({}, {"f:a": LEAF}, {"f:a": LEAF}),
        ({"f:b": LEAF}, {"f:a": LEAF}, {"f:a": LEAF, "f:b": LEAF}),
        ({"f:a": LEAF}, {"f:a": {"f:b": LEAF}}, NESTED),
        ({"f:a": {"f:b": LEAF}}, {"f:a": LEAF}, NESTED),
        (NESTED, {"f:a": {"f:c": LEAF}}, {"f:a": {".": {}, "f:b": {}, "f:c": {}}}),
        ({"f:a": LEAF}, NESTED, NESTED),
    ],
)
def test_union(one: Any, other: Any, both: Any) -> None:
    assert union(one, other) == both
    assert list(union(one, other)) == sorted(both)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ({"f:a": LEAF}, {"f:b": LEAF}, {}),
        ({"f:a": LEAF, "f:b": LEAF}, {"f:b": LEAF}, {"f:b": LEAF}),
        (NESTED, {"f:a": LEAF}, {"f:a": LEAF}),
        (NESTED, {"f:a": {"f:b": LEAF}}, {"f:a": {"f:b": LEAF}}),
        (NESTED, {"f:a": {"f:c": LEAF}}, {}),
        (NESTED, NESTED, NESTED),
    ],
)
def test_intersection(one: Any, other: Any, shared: Any) -> None:
    assert intersection(one, other) == shared
    assert intersection(other, one) == shared


@pytest.mark.parametrize(
    ("one", "other", "rest"),
    [
        (NESTED, {}, NESTED),
        (NESTED, NESTED, {}),
        pytest.param(NESTED, {"f:a": LEAF}, {"f:a": {"f:b": LEAF}}, id="what is below stays"),
        pytest.param(NESTED, {"f:a": {"f:b": LEAF}}, {"f:a": LEAF}, id="what is above stays"),
        ({"f:a": LEAF, "f:b": LEAF}, {"f:a": LEAF}, {"f:b": LEAF}),
        ({"f:a": {"f:b": LEAF}}, {"f:a": LEAF}, {"f:a": {"f:b": LEAF}}),
    ],
)
def test_difference(one: Any, other: Any, rest: Any) -> None:
    assert difference(one, other) == rest


@pytest.mark.parametrize(
    ("one", "other", "rest"),
    [
        (NESTED, {}, NESTED),
        pytest.param(NESTED, {"f:a": LEAF}, {}, id="what is below goes"),
        pytest.param(NESTED, {"f:a": {"f:b": LEAF}}, {"f:a": LEAF}, id="what is above stays"),
        (NESTED, {"f:a": {"f:c": LEAF}}, NESTED),
        ({"f:a": {"f:b": LEAF}}, {"f:a": {"f:b": LEAF}}, {}),
    ],
)
def test_difference_with_all_below(one: Any, other: Any, rest: Any) -> None:
    assert without(one, other) == rest


@pytest.mark.parametrize(
    ("one", "other", "is_contained"),
    [
        (NESTED, {"f:a": LEAF}, True),
        (NESTED, {"f:a": {"f:b": LEAF}}, True),
        (NESTED, NESTED, True),
        (NESTED, {}, True),
        ({"f:a": LEAF}, NESTED, False),
        ({"f:a": {"f:b": LEAF}}, {"f:a": LEAF}, False),
        ({}, {"f:a": LEAF}, False),
    ],
)
def test_contains(one: Any, other: Any, is_contained: bool) -> None:
    assert contains(one, other) is is_contained


def test_what_does_not_change_is_shared() -> None:
    one = {"f:a": {"f:b": LEAF}, "f:c": LEAF}
    assert union(one, {"f:c": LEAF}) is one
    assert difference(one, {"f:d": LEAF}) is one
    assert without(one, {"f:a": {"f:x": LEAF}}) is one
    assert difference(one, {"f:c": LEAF})["f:a"] is one["f:a"]


def test_path_elements_are_written_as_by_go() -> None:
    assert key_element({"name": "a"}) == 'k:{"name":"a"}'
    assert key_element({"containerPort": 80, "protocol": "TCP"}) == (
        'k:{"containerPort":80,"protocol":"TCP"}'
    )
    assert value_element("a<b>&\u2028") == 'v:"a\\u003cb\\u003e\\u0026\\u2028"'
    assert value_element(True) == "v:true"


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {".": {}, "f:b": {}}}, NESTED),
        ({'k:{"z":1, "a":"x"}': {".": {}}}, {'k:{"a":"x","z":1}': {}}),
        ({'v: "x"': {}}, {'v:"x"': {}}),
        ({"i:007": {}}, {"i:7": {}}),
        pytest.param({"q:new": {}, "f:a": {}}, {"f:a": {}}, id="an unknown type is left out"),
    ],
)
def test_a_set_is_brought_into_the_form_of_the_server(given: Any, written: Any) -> None:
    assert canonical(given) == written


@pytest.mark.parametrize(
    "given", [[], {"a": {}}, {"fa": {}}, {"f:a": 1}, {"i:x": {}}, {"v:{": {}}, {"k:[]": {}}]
)
def test_a_malformed_set_is_rejected(given: Any) -> None:
    with pytest.raises(ElementError):
        canonical(given)


def test_members_are_named_before_what_is_below_them() -> None:
    found = {
        "f:z": LEAF,
        "f:list": {
            'k:{"port":443}': {".": {}, "f:name": {}},
            'k:{"port":80}': LEAF,
            'v:"b"': LEAF,
            "v:true": LEAF,
            "i:1": LEAF,
        },
    }
    assert list(paths(found)) == [
        ".z",
        ".list[port=80]",
        ".list[port=443]",
        '.list[="b"]',
        ".list[=true]",
        ".list[1]",
        ".list[port=443].name",
    ]
