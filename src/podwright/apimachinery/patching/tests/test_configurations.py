"""Configurations on their own: what they set, what of them is refused, and how they are kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.patching import PatchError
from podwright.apimachinery.patching.apply import (
    allowed_conflicts,
    applied,
    configured,
    with_last_applied,
)
from podwright.apimachinery.patching.object_types import custom_object_type, object_type, owned
from podwright.apimachinery.patching.strategic_merge import strategic_merged
from podwright.apimachinery.patching.typed_values import difference_of
from podwright.apimachinery.patching.value_types import struct_type
from podwright.apimachinery.schema import built_in

Document = dict[str, Any]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def of_kind(name: str, api_version: str = "v1") -> Any:
    kind = built_in().find(api_version, name)
    assert kind is not None
    return object_type(kind)


POD: Document = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}], "priority": 1},
}


def test_a_configuration_sets_what_it_has() -> None:
    given = {
        "metadata": {"labels": {"x": "y"}},
        "spec": {"priority": 2, "containers": [{"name": "c", "image": "j"}, {"name": "d"}]},
    }
    assert configured(of_kind("Pod"), POD, given) == {
        **POD,
        "metadata": {"name": "p", "labels": {"a": "b", "x": "y"}},
        "spec": {"containers": [{"name": "c", "image": "j"}, {"name": "d"}], "priority": 2},
    }
    assert configured(of_kind("Pod"), POD, {}) == POD


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        pytest.param({"nodeSelector": {"a": "b"}}, ".spec.nodeSelector", id="a map"),
        pytest.param({"tolerations": []}, ".spec.tolerations", id="a list"),
        pytest.param(
            {"containers": [{"name": "c"}, {"name": "d", "args": ["x"], "command": []}]},
            ".spec.containers[1].args, .spec.containers[1].command", id="in an item",
        ),
        pytest.param(
            {"containers": [{"name": "c", "env": [{"name": "e", "valueFrom": {"fieldRef": {
                "fieldPath": "x"}}}]}]},
            ".spec.containers[0].env[0].valueFrom.fieldRef", id="a struct",
        ),
    ],
)  # fmt: skip
def test_what_is_replaced_as_a_whole_cannot_be_configured(spec, paths) -> None:
    with pytest.raises(PatchError) as found:
        configured(of_kind("Pod"), POD, {"spec": spec})
    assert str(found.value) == (
        f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {paths}"
    )


@pytest.mark.parametrize("field", ["tolerations", "nodeSelector"])
def test_null_is_none_of_what_is_replaced_as_a_whole(field) -> None:
    found = configured(of_kind("Pod"), POD, {"spec": {field: None}})
    assert found["spec"] == {**POD["spec"], field: None}


def test_all_type_errors_of_a_configuration_are_named() -> None:
    with pytest.raises(PatchError) as found:
        configured(of_kind("Pod"), POD, {"odd": 1, "spec": {"priority": "x"}, "status": []})
    message = str(found.value)
    assert message.startswith(
        "failed to convert patch object to typed object: failed to create typed patch object"
        " (/; /v1, Kind=Pod): errors:\n"
    )
    named = [line.strip().partition(":")[0] for line in message.splitlines()[1:]]
    assert named == [".odd", ".spec.priority", ".status"]


def annotated(text: str | None, **metadata: Any) -> Document:
    annotations = {"own": "kept"} | ({} if text is None else {LAST_APPLIED: text})
    return {**POD, "metadata": {"name": "p", "annotations": annotations, **metadata}}


def test_the_last_applied_configuration_is_replaced_where_there_is_one() -> None:
    configuration: Document = {
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "p", "annotations": {LAST_APPLIED: "old", "b": "c"}},
    }  # fmt: skip
    for text in (None, ""):
        given = annotated(text)
        assert with_last_applied(given, configuration) is given
    assert with_last_applied(POD, configuration) is POD
    found = with_last_applied(annotated("old"), configuration)
    kept = {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": {"b": "c"}, "name": "p"}}
    text = json.dumps(kept, separators=(",", ":")) + "\n"
    assert found == annotated(text)
    assert with_last_applied(found, configuration) is found
    plain = {"kind": "Pod"}
    for bare in (plain, plain | {"metadata": None}, plain | {"metadata": {"annotations": None}}):
        text = json.dumps(bare, separators=(",", ":"), sort_keys=True) + "\n"
        assert with_last_applied(annotated("old"), bare) == annotated(text)


def test_a_configuration_that_is_too_long_for_an_annotation_is_dropped() -> None:
    def applied(length: int) -> Document:
        found = with_last_applied(annotated("old"), {"x": "\u00e9" * length})
        annotations: Document = found["metadata"]["annotations"]
        return annotations

    # 262,144 bytes: both keys, the other value, and `{"x":""}` with its line end.
    fixed = len("own") + len("kept") + len(LAST_APPLIED) + len('{"x":""}\n')
    room = (262_144 - fixed) // 2
    assert LAST_APPLIED in applied(room)
    assert applied(room + 1) == {"own": "kept"}


def last(**parts: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Pod", **parts})


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        pytest.param(None, None, id="none"),
        pytest.param("", None, id="empty"),
        pytest.param("{", None, id="no JSON"),
        pytest.param("[]", None, id="no object"),
        pytest.param(json.dumps({"apiVersion": "v2", "kind": "Pod"}), None, id="another version"),
        pytest.param(last(spec={"priority": "x"}), None, id="a wrong type"),
        pytest.param(last(spec={"priority": 1}), {".apiVersion", ".kind", ".spec.priority"},
                     id="as it was applied"),
        pytest.param(last(spec={"priority": 2}), {".apiVersion", ".kind"}, id="changed since"),
        pytest.param(last(spec={"hostname": "x"}), {".apiVersion", ".kind"}, id="removed since"),
    ],
)  # fmt: skip
def test_the_client_owns_what_it_applied_last_and_nobody_changed(text, allowed) -> None:
    found = allowed_conflicts(of_kind("Pod"), annotated(text))
    assert found == (None if allowed is None else frozenset(allowed))


# ------------------------------------------------------------------------------ field sets


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        # Ports of one key: they have one owner together.
        pytest.param("", "aa", "=", "", id="several are added"),
        pytest.param("aa", "", "", "=", id="several are removed"),
        pytest.param("aa", "aa", "", "", id="the same"),
        pytest.param("aa", "ab", "=", "", id="another"),
        pytest.param("aa", "aaa", "=", "", id="one more"),
        pytest.param("a", "ab", "=", "parts", id="one becomes two"),
        pytest.param("ab", "a", "parts", "=", id="two become one"),
    ],
)  # fmt: skip
def test_items_of_one_key_are_compared_together(old, new, changed, removed) -> None:
    key = 'k:{"containerPort":80,"protocol":"TCP"}'

    def container(names: str) -> Document:
        return {"ports": [{"containerPort": 80, "name": name} for name in names]}

    def expected(what: str) -> Document:
        parts: Document = {".": {}, "f:containerPort": {}, "f:name": {}}
        return {"f:ports": {key: parts if what == "parts" else {}}} if what else {}

    found = difference_of(container(old), container(new), struct_type("core.v1.Container"))
    shown = [
        {name: {item: below for item, below in node.items() if item != "."}
         for name, node in part.items() if any(item != "." for item in node)}
        for part in (found.changed, found.removed)
    ]  # fmt: skip
    assert shown == [expected(changed), expected(removed)]


def test_which_fields_of_an_object_have_owners() -> None:
    leaf: Document = {}
    found: Document = {
        "f:apiVersion": leaf, "f:kind": leaf, "f:spec": {"f:a": leaf},
        "f:metadata": {
            ".": leaf, "f:name": leaf, "f:namespace": leaf, "f:uid": leaf,
            "f:creationTimestamp": leaf, "f:managedFields": leaf, "f:resourceVersion": leaf,
            "f:labels": {"f:a": leaf},
        },
    }  # fmt: skip
    kept = {"f:spec": {"f:a": leaf}, "f:metadata": {"f:labels": {"f:a": leaf}}}
    assert owned(found) == kept
    assert owned({"f:kind": leaf, "f:metadata": {"f:name": leaf}}) == {}
    assert owned({"f:apiVersion": leaf, "f:spec": leaf}) == {"f:spec": leaf}
    plain = {"f:spec": leaf}
    assert owned(plain) is plain


@pytest.mark.parametrize(
    ("has_status", "subresource", "left"),
    [
        (True, "", ["f:metadata", "f:spec"]),
        (True, "status", ["f:status"]),
        (False, "", ["f:metadata", "f:spec", "f:status"]),
        (True, "scale", ["f:metadata", "f:spec"]),
    ],
)
def test_which_fields_a_write_of_a_custom_object_keeps(has_status, subresource, left) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    of = custom_object_type("x.io/v1", "Widget", schema, has_status=has_status)
    found: Document = {"f:metadata": {"f:labels": {}}, "f:spec": {}, "f:status": {}}
    assert sorted(of.tracked(found, subresource)) == left


# ------------------------------------------------------------------- strategic merge patches


@pytest.mark.parametrize(
    ("present", "patch", "expected"),
    [
        pytest.param({"data": {"a": "1"}}, {"data": {"b": "2"}}, {"data": {"a": "1", "b": "2"}},
                     id="a map"),
        pytest.param({"data": {"a": "1", "b": "2"}}, {"data": {"a": None}}, {"data": {"b": "2"}},
                     id="without a key"),
        pytest.param({"data": {"a": "1"}}, {"data": {"$patch": "replace", "b": "2"}},
                     {"data": {"b": "2"}}, id="replaced"),
        pytest.param({"data": {"a": "1"}}, {"data": {"$patch": "delete"}}, {"data": {}},
                     id="emptied"),
        pytest.param({"data": {"a": "1", "b": "2"}}, {"data": {"$retainKeys": ["b", "c"],
                     "c": "3"}}, {"data": {"b": "2", "c": "3"}}, id="other keys go"),
    ],
)  # fmt: skip
def test_a_patch_of_a_plain_map(present, patch, expected) -> None:
    kind = built_in().find("v1", "ConfigMap")
    assert kind is not None
    assert strategic_merged(kind, present, patch) == expected


@pytest.mark.parametrize(
    ("present", "patch", "expected"),
    [
        pytest.param("a b", {"finalizers": ["c"]}, "c a b", id="added"),
        pytest.param("a b", {"finalizers": ["b"]}, "a b", id="there already"),
        pytest.param("a b c", {"$deleteFromPrimitiveList/finalizers": ["a", "x"]}, "b c",
                     id="removed"),
        pytest.param("a b", {"$setElementOrder/finalizers": ["b", "a"]}, "b a", id="ordered"),
        pytest.param("a b", {"$setElementOrder/finalizers": ["c", "b", "a"], "finalizers": ["c"]},
                     "c b a", id="added in order"),
        pytest.param("", {"finalizers": []}, "", id="nothing"),
        pytest.param("a", {"finalizers": []}, "a", id="nothing added"),
        pytest.param("", {"finalizers": ["a", "a"]}, "a", id="once"),
        pytest.param("a b", {"$deleteFromPrimitiveList/finalizers": ["a", "b"]}, "", id="all"),
    ],
)  # fmt: skip
def test_a_patch_of_a_list_of_texts(present, patch, expected) -> None:
    kind = built_in().find("v1", "ConfigMap")
    assert kind is not None
    document = {"metadata": {"finalizers": present.split()}}
    found = strategic_merged(kind, document, {"metadata": patch})
    assert found["metadata"]["finalizers"] == expected.split()


# Upstream: pkg/registry/*/*/strategy.go, GetResetFields: what a write of the status does not own.
ALL_METADATA = "annotations deletionTimestamp labels ownerReferences"
WITHOUT_LABELS = "annotations deletionTimestamp ownerReferences"
STATUS_WRITES = f"""\
v1 Pod                                                      | annotations labels
v1 Node                                                     | {ALL_METADATA}
v1 Namespace                                                | {ALL_METADATA}
v1 Service                                                  | {ALL_METADATA}
v1 PersistentVolume                                         | {ALL_METADATA}
v1 PersistentVolumeClaim                                    | {ALL_METADATA}
apps/v1 Deployment                                          | {WITHOUT_LABELS}
apps/v1 ReplicaSet                                          | {ALL_METADATA}
apps/v1 StatefulSet                                         | {ALL_METADATA}
apps/v1 DaemonSet                                           | {ALL_METADATA}
batch/v1 Job                                                | {ALL_METADATA}
policy/v1 PodDisruptionBudget                               | {ALL_METADATA}
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy   |
apiextensions.k8s.io/v1 CustomResourceDefinition            | {ALL_METADATA}
apiregistration.k8s.io/v1 APIService                        |
flowcontrol.apiserver.k8s.io/v1 FlowSchema                  |
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration  |
internal.apiserver.k8s.io/v1alpha1 StorageVersion           |
networking.k8s.io/v1 ServiceCIDR                            |
resource.k8s.io/v1 ResourceClaim                            |
storage.k8s.io/v1 VolumeAttachment                          |
"""


def test_what_a_write_of_the_status_owns() -> None:
    leaf: Document = {}
    metadata = {f"f:{name}": leaf for name in ALL_METADATA.split()}
    found: Document = {"f:metadata": metadata, "f:spec": {"f:x": leaf}, "f:status": {"f:y": leaf}}
    for row in STATUS_WRITES.splitlines():
        written, _, kept = row.partition("|")
        version, name = written.split()
        of = of_kind(name, version)
        left = of.tracked(found, "status")
        assert left.get("f:status") == {"f:y": leaf}, row
        assert "f:spec" not in left, row
        assert sorted(left.get("f:metadata", ())) == [f"f:{each}" for each in kept.split()], row
        assert of.tracked(found, "") == {"f:metadata": metadata, "f:spec": {"f:x": leaf}}, row
    for subresource in ("ephemeralcontainers", "resize"):
        assert of_kind("Pod").tracked(found, subresource) == found
    assert of_kind("Deployment", "apps/v1").tracked(found, "scale") == {
        "f:metadata": metadata, "f:spec": {"f:x": leaf},
    }  # fmt: skip
    plain = of_kind("ConfigMap")
    assert plain.tracked(found, "") == found


@pytest.mark.parametrize(
    ("subresource", "left"),
    [
        ("", {}),
        ("status", {"f:status": {"f:certificate": {}}}),
        ("approval", {"f:status": {"f:conditions": {}}}),
    ],
)
def test_what_a_write_of_a_certificate_request_owns(subresource, left) -> None:
    found: Document = {"f:spec": {}, "f:status": {"f:certificate": {}, "f:conditions": {}}}
    of = of_kind("CertificateSigningRequest", "certificates.k8s.io/v1")
    assert of.tracked(found, subresource) == left


@pytest.mark.parametrize(
    ("operation", "manager"), [("Apply", "m"), ("Update", "m"), ("Apply", "n"), ("Update", "n")]
)
def test_an_object_must_fit_the_versions_of_all_its_managers(operation, manager) -> None:
    """Whether a manager applied or updated, its fields are of a version that must hold them."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    one = custom_object_type("x.io/v1", "Widget", None)
    two = custom_object_type("x.io/v2", "Widget", schema)

    def convert(document: Document, api_version: str) -> Any:
        return ({**document, "apiVersion": api_version}, two) if api_version == "x.io/v2" else None

    entry = {
        "manager": "n", "operation": operation, "apiVersion": "x.io/v2", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:a": {}},
    }  # fmt: skip
    live: Document = {
        "apiVersion": "x.io/v1", "kind": "Widget", "a": "x", "b": "y",
        "metadata": {"name": "w", "managedFields": [entry]},
    }  # fmt: skip
    given = {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "c": "z"}
    with pytest.raises(PatchError) as found:
        applied(one, live, given, manager, now="2026-01-01T00:00:00Z", convert=convert)
    assert str(found.value) == ".b: field not declared in schema"
