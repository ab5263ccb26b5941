"""Patches of three kinds."""

from __future__ import annotations

import copy

import pytest

from podwright.cluster.kubelets.patches import PatchError, apply_patch

READY = {"type": "Ready", "status": "True", "reason": "r"}
OTHER = {"type": "Other", "status": "True"}


@pytest.mark.parametrize(
    ("kind", "document", "patch", "after"),
    [
        pytest.param("merge", {"a": 1, "b": {"c": 2}}, {"b": {"d": 3}, "a": None},
                     {"b": {"c": 2, "d": 3}}, id="merge: null removes"),
        pytest.param("merge", {"l": [1, 2]}, {"l": [3]}, {"l": [3]}, id="merge: lists go"),
        pytest.param("strategic", {"conditions": [READY, OTHER]},
                     {"conditions": [{"type": "Ready", "status": "False", "reason": None}]},
                     {"conditions": [{"type": "Ready", "status": "False"}, OTHER]},
                     id="strategic: an entry is found by its key"),
        pytest.param("strategic", {"conditions": [OTHER]}, {"conditions": [READY]},
                     {"conditions": [OTHER, READY]}, id="strategic: a new entry goes to the end"),
        pytest.param("strategic", {"conditions": [OTHER, READY]},
                     {"$setElementOrder/conditions": [{"type": "Ready"}, {"type": "Other"}],
                      "conditions": [{"type": "Other", "status": "False"}]},
                     {"conditions": [READY, {"type": "Other", "status": "False"}]},
                     id="strategic: an order of the entries"),
        pytest.param("strategic", {"conditions": [OTHER, READY]},
                     {"conditions": [{"$patch": "delete", "type": "Other"}]},
                     {"conditions": [READY]}, id="strategic: an entry is deleted"),
        pytest.param("strategic", {"conditions": [OTHER]},
                     {"conditions": [{"$patch": "replace"}, READY]},
                     {"conditions": [READY]}, id="strategic: a list is replaced"),
        pytest.param("strategic", {"containerStatuses": [1]}, {"containerStatuses": [2]},
                     {"containerStatuses": [2]}, id="strategic: an atomic list"),
        pytest.param("strategic", {"finalizers": ["a", "b"]},
                     {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]},
                     {"finalizers": ["b", "c"]}, id="strategic: a set of plain values"),
        pytest.param("strategic", {"m": {"a": 1}}, {"m": {"$patch": "replace", "b": 2}},
                     {"m": {"b": 2}}, id="strategic: a map is replaced"),
        pytest.param("strategic", {"m": {"a": 1, "b": 2}}, {"m": {"$retainKeys": ["b"], "b": 3}},
                     {"m": {"b": 3}}, id="strategic: some keys are kept"),
        pytest.param("json", {"a": {"b/c": 1}}, [{"op": "replace", "path": "/a/b~1c", "value": 2}],
                     {"a": {"b/c": 2}}, id="json: replace, with an escape"),
        pytest.param("json", {"l": [1, 3]}, [{"op": "add", "path": "/l/1", "value": 2},
                                            {"op": "add", "path": "/l/-", "value": 4},
                                            {"op": "remove", "path": "/l/0"}],
                     {"l": [2, 3, 4]}, id="json: in a list"),
        pytest.param("json", {"a": 1}, [{"op": "copy", "from": "/a", "path": "/b"},
                                        {"op": "move", "from": "/a", "path": "/c"},
                                        {"op": "test", "path": "/c", "value": 1}],
                     {"b": 1, "c": 1}, id="json: copy, move, test"),
    ],
)  # fmt: skip
def test_a_patch_changes_a_document(kind, document, patch, after):
    before = copy.deepcopy(document)
    assert apply_patch(document, patch, kind) == after
    assert document == before


@pytest.mark.parametrize(
    ("kind", "patch", "error"),
    [
        pytest.param("strategic", [], "is an object", id="strategic: a list"),
        pytest.param("strategic", {"conditions": [{"status": "x"}]}, 'no "type"', id="no key"),
        pytest.param("strategic", {"$patch": "drop"}, "none of merge, replace", id="a directive"),
        pytest.param("json", {}, "a list of operations", id="json: an object"),
        pytest.param("json", [{"op": "put"}], '"op" out of add', id="json: an operation"),
        pytest.param("json", [{"op": "remove", "path": "/x/y"}], 'no "x"', id="json: no way"),
        pytest.param("json", [{"op": "add", "path": "x"}], 'starts with "/"', id="json: a path"),
        pytest.param(
            "json", [{"op": "add", "path": "/l/7"}], "not an index of a list", id="too far"
        ),
        pytest.param(
            "json", [{"op": "test", "path": "/l", "value": 1}], "test of", id="json: another value"
        ),
    ],
)
def test_an_invalid_patch_is_rejected(kind, patch, error):
    with pytest.raises(PatchError, match=error):
        apply_patch({"l": []}, patch, kind)
