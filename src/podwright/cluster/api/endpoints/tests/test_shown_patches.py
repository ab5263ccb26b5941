"""Orders of fields in messages about patches, and the texts about bodies of another kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.decoding.body_kinds import (
    check_kind,
    other_kind_error,
    type_meta,
)
from podwright.cluster.api.endpoints.replies.shown_patches import (
    in_go_order,
    of_other_kind,
    shown_applied,
    shown_json_patched,
    shown_merge_patched,
)
from podwright.cluster.api.endpoints.tests.test_discovery import custom
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.versions.resources import built_in_resources


def test_the_order_of_fields_in_messages() -> None:
    pod = built_in().find("v1", "Pod")
    assert pod is not None
    document = {
        "status": {"phase": "Pending", "conditions": []},
        "spec": {
            "nodeSelector": {"b": "1", "a": "2"},
            "containers": [{"image": "i", "name": "c", "resources": {"limits": {"y": 1, "x": 2}}}],
            "unknown": {"z": 1, "a": 2},
        },
        "metadata": {"namespace": "n", "name": "p", "labels": {"b": "1", "a": "2"}},
        "apiVersion": "v1",
        "kind": "Pod",
    }
    text = json.dumps(in_go_order(pod, document), separators=(",", ":"))
    assert text == (
        '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"n","labels":{"a":"2",'
        '"b":"1"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"x":2,'
        '"y":1}}}],"nodeSelector":{"a":"2","b":"1"},"unknown":{"z":1,"a":2}},"status":{'
        '"phase":"Pending","conditions":[]}}'
    )
    boat: Any = custom("sea.example.com", "v1", "Boat").kind
    assert json.dumps(in_go_order(boat, {"b": [{"d": 1, "c": 2}], "a": 0})) == (
        '{"a": 0, "b": [{"c": 2, "d": 1}]}'
    )


CONFIG = {
    "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "m", "labels": {"z": "1"}},
    "data": {"b": "1", "a": "2"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("patch", "shown"),
    [
        (
            [],
            '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","labels":{"z":"1"}},'
            '"data":{"a":"2","b":"1"}}',
        ),
        (
            [{"op": "add", "path": "/data/c", "value": {"y": 1, "x": 2}}],
            '{"apiVersion":"v1","data":{"a":"2","b":"1","c":{"y":1,"x":2}},"kind":"ConfigMap",'
            '"metadata":{"name":"m","labels":{"z":"1"}}}',
        ),
        (
            [{"op": "add", "path": "/metadata/labels/a~1b", "value": "1"}],
            '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap",'
            '"metadata":{"labels":{"a/b":"1","z":"1"},"name":"m"}}',
        ),
        (
            [
                {"op": "add", "path": "/a~1b~0c", "value": {"y": 1, "x": 2}},
                {"op": "add", "path": "/a~1b~0c/z", "value": 0},
            ],
            '{"a/b~c":{"x":2,"y":1,"z":0},"apiVersion":"v1","data":{"a":"2","b":"1"},'
            '"kind":"ConfigMap","metadata":{"name":"m","labels":{"z":"1"}}}',
        ),
        (
            [{"op": "copy", "from": "/metadata/labels/z", "path": "/x"}],
            '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap",'
            '"metadata":{"labels":{"z":"1"},"name":"m"},"x":"1"}',
        ),
        (
            [{"op": "replace", "path": "/kind", "value": "X"}],
            '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"X",'
            '"metadata":{"name":"m","labels":{"z":"1"}}}',
        ),
    ],
)
def test_a_document_after_a_json_patch(patch: list[Document], shown: str) -> None:
    kind = built_in().find("v1", "ConfigMap")
    assert kind is not None
    assert shown_json_patched(kind, CONFIG, patch) == shown


@pytest.mark.parametrize(
    ("patch", "shown"),
    [
        (
            {"data": {"c": "3"}},
            '{"apiVersion":"v1","data":{"a":"2","b":"1","c":"3"},"kind":"ConfigMap",'
            '"metadata":{"name":"m","labels":{"z":"1"}}}',
        ),
        (
            {"metadata": {"name": "n"}},
            '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap",'
            '"metadata":{"labels":{"z":"1"},"name":"n"}}',
        ),
        (
            {"x": [{"b": 1, "a": 2}]},
            '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap",'
            '"metadata":{"name":"m","labels":{"z":"1"}},"x":[{"a":2,"b":1}]}',
        ),
        (
            {"data": None},
            '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","labels":{"z":"1"}}}',
        ),
    ],
)
def test_a_document_after_a_merge_patch(patch: Document, shown: str) -> None:
    kind = built_in().find("v1", "ConfigMap")
    assert kind is not None
    assert shown_merge_patched(kind, CONFIG, patch) == shown
    assert shown_applied(kind, CONFIG) == (
        '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap",'
        '"metadata":{"name":"m","labels":{"z":"1"}}}'
    )


NOT_REGISTERED = (
    'no kind "{}" is registered for version "{}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
)


@pytest.mark.parametrize(
    ("api_version", "name", "text"),
    [
        ("v1", "Pods", NOT_REGISTERED.format("Pods", "v1")),
        ("v2", "Pod", NOT_REGISTERED.format("Pod", "v2")),
        ("v1", "ConfigMap", "converting (v1.ConfigMap) to (apps.Deployment): unknown conversion"),
        ("v1", "PodList", "converting (v1.PodList) to (apps.Deployment): unknown conversion"),
        ("batch/v1", "Job", "converting (v1.Job) to (apps.Deployment): unknown conversion"),
        ("autoscaling/v2", "HorizontalPodAutoscaler",
         "converting (v2.HorizontalPodAutoscaler) to (apps.Deployment): unknown conversion"),
        ("v9", "Status", "converting (v1.Status) to (apps.Deployment): unknown conversion"),
        ("apps/v1", "DeleteOptions",
         "converting (v1.DeleteOptions) to (apps.Deployment): unknown conversion"),
        ("x/v1", "DeleteOptions", NOT_REGISTERED.format("DeleteOptions", "x/v1")),
        ("apps/v1", "Deployment",
         "unable to decode apps/v1, Kind=Deployment into apps/v1, Kind=Deployment"),
        ("apps/v9", "Deployment", NOT_REGISTERED.format("Deployment", "apps/v9")),
        (
            1, "Deployment",
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go"
            " struct field .apiVersion of type string",
        ),
        (
            "apps/v1", None,
            "couldn't get version/kind; json parse error: json: cannot unmarshal null into Go"
            " struct field .kind of type string",
        ),
    ],
)  # fmt: skip
def test_why_a_patched_document_is_none_of_the_kind(api_version: Any, name: Any, text: str) -> None:
    resource = built_in_resources()["apps/v1", "Deployment"]
    found = of_other_kind(resource, {"apiVersion": api_version, "kind": name})
    assert isinstance(found, ValueError)
    assert str(found) == text


def test_a_document_of_another_kind_has_the_errors_of_that_kind() -> None:
    kind = built_in().find("v1", "ConfigMap")
    assert kind is not None
    error = other_kind_error(kind, "v1", "Pod", {"spec": 3})
    assert "json: cannot unmarshal number into Go" in str(error)
    assert str(other_kind_error(kind, "v1", "Pod", {"spec": {}})) == (
        "converting (v1.Pod) to (core.ConfigMap): unknown conversion"
    )


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({}, {"apiVersion": "v1", "kind": "ConfigMap"}),
        ({"apiVersion": "v1"}, {"apiVersion": "v1", "kind": "ConfigMap"}),
        ({"KIND": "ConfigMap"}, {"apiVersion": "v1", "kind": "ConfigMap", "KIND": "ConfigMap"}),
        ({"kind": None}, {"apiVersion": "v1", "kind": "ConfigMap"}),
        (
            {"kind": "Pod"},
            'Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to'
            " (core.ConfigMap): unknown conversion",
        ),
        (
            {"kind": "X"},
            'X in version "v1" cannot be handled as a ConfigMap: '
            + NOT_REGISTERED.format("X", "v1"),
        ),
        (
            {"apiVersion": "a/b/c"},
            "the object provided is unrecognized (must be of type ConfigMap): unexpected"
            " GroupVersion string: a/b/c (<empty>)",
        ),
        (
            {"kind": 3, "apiVersion": True},
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get"
            " version/kind; json parse error: json: cannot unmarshal number into Go struct field"
            " .kind of type string (<empty>)",
        ),
    ],
)  # fmt: skip
def test_the_kind_of_a_body(document: Document, found: Document | str) -> None:
    kind = built_in().find("v1", "ConfigMap")
    assert kind is not None
    if isinstance(found, str):
        with pytest.raises(Rejection) as error:
            check_kind(document, kind)
        assert (error.value.status["code"], error.value.status["message"]) == (400, found)
    else:
        assert check_kind(document, kind) == found


def test_another_version_of_the_kind_of_a_body() -> None:
    kind = built_in().find("autoscaling/v2", "HorizontalPodAutoscaler")
    assert kind is not None
    for sent in ("autoscaling/v1", "autoscaling/v2beta2"):
        with pytest.raises(Rejection) as error:
            check_kind({"apiVersion": sent, "kind": "HorizontalPodAutoscaler"}, kind)
        assert str(error.value.status["message"]).startswith(
            f"the API version in the data ({sent}) does not match the expected API version"
            " (autoscaling/v2)"
        ) or "no kind" in str(error.value.status["message"])
    assert type_meta({"apiversion": "x", "Kind": "Y", "kind": "Z"}, "K", b"") == {
        "apiVersion": "x", "kind": "Z",
    }  # fmt: skip
