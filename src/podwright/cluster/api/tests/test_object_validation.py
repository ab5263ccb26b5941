"""Requests with invalid objects are rejected as the API server rejects them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import InvalidObject, KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Api, ApplyObject, CreateObject, Invalid, PatchObject, UpdateObject
from podwright.cluster.api.object_edits import with_defaults
from podwright.cluster.api.object_validation import (
    check_objects,
    check_update,
    unknown_fields,
    update_problems,
)
from podwright.cluster.store import POD, ObjectStore

NOW_NS = 1_767_225_600_000_000_000
USER = "admin"


def pod(name: str = "web", **spec: Any) -> KubernetesObject:
    containers = [{"name": "main", "image": "app"}]
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": containers} | spec,
        }
    )


def api_with(*objects: KubernetesObject) -> Api:
    api = Api(ObjectStore(seed=7))
    for obj in objects:
        api.handle(ApplyObject(obj, "main", USER), USER, NOW_NS).raise_for_error()
    return api


def rejected(api: Api, request: Any) -> Invalid:
    version = api.store.resource_version
    error = api.handle(request, USER, NOW_NS).error
    assert isinstance(error, Invalid)
    assert api.store.resource_version == version
    return error


@pytest.mark.parametrize(
    "request_of",
    [
        pytest.param(lambda obj: CreateObject(obj, USER), id="create"),
        pytest.param(lambda obj: ApplyObject(obj, "main", USER), id="apply"),
    ],
)
def test_an_invalid_object_is_answered_with_a_status(request_of: Any) -> None:
    error = rejected(Api(ObjectStore(seed=7)), request_of(pod("Web", containers=[])))
    status = error.status
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == str(error)
    assert str(error).startswith('Pod "Web" is invalid: [metadata.name: Invalid value: "Web": a')
    assert str(error).endswith(", spec.containers: Required value]")
    assert status["details"]["name"] == "Web"
    assert status["details"]["kind"] == "Pod"
    assert [(each["reason"], each["field"]) for each in status["details"]["causes"]] == [
        ("FieldValueInvalid", "metadata.name"),
        ("FieldValueRequired", "spec.containers"),
    ]


def test_a_grouped_kind_is_named_with_its_group() -> None:
    deployment = decode(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "other"}},
                    "spec": {"containers": [{"name": "main", "image": "app"}]},
                },
            },
        }
    )
    error = rejected(Api(ObjectStore(seed=7)), CreateObject(deployment, USER))
    assert str(error) == (
        'Deployment.apps "web" is invalid: spec.template.metadata.labels: Invalid value:'
        ' {"app":"other"}: `selector` does not match template `labels`'
    )


def test_a_value_of_a_wrong_type_is_an_error() -> None:
    deployment = decode(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": "3"},
        }
    )
    error = rejected(Api(ObjectStore(seed=7)), CreateObject(deployment, USER))
    assert [each.path for each in error.errors] == ["spec.replicas"]


def test_the_spec_of_a_pod_is_immutable() -> None:
    api = api_with(pod())
    patch = {"spec": {"nodeSelector": {"a": "b"}}}
    error = rejected(api, PatchObject(POD, "default/web", patch, USER))
    (only,) = error.errors
    assert only.path == "spec"
    assert only.message.startswith("Forbidden: pod updates may not change fields other than ")


def test_an_update_without_defaults_is_completed() -> None:
    api = api_with(pod())
    api.handle(UpdateObject(pod(), "main", USER), USER, NOW_NS).raise_for_error()
    stored = api.store.require(POD, "default/web")
    assert len(stored.raw["spec"]["tolerations"]) == 2


def test_defaults_that_the_stored_object_lacks_are_not_a_change() -> None:
    """A Job of a server before 1.21 has no completionMode, which is immutable."""

    def job(**spec: Any) -> KubernetesObject:
        container = {"name": "main", "image": "app"}
        labels = {"a": "b"}
        pod_spec = {"restartPolicy": "Never", "containers": [container]}
        template = {"metadata": {"labels": labels}, "spec": pod_spec}
        metadata = {"name": "a", "namespace": "default", "uid": "u"}
        given = {"template": template, "selector": {"matchLabels": labels}, **spec}
        return decode(
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": given}
        )

    check_update(with_defaults(job()), job())
    with pytest.raises(Invalid) as caught:
        check_update(with_defaults(job(completionMode="Indexed", completions=1)), job())
    assert "spec.completionMode" in {error.path for error in caught.value.errors}


def test_errors_of_the_stored_object_do_not_prevent_other_changes() -> None:
    recorded = decode(pod("old", dnsPolicy="Sometimes").raw | {"status": {}})
    api = Api(ObjectStore(seed=7))
    uid = {"metadata": {"name": "old", "namespace": "default", "uid": "u"}}
    recorded = decode(recorded.raw | uid)
    api.handle(ApplyObject(recorded, "whole", USER), USER, NOW_NS).raise_for_error()
    for patch in ({"metadata": {"labels": {"a": "b"}}}, {"spec": {"activeDeadlineSeconds": 5}}):
        api.handle(PatchObject(POD, "default/old", patch, USER), USER, NOW_NS).raise_for_error()
    rejected(api, PatchObject(POD, "default/old", {"metadata": {"labels": {"a": "-"}}}, USER))


def test_a_stored_value_of_a_wrong_type_does_not_prevent_other_changes() -> None:
    """Objects with a uid are those of a server, and are stored as they are."""

    def config_map(**data: Any) -> KubernetesObject:
        metadata = {"name": "a", "namespace": "default", "uid": "u"}
        return decode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    check_update(config_map(a=1, b="c"), config_map(a=1))
    with pytest.raises(Invalid, match=r"data\[b\]"):
        check_update(config_map(a=1, b=2), config_map(a=1))


def test_pods_of_one_template_are_validated_once_and_with_their_own_names() -> None:
    api = api_with(pod())
    spec = api.store.require(POD, "default/web").raw["spec"]
    sibling = {"apiVersion": "v1", "kind": "Pod", "spec": spec}
    for name, is_valid in (("a", True), ("B", False), ("c", True)):
        obj = decode(sibling | {"metadata": {"name": name, "namespace": "default"}})
        error = api.handle(CreateObject(obj, USER), USER, NOW_NS).error
        assert (error is None) == is_valid


def test_objects_are_checked_before_any_is_written() -> None:
    with pytest.raises(InvalidObject) as caught:
        check_objects([pod(), pod("B"), pod("c", containers=[])])
    assert [each.source for each in caught.value.errors] == ["Pod default/B", "Pod default/c"]


def with_field(name: str, **metadata: str) -> KubernetesObject:
    document = pod(name).raw
    return decode(document | {"metadata": document["metadata"] | metadata, "nosuch": 1})


def test_unknown_fields_of_new_objects_are_reported_with_the_other_errors() -> None:
    own = decode({"apiVersion": "example.com/v1", "kind": "Widget", "nosuch": 1,
                  "metadata": {"name": "w"}})  # fmt: skip
    objects = [
        with_field("a"),
        with_field("b", uid="u", resourceVersion="1"),
        with_field("c", uid="u"),
        with_field("d", resourceVersion="1"),
        own,
        pod("e", containers=[]),
    ]
    assert [(each.source, each.path) for each in unknown_fields(objects)] == [
        ("Pod default/a", "nosuch"), ("Pod default/c", "nosuch"), ("Pod default/d", "nosuch"),
    ]  # fmt: skip
    with pytest.raises(InvalidObject) as caught:
        check_objects([pod("B"), with_field("a")], allows_unknown_fields=False)
    assert [(each.source, each.path) for each in caught.value.errors] == [
        ("Pod default/a", "nosuch"), ("Pod default/B", "metadata.name"),
    ]  # fmt: skip
    check_objects([with_field("a"), decode(pod("B").raw | {"metadata": {"name": "B", "uid": "u"}})])


def test_the_problems_of_a_change_are_those_that_the_stored_object_does_not_have() -> None:
    old = pod("old", dnsPolicy="Sometimes", restartPolicy="Always")
    assert update_problems(old, old) == []
    changed = pod("old", dnsPolicy="Sometimes", restartPolicy="Never")
    assert [path for path, _, _ in update_problems(changed, old)] == ["spec"]
    own = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert update_problems(decode(own | {"spec": {"a": 1}}), decode(own)) == []


def test_custom_objects_have_no_rules() -> None:
    stage = decode(
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "Any Name", "namespace": "default"},
        }
    )
    api = Api(ObjectStore(seed=7))
    api.handle(CreateObject(stage, USER), USER, NOW_NS).raise_for_error()


def test_a_node_with_a_capacity_only_can_be_allocated() -> None:
    node = decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1"},
            "status": {"capacity": {"cpu": "4", "pods": "110"}},
        }
    )
    api = api_with(node)
    stored = api.store.require(("", "Node"), "n1")
    assert stored.raw["status"]["allocatable"] == {"cpu": "4", "pods": "110"}
