"""JSON patches: every operation, its paths, and what the API server does differently."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching import (
    MOST_OPERATIONS,
    PatchError,
    json_patch_warnings,
    json_patched,
)
from podwright.apimachinery.patching.errors import REJECTED

DOCUMENT = {"data": {"a": "1", "n": None}, "list": ["x", {"y": [1]}], "a/b": {"~": 2}}


def operation(op: str, path: str, **others: Any) -> dict[str, Any]:
    """Return one operation."""
    return {"op": op, "path": path, **others}


@pytest.mark.parametrize(
    ("patch", "changes"),
    [
        pytest.param([operation("add", "/data/b", value="2")],
                     {"data": {"a": "1", "n": None, "b": "2"}}, id="add a key"),
        pytest.param([operation("add", "/data/a", value="2")],
                     {"data": {"a": "2", "n": None}}, id="add replaces a key"),
        pytest.param([operation("add", "/new")], {"new": None}, id="a missing value is null"),
        pytest.param([operation("add", "/list/0", value=0)],
                     {"list": [0, "x", {"y": [1]}]}, id="add in front"),
        pytest.param([operation("add", "/list/-", value=0)],
                     {"list": ["x", {"y": [1]}, 0]}, id="add at the end"),
        pytest.param([operation("add", "/list/2", value=0)],
                     {"list": ["x", {"y": [1]}, 0]}, id="add after the last"),
        pytest.param([operation("add", "/list/-1", value=0)],
                     {"list": ["x", {"y": [1]}, 0]}, id="add counts from the end"),
        pytest.param([operation("add", "/list/1/y/0", value=0)],
                     {"list": ["x", {"y": [0, 1]}]}, id="add deep inside"),
        pytest.param([operation("remove", "/data/a")], {"data": {"n": None}}, id="remove a key"),
        pytest.param([operation("remove", "/list/-2")], {"list": [{"y": [1]}]},
                     id="remove counts from the end"),
        pytest.param([operation("replace", "/data/z", value=1)],
                     {"data": {"a": "1", "n": None, "z": 1}}, id="replace adds a missing key"),
        pytest.param([operation("replace", "/list/1", value=1)], {"list": ["x", 1]},
                     id="replace an item"),
        pytest.param([operation("move", "/data/b", **{"from": "/data/a"})],
                     {"data": {"b": "1", "n": None}}, id="move a key"),
        pytest.param([operation("move", "/list/1", **{"from": "/list/0"})],
                     {"list": [{"y": [1]}, "x"]}, id="move an item"),
        pytest.param([operation("copy", "/list/-", **{"from": "/list/0"})],
                     {"list": ["x", {"y": [1]}, "x"]}, id="copy"),
        pytest.param([operation("copy", "/c", **{"from": "/data/z"})], {"c": None},
                     id="copy a missing key"),
        pytest.param([operation("replace", "/a~1b/~0", value=3)], {"a/b": {"~": 3}},
                     id="escapes in a path"),
        pytest.param([operation("add", "ignored/c", value=1)], {"c": 1},
                     id="what is before the first slash does not count"),
        pytest.param([operation("test", "/data/a", value="1")], {}, id="test"),
        pytest.param([operation("test", "/data/n")], {}, id="test null"),
        pytest.param([operation("test", "/data/z", value=None)], {}, id="test of a missing key"),
        pytest.param([operation("test", "", value=DOCUMENT)], {}, id="test of the whole"),
        pytest.param([operation("test", "/list/1", value={"y": [1]})], {}, id="test an object"),
    ],
)  # fmt: skip
def test_operations(patch: list[dict[str, Any]], changes: dict[str, Any]) -> None:
    assert json_patched(DOCUMENT, patch) == DOCUMENT | changes


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param([operation("test", "/data/a", value="2")], id="another value"),
        pytest.param([operation("test", "/list/1/y", value=[True])], id="true is not 1"),
        pytest.param([operation("test", "/list/1/y", value=[1.0])], id="1.0 is not 1"),
        pytest.param([operation("test", "/list/1/y", value=[1, 1])], id="another length"),
        pytest.param([operation("test", "/list/1", value={"y": [1], "z": 1})], id="another key"),
        pytest.param([operation("remove", "/data/z")], id="remove a missing key"),
        pytest.param([operation("remove", "/list/2")], id="remove after the last"),
        pytest.param([operation("remove", "/list/-3")], id="remove before the first"),
        pytest.param([operation("add", "/list/3", value=1)], id="add past the end"),
        pytest.param([operation("add", "/list/x", value=1)], id="no index"),
        pytest.param([operation("add", f"/list/{'9' * 5_000}", value=1)], id="a long index"),
        pytest.param([operation("replace", "/list/2", value=1)], id="replace past the end"),
        pytest.param([operation("add", "/nosuch/x", value=1)], id="no parent"),
        pytest.param([operation("add", "/data/n/x", value=1)], id="a null parent"),
        pytest.param([operation("add", "/data/a/x", value=1)], id="a parent without parts"),
        pytest.param([operation("add", "", value={})], id="add the whole"),
        pytest.param([operation("test", "/data/a/x/y", value=1)], id="below a string"),
        pytest.param([operation("replace", "", value=[])], id="an object must be left"),
        pytest.param([operation("move", "/x", **{"from": "/z"})], id="move a missing key"),
        pytest.param([operation("move", "/x")], id="no source"),
        pytest.param([{"op": "add", "value": 1}], id="no path"),
        pytest.param([operation("bogus", "/data/a")], id="no such operation"),
        pytest.param([{"path": "/data/a"}], id="no operation"),
    ],
)
def test_an_operation_that_cannot_be_done_rejects_the_patch(patch: list[dict[str, Any]]) -> None:
    before = repr(DOCUMENT)
    with pytest.raises(PatchError) as caught:
        json_patched(DOCUMENT, [operation("add", "/data/first", value=1), *patch])
    error = caught.value
    assert (error.code, error.reason, error.message) == (422, "Invalid", REJECTED)
    assert error.has_details
    assert repr(DOCUMENT) == before


@pytest.mark.parametrize(
    ("patch", "cause"),
    [
        (operation("add", "/a/b", value=1),
         'add operation does not apply: doc is missing path: "/a/b": missing value'),
        (operation("remove", "/list/7/x"),
         'remove operation does not apply: doc is missing path: "/list/7/x": missing value'),
        (operation("replace", "/a/{}", value=1),
         "replace operation does not apply: doc is missing path: /a/{}: missing value"),
        (operation("remove", "/data/z"),
         "error in remove for path: '/data/z': Unable to remove nonexistent key: z: missing value"),
        (operation("add", "/list/7", value=1), ""),
    ],
)  # fmt: skip
def test_the_error_behind_a_rejected_patch(patch: dict[str, Any], cause: str) -> None:
    with pytest.raises(PatchError) as caught:
        json_patched(DOCUMENT, [patch])
    assert (caught.value.message, caught.value.cause) == (REJECTED, cause)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"op": "add"},
         "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([1], "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1}],
         "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{"op": "add", "path": ["a"]}],
         "json: cannot unmarshal array into Go struct field jsonPatchOp.path of type string"),
        ([{"op": "move", "path": "/a", "from": True}],
         "json: cannot unmarshal bool into Go struct field jsonPatchOp.from of type string"),
    ],
)  # fmt: skip
def test_a_patch_must_be_a_list_of_operations(patch: Any, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        json_patched({}, patch)
    assert (caught.value.code, caught.value.message) == (400, f"error decoding patch: {message}")


def test_null_is_a_patch_without_operations() -> None:
    assert json_patched(DOCUMENT, None) is DOCUMENT


def test_the_number_of_operations_is_limited() -> None:
    most = [operation("test", "/data/a", value="1")] * MOST_OPERATIONS
    assert json_patched(DOCUMENT, most) == DOCUMENT
    with pytest.raises(PatchError) as caught:
        json_patched(DOCUMENT, [*most, most[0]])
    assert (caught.value.code, caught.value.reason) == (413, "RequestEntityTooLarge")
    assert caught.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
        "got 10001"
    )


def test_copies_cannot_grow_without_limit() -> None:
    doubling = [operation("copy", f"/x/{step}", **{"from": "/x"}) for step in range(40)]
    with pytest.raises(PatchError) as caught:
        json_patched({"x": {"y": "z" * 100}}, doubling)
    assert caught.value.code == 422


def test_a_copy_is_independent_of_its_source() -> None:
    patch = [
        operation("copy", "/b", **{"from": "/a"}),
        operation("add", "/b/x", value=1),
        operation("add", "/a/y", value=2),
    ]
    assert json_patched({"a": {"k": 0}}, patch) == {"a": {"k": 0, "y": 2}, "b": {"k": 0, "x": 1}}


def test_a_value_of_the_patch_is_not_changed() -> None:
    patch = [operation("add", "/a", value={}), operation("add", "/a/x", value=1)]
    assert json_patched({}, patch) == {"a": {"x": 1}}
    assert patch[0]["value"] == {}


def test_what_does_not_change_is_shared() -> None:
    patched = json_patched(DOCUMENT, [operation("add", "/data/b", value=1)])
    assert patched["list"] is DOCUMENT["list"]


def test_unknown_fields_of_operations_are_warnings() -> None:
    patch = [operation("add", "/a", value=1), operation("add", "/b", values=1)]
    assert json_patch_warnings(patch) == ['json patch unknown field "[1].values"']
