"""JSON merge patches: the table of RFC 7386, and what is shared."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.patching import PatchError, merge_difference, merge_patched


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        # Appendix A of RFC 7386, its rows with objects; `x` wraps values that are none.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"x": ["a", "b"]}, {"x": ["c", "d"]}, {"x": ["c", "d"]}),
        ({"x": {"a": "b"}}, {"x": ["c"]}, {"x": ["c"]}),
        ({"x": {"a": "foo"}}, {"x": None}, {}),
        ({"x": {"a": "foo"}}, {"x": "bar"}, {"x": "bar"}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"x": [1, 2]}, {"x": {"a": "b", "c": None}}, {"x": {"a": "b"}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch_gives_what_the_rfc_gives(original: Any, patch: Any, result: Any) -> None:
    assert merge_patched(original, patch) == result


_values = st.recursive(
    st.integers(0, 2) | st.lists(st.integers(0, 2), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_documents = st.dictionaries(st.sampled_from("abc"), _values, max_size=3)


@given(_documents, _documents)
def test_the_difference_leads_from_one_document_to_the_other(before: Any, after: Any) -> None:
    assert merge_patched(before, merge_difference(before, after)) == after


def test_the_difference_names_what_changes_only() -> None:
    before = {"a": {"b": 1, "c": [1, 2]}, "d": 1, "e": {"f": 1}}
    after = {"a": {"b": 2, "c": [1, 2]}, "e": {"f": 1}}
    assert merge_difference(before, after) == {"d": None, "a": {"b": 2}}


def test_what_does_not_change_is_shared() -> None:
    original = {"spec": {"a": 1}, "metadata": {"labels": {"x": "y"}}}
    patched = merge_patched(original, {"metadata": {"labels": {"x": "z"}}})
    assert patched["spec"] is original["spec"]
    assert original["metadata"] == {"labels": {"x": "y"}}


@pytest.mark.parametrize("patch", [{}, {"metadata": {}}, {"other": None}])
def test_a_patch_that_changes_nothing_gives_the_document_itself(patch: Any) -> None:
    original = {"metadata": {"name": "a"}}
    assert merge_patched(original, patch) is original


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        pytest.param(
            [1],
            "error decoding patch: json: cannot unmarshal array into Go value of type "
            "map[string]interface {}",
            id="a list",
        ),
        pytest.param(
            "x",
            "error decoding patch: json: cannot unmarshal string into Go value of type "
            "map[string]interface {}",
            id="a string",
        ),
        pytest.param(None, "Invalid JSON Patch", id="null"),
    ],
)
def test_a_patch_must_be_an_object(patch: Any, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        merge_patched({}, patch)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    assert caught.value.message == message


def test_objects_in_a_list_have_no_nulls() -> None:
    patch = {"list": [{"a": None, "b": 1}, None, [{"c": None}]]}
    assert merge_patched({"list": []}, patch) == {"list": [{"b": 1}, None, [{}]]}
    # Upstream's library does not look into a list in the place of an object.
    assert merge_patched({"list": {"x": 1}}, patch) == patch
