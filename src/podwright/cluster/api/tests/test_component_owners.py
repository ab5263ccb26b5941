"""Who owns the fields that components write: the managers, and whole entries of each scope."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.apimachinery.patching import PatchError
from podwright.apimachinery.schema import decode
from podwright.cluster.api.field_management import (
    ComponentOwners,
    FieldManagement,
    manager_of_user,
)
from podwright.cluster.api.versions.resources import Resources

NOW_NS, NOW, EARLIER = 1_767_225_600 * 1_000_000_000, "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"
RESOURCES = Resources()


@pytest.mark.parametrize(
    ("user", "manager"),
    [
        ("system:kube-scheduler", "kube-scheduler"),
        ("kubelet", "kubelet"),
        ("kubernetes-admin", "podwright"),
        ("drain", "kubectl"),
        ("csi-attacher", "csi-attacher"),
        ("system:apiserver", "kube-apiserver"),
        ("clusterrole-aggregation-controller", "clusterrole-aggregation-controller"),
        ("validatingadmissionpolicy-status-controller", "validatingadmissionpolicy-status"),
        ("kwok:pod-ready", "kubelet"),
        ("kwok", "kube-controller-manager"),
        ("replicaset-controller", "kube-controller-manager"),
        ("", "kube-controller-manager"),
    ],
)
def test_the_manager_of_a_component(user: str, manager: str) -> None:
    assert manager_of_user(user) == manager


def entry(fields: Document, manager: str = "m", subresource: str = "", **more: Any) -> Document:
    part = {"subresource": subresource} if subresource else {}
    return {
        "manager": manager, "operation": "Update", "apiVersion": "v1", "time": NOW,
        "fieldsType": "FieldsV1", "fieldsV1": fields, **part, **more,
    }  # fmt: skip


def node(owned: list[Document] | None = None, **parts: Any) -> KubernetesObject:
    metadata: Document = {"name": "n"} | ({} if owned is None else {"managedFields": owned})
    metadata |= parts.pop("metadata", {})
    return decode({"apiVersion": "v1", "kind": "Node", "metadata": metadata} | parts)


def owners() -> ComponentOwners:
    return ComponentOwners(RESOURCES, FieldManagement(RESOURCES))


UNSCHEDULABLE: Document = {"f:spec": {"f:unschedulable": {}}}
PHASE: Document = {"f:status": {"f:phase": {}}}
FIRST = entry({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}, "kubelet", time=EARLIER)


def test_the_entries_of_a_new_object() -> None:
    made = owners().created(node(spec={"unschedulable": True}), "kubelet", NOW_NS)
    assert made == [entry(UNSCHEDULABLE, "kubelet")]
    deployment = decode(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
         "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}}
    )  # fmt: skip
    (one,) = owners().created(deployment, "x", NOW_NS) or [{}]
    assert (one["manager"], one["apiVersion"]) == ("kube-controller-manager", "apps/v1")
    # The defaults that a request would have are owned, too.
    assert "f:progressDeadlineSeconds" in one["fieldsV1"]["f:spec"]
    unknown = decode({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"name": "x"}})
    assert owners().created(unknown, "x", NOW_NS) is None


LABELS = {"labels": {"a": "1"}}


@pytest.mark.parametrize(
    ("scope", "new", "entries"),
    [
        ("main", {}, [FIRST]),
        ("main", {"spec": {"unschedulable": True}}, [FIRST, entry(UNSCHEDULABLE, "kubelet")]),
        ("status", {"status": {"phase": "x"}}, [FIRST, entry(PHASE, "kubelet", "status")]),
        ("whole", {"spec": {"unschedulable": True}}, [FIRST, entry(UNSCHEDULABLE, "kubelet")]),
        ("whole", {"status": {"phase": "x"}}, [FIRST, entry(PHASE, "kubelet", "status")]),
        (
            "whole", {"spec": {"unschedulable": True}, "status": {"phase": "x"}},
            [FIRST, entry(UNSCHEDULABLE, "kubelet"), entry(PHASE, "kubelet", "status")],
        ),
    ],
)  # fmt: skip
def test_the_entries_of_a_changed_object(scope: Any, new: Document, entries: Any) -> None:
    labeled = entry({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}, "owner", time=EARLIER)
    old = node([labeled], metadata=LABELS)
    after = node([labeled], metadata=LABELS, **new)
    found = owners().updated(old, after, scope, "kubelet", NOW_NS)
    assert found is not None
    expected = [each | ({"manager": "owner"} if each is FIRST else {}) for each in entries]

    def by_place(each: Document) -> tuple[str, str]:
        return each["manager"], each.get("subresource", "")

    assert sorted(found, key=by_place) == sorted(expected, key=by_place)
    assert owners().of_update(scope, "kubelet", NOW_NS)(old, after) == found


def test_objects_that_no_manager_has_written_have_no_entries() -> None:
    old, new = node(), node(spec={"unschedulable": True})
    assert owners().updated(old, new, "main", "kubelet", NOW_NS) is None
    assert owners().updated(node([]), new, "main", "kubelet", NOW_NS) == []
    entries = [entry({})]
    unknown = decode(
        {"apiVersion": "x.example.com/v1", "kind": "X",
         "metadata": {"name": "x", "managedFields": entries}}
    )  # fmt: skip
    assert owners().updated(unknown, unknown, "main", "kubelet", NOW_NS) == entries


def test_controllers_that_apply_own_by_applying() -> None:
    labeled = entry({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}, "owner", time=EARLIER)
    role: Document = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "r", "labels": {"a": "1"}, "managedFields": [
            labeled | {"apiVersion": "rbac.authorization.k8s.io/v1"},
        ]},
    }  # fmt: skip
    rules = {"rules": [{"verbs": ["get"]}]}
    for user, operation in (
        ("clusterrole-aggregation-controller", "Apply"), ("other", "Update"),
    ):  # fmt: skip
        found = owners().updated(decode(role), decode(role | rules), "main", user, NOW_NS) or []
        added = [each for each in found if each["manager"] == manager_of_user(user)]
        assert [each["operation"] for each in added] == [operation]


def test_a_server_without_managed_fields() -> None:
    off = FieldManagement(RESOURCES, is_on=False)
    resource = RESOURCES.find("", "v1", "configmaps")
    assert resource is not None
    new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}
    written = off.updated(resource, None, new, manager="m", subresource="", now_ns=NOW_NS)
    assert written is new
    old = new | {"metadata": {"name": "a", "managedFields": [entry({}, time=EARLIER)]}}
    later = new | {"metadata": {"name": "a", "managedFields": [entry({})]}}
    assert off.settled(old, later) is later
    on = FieldManagement(RESOURCES)
    assert on.settled(old, later)["metadata"] == old["metadata"]
    made = on.updated(resource, None, new, manager="m", subresource="s", now_ns=NOW_NS)
    assert made["metadata"]["managedFields"] == [
        entry({"f:data": {".": {}, "f:a": {}}}, subresource="s")
    ]


def test_an_applied_configuration_conflicts_unless_it_is_forced() -> None:
    fields = FieldManagement(RESOURCES)
    resource = RESOURCES.find("", "v1", "configmaps")
    assert resource is not None
    live = {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "managedFields": [entry({"f:data": {"f:a": {}}}, "other")]},
        "data": {"a": "1"},
    }  # fmt: skip
    sent = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "2"},
    }  # fmt: skip

    def apply(*, force: bool) -> Document:
        return fields.applied(
            resource, live, sent, manager="m", force=force, subresource="s", now_ns=NOW_NS
        )

    with pytest.raises(PatchError, match="conflict with"):
        apply(force=False)
    made = apply(force=True)
    assert made["data"] == {"a": "2"}
    (one,) = [each for each in made["metadata"]["managedFields"] if each["operation"] == "Apply"]
    assert one == {
        "manager": "m", "operation": "Apply", "apiVersion": "v1", "time": NOW,
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}, "subresource": "s",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "is_kept"),
    [
        ("autoscaling/v2", True), ("autoscaling/v1", True),
        ("autoscaling/v2beta2", False), ("apps/v1", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("changed", ["minReplicas", "maxReplicas"])
def test_owners_in_a_version_that_is_not_served_are_dropped(
    version: str, is_kept: bool, changed: str
) -> None:
    resource = RESOURCES.find("autoscaling", "v2", "horizontalpodautoscalers")
    assert resource is not None
    fields: Document = {"f:spec": {"f:minReplicas": {}, "f:maxReplicas": {}}}
    live: Document = {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a", "managedFields": [entry(fields, "other", apiVersion=version)]},
        "spec": {"minReplicas": 1, "maxReplicas": 2},
    }  # fmt: skip
    new = live | {"spec": live["spec"] | {changed: 5}}
    made = FieldManagement(RESOURCES).updated(
        resource, live, new, manager="m", subresource="", now_ns=NOW_NS
    )
    owned = {
        each["manager"]: set(each["fieldsV1"]["f:spec"])
        for each in made["metadata"]["managedFields"]
    }
    of_other = {"f:minReplicas", "f:maxReplicas"} - {f"f:{changed}"}
    assert owned == {"m": {f"f:{changed}"}} | ({"other": of_other} if is_kept else {})
