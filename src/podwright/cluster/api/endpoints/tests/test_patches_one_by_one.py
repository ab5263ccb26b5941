"""Patches one by one, with the status, the message and the warnings of their replies."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.endpoints.tests.conftest import Server
from podwright.cluster.api.endpoints.tests.test_custom_resources import TRAINS
from podwright.cluster.api.endpoints.tests.test_requests_one_by_one import (
    CM,
    check,
    filled,
)

__all__ = ["filled"]

PATCH_ROWS: list[Any] = [
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Ignore",
        {"op": 1},
        "json-patch+json",
        400,
        "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Ignore",
        [1],
        "json-patch+json",
        400,
        "json: cannot unmarshal number into Go value of type jsonpatch.Operation",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Ignore",
        [None],
        "json-patch+json",
        422,
        "the server rejected our request due to an error in our request",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        [1],
        "json-patch+json",
        400,
        (
            "error decoding patch: json: cannot unmarshal number into Go value of type"
            " handlers.jsonPatchOp"
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        None,
        "json-patch+json",
        400,
        "error decoding patch: unexpected end of JSON input",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Strict",
        [{"op": "add", "path": "/x", "value": 1}],
        "json-patch+json",
        422,
        ' "" is invalid: patch: Invalid value: OBJECT: strict decoding error: unknown field "x"',
        [],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Warn",
        [{"op": "add", "path": "/x", "value": 1}],
        "json-patch+json",
        200,
        "ConfigMap",
        ['unknown field "x"'],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Warn",
        [{"op": "add", "path": "/data/c", "value": "1", "extra": 1}],
        "json-patch+json",
        200,
        "ConfigMap",
        ['json patch unknown field "[0].extra"'],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Strict",
        [{"op": "add", "path": "/data/c", "value": "1", "extra": 1}],
        "json-patch+json",
        422,
        (
            ' "" is invalid: patch: Invalid value: OBJECT: strict decoding error: json'
            ' patch unknown field "[0].extra"'
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Ignore",
        [{"op": "add", "path": "/data/c", "value": "1", "extra": 1}],
        "json-patch+json",
        200,
        "ConfigMap",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Strict",
        b'{"data":{"c":"1","c":"2"}}',
        "merge-patch+json",
        422,
        (
            ' "" is invalid: patch: Invalid value: OBJECT: strict decoding error: duplicate'
            ' field "data.c"'
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Warn",
        b'{"data":{"c":"1","c":"2"}}',
        "merge-patch+json",
        200,
        "ConfigMap",
        ['duplicate field "data.c"'],
    ),
    (
        "PATCH",
        f"{CM}/a",
        b'{"data":{"c":"1","c":"2"}}',
        "merge-patch+json",
        200,
        "ConfigMap",
        ['duplicate field "data.c"'],
    ),
    ("PATCH", f"{CM}/a", {"x": 1}, "merge-patch+json", 200, "ConfigMap", ['unknown field "x"']),
    (
        "PATCH",
        f"{CM}/a?fieldValidation=Strict",
        {"x": 1, "b": 2},
        "merge-patch+json",
        422,
        (
            ' "" is invalid: patch: Invalid value: OBJECT: strict decoding error: unknown'
            ' field "b", unknown field "x"'
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        {"data": {"c": 1}},
        "merge-patch+json",
        422,
        (
            ' "" is invalid: patch: Invalid value: OBJECT: json: cannot unmarshal number'
            " into Go struct field ConfigMap.data of type string"
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        {"data": {"c": 1}},
        "strategic-merge-patch+json",
        422,
        (
            ' "" is invalid: patch: Invalid value: "map[data:map[c:1]]": cannot convert'
            " int64 to string"
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        b"{",
        "merge-patch+json",
        400,
        "error decoding patch: unexpected end of JSON input",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        b"{",
        "strategic-merge-patch+json",
        400,
        "unexpected end of JSON input",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        {"apiVersion": None},
        "merge-patch+json",
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        {"apiVersion": ""},
        "merge-patch+json",
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
        [],
    ),
    ("PATCH", f"{CM}/a", {"kind": None}, "merge-patch+json", 200, "ConfigMap", []),
    (
        "PATCH",
        f"{CM}/a",
        {"kind": "Pod"},
        "merge-patch+json",
        422,
        (
            ' "" is invalid: patch: Invalid value: OBJECT: converting (v1.Pod) to'
            " (core.ConfigMap): unknown conversion"
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        {"kind": "Pod", "apiVersion": "v9"},
        "strategic-merge-patch+json",
        200,
        "ConfigMap",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        {"metadata": {"name": "b"}},
        "merge-patch+json",
        400,
        "the name of the object (b) does not match the name on the URL (a)",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        {"metadata": {"namespace": "b"}},
        "merge-patch+json",
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
        [],
    ),
    (
        "PATCH",
        f"{CM}/a",
        {"metadata": {"uid": "b"}},
        "merge-patch+json",
        422,
        'ConfigMap "a" is invalid: metadata.uid: Invalid value: "b": field is immutable',
        [],
    ),
    ("PATCH", f"{CM}/absent", {}, "merge-patch+json", 404, 'configmaps "absent" not found', []),
    ("PATCH", f"{CM}/absent", b"{", "merge-patch+json", 404, 'configmaps "absent" not found', []),
    ("PATCH", f"{CM}/a", {}, "x", 415, "415: Unsupported Media Type", []),
    ("PATCH", f"{CM}/a", {}, "", 415, "415: Unsupported Media Type", []),
    (
        "PATCH",
        f"{TRAINS}/t1",
        {},
        "strategic-merge-patch+json",
        415,
        (
            "the body of the request was in an unknown format - accepted media types"
            " include: application/json-patch+json, application/merge-patch+json,"
            " application/apply-patch+yaml"
        ),
        [],
    ),
    (
        "PATCH",
        f"{TRAINS}/t1",
        {"kind": "Boat"},
        "merge-patch+json",
        422,
        'Boat.example.com "t1" is invalid: kind: Invalid value: "Boat": must be Train',
        [],
    ),
    (
        "PATCH",
        f"{TRAINS}/t1",
        {"kind": None},
        "merge-patch+json",
        422,
        (
            ' "" is invalid: patch: Invalid value: OBJECT: couldn\'t get version/kind; json'
            " parse error: json: cannot unmarshal null into Go struct field .kind of type"
            " string"
        ),
        [],
    ),
    (
        "PATCH",
        f"{TRAINS}/t1",
        {"spec": {"cars": "x"}},
        "merge-patch+json",
        422,
        (
            'Train.example.com "t1" is invalid: [spec.cars: Invalid value: "string":'
            ' spec.cars in body must be of type integer: "string", <nil>: Invalid value:'
            " null: some validation rules were not checked because the object was invalid;"
            " correct the existing errors to complete validation]"
        ),
        [],
    ),
    (
        "PATCH",
        f"{TRAINS}/t1?fieldValidation=Strict",
        {"spec": {"wings": 2}},
        "merge-patch+json",
        422,
        (
            ' "" is invalid: patch: Invalid value: OBJECT: strict decoding error: unknown'
            ' field "spec.wings"'
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "uid": "u"}},
        "apply-patch+yaml",
        409,
        (
            'Operation cannot be fulfilled on configmaps "n": uid mismatch: the provided'
            " object specified uid u, and no existing object was found"
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "uid": 3}},
        "apply-patch+yaml",
        400,
        "error decoding YAML: metadata.uid must be a string",
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "resourceVersion": 3}},
        "apply-patch+yaml",
        400,
        "error decoding YAML: metadata.resourceVersion must be a string",
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        b"[]",
        "apply-patch+yaml",
        400,
        (
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot"
            " unmarshal array into Go value of type map[string]interface {}"
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        b"",
        "apply-patch+yaml",
        400,
        "invalid object type: /, Kind=",
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m&fieldValidation=Strict",
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"},"data":{"a":"1","a":"2"}}',
        "apply-patch+yaml",
        400,
        (
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal"
            ' errors:\n  line 1: key "a" already set in map'
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "data": 3},
        "apply-patch+yaml",
        500,
        (
            "failed to create typed patch object (/n; /v1, Kind=ConfigMap): .data: expected"
            " map, got &{3}"
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "immutable": "x"},
        "apply-patch+yaml",
        500,
        (
            "failed to create typed patch object (/n; /v1, Kind=ConfigMap): .immutable:"
            " expected boolean, got &{x}"
        ),
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}},
        "apply-patch+yaml",
        400,
        "the name of the object (other) does not match the name on the URL (n)",
        [],
    ),
    (
        "PATCH",
        f"{CM}/n?fieldManager=m",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "data": {"a": "1"}},
        "apply-patch+yaml",
        201,
        "ConfigMap",
        [],
    ),
]


@pytest.mark.parametrize("row", PATCH_ROWS, ids=str)
def test_each_patch(filled: Server, row: Any) -> None:
    check(filled, row)
