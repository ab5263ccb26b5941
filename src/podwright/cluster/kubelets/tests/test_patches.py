"""Patches of three kinds."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from podwright.apimachinery.patching import PatchError
from podwright.cluster.kubelets.patches import apply_patch, plain_patch

READY = {"type": "Ready", "status": "True", "reason": "r"}
OTHER = {"type": "Other", "status": "True"}


def status(*conditions):
    return {"status": {"conditions": list(conditions)}}


@pytest.mark.parametrize(
    ("kind", "document", "patch", "after"),
    [
        pytest.param("merge", {"a": 1, "b": {"c": 2}}, {"b": {"d": 3}, "a": None},
                     {"b": {"c": 2, "d": 3}}, id="merge: null removes"),
        pytest.param("merge", {"l": [1, 2]}, {"l": [3]}, {"l": [3]}, id="merge: lists go"),
        pytest.param("strategic", status(READY, OTHER),
                     status({"type": "Ready", "status": "False", "reason": None}),
                     status({"type": "Ready", "status": "False"}, OTHER),
                     id="strategic: an entry is found by its key"),
        pytest.param("strategic", status(OTHER), status(READY), status(OTHER, READY),
                     id="strategic: a new entry goes to the end"),
        pytest.param("strategic", status(OTHER), status(READY, {"type": "Other", "a": 1}),
                     status({**OTHER, "a": 1}, READY),
                     id="strategic: a new entry before a present one goes to the end"),
        pytest.param("strategic", status(OTHER, READY),
                     {"status": {
                         "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "Other"}],
                         "conditions": [{"type": "Other", "status": "False"}]}},
                     status(READY, {"type": "Other", "status": "False"}),
                     id="strategic: an order of the entries"),
        pytest.param("strategic", status(OTHER, READY),
                     status({"$patch": "delete", "type": "Other"}), status(READY),
                     id="strategic: an entry is deleted"),
        pytest.param("strategic", status(OTHER), status({"$patch": "replace"}, READY),
                     status(READY), id="strategic: a list is replaced"),
        pytest.param("strategic", {"status": {"containerStatuses": [1]}},
                     {"status": {"containerStatuses": [2]}},
                     {"status": {"containerStatuses": [2]}}, id="strategic: an atomic list"),
        pytest.param("strategic", {"metadata": {"finalizers": ["a", "b"]}},
                     {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"],
                                   "$setElementOrder/finalizers": ["b", "c"],
                                   "finalizers": ["c"]}},
                     {"metadata": {"finalizers": ["b", "c"]}},
                     id="strategic: a set of plain values"),
        pytest.param("strategic", {"spec": {"a": 1}},
                     {"spec": {"$patch": "replace", "b": 2}}, {"spec": {"b": 2}},
                     id="strategic: a map is replaced"),
        pytest.param("strategic", {"spec": {"a": 1, "hostname": "b"}},
                     {"spec": {"$retainKeys": ["hostname"], "hostname": "c"}},
                     {"spec": {"hostname": "c"}}, id="strategic: some keys are kept"),
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
    pod = {"apiVersion": "v1", "kind": "Pod", **document}
    before = copy.deepcopy(pod)
    assert apply_patch(pod, patch, kind) == {"apiVersion": "v1", "kind": "Pod", **after}
    assert pod == before


@pytest.mark.parametrize(
    ("kind", "patch", "error"),
    [
        pytest.param("strategic", [], "cannot unmarshal array", id="strategic: a list"),
        pytest.param("strategic", status({"status": "x"}), "merge key: type", id="no key"),
        pytest.param("strategic", {"$patch": "drop"}, "unknown patch type: drop", id="a directive"),
        pytest.param("json", {}, "a list of operations", id="json: an object"),
        pytest.param(
            "json", [{"op": "put"}], 'operation {"op":"put"}: the server', id="json: an operation"
        ),
        pytest.param(
            "json", [{"op": "remove", "path": "/x/y"}], '"/x/y"}: the server', id="json: no way"
        ),
        pytest.param(
            "json", [{"op": "add", "path": "x"}], '"path":"x"}: the server', id="json: a path"
        ),
        pytest.param("json", [{"op": "add", "path": "/l/7"}], '"/l/7"}: the server', id="too far"),
        pytest.param(
            "json",
            [{"op": "test", "path": "/l", "value": 1}],
            '"value":1}: the server',
            id="json: another value",
        ),
    ],
)
def test_an_invalid_patch_is_rejected(kind, patch, error):
    with pytest.raises(PatchError, match=error):
        apply_patch({"apiVersion": "v1", "kind": "Pod", "l": [], **status(READY)}, patch, kind)


def test_a_strategic_patch_is_of_a_kind_of_kubernetes():
    text = "strategic merge patches are for kinds of Kubernetes only"
    with pytest.raises(PatchError, match=text):
        apply_patch({"apiVersion": "example.com/v1", "kind": "Pod"}, {"a": 1}, "strategic")


def test_a_patch_without_directives_shares_its_new_parts():
    """The statuses of pods are many, and mostly the same."""
    entry = {"type": "Ready", "status": "True"}
    pod: dict[str, Any] = {"status": {}}
    (made,) = plain_patch(pod, {"status": {"conditions": [entry]}})["status"]["conditions"]
    assert made is entry
    with_null = entry | {"reason": None}
    (made,) = plain_patch(pod, {"status": {"conditions": [with_null]}})["status"]["conditions"]
    assert made == entry


@pytest.mark.parametrize("value", [5, "x", True, [1], []])
@pytest.mark.parametrize("current", [{"b": 1}, {}, 7, None])
def test_a_plain_patch_replaces_what_is_not_a_map_in_both(current, value):
    document = {"a": current, "b": 1}
    assert plain_patch(document, {"a": value}) == {"a": value, "b": 1}
    assert document == {"a": current, "b": 1}
    assert plain_patch({"a": value}, {"a": {"c": 1}}) == {"a": {"c": 1}}
