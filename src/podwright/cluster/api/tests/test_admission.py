"""Admission completes pods."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document, KubernetesObject, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.stages.draft_admission import Admission
from podwright.cluster.store import ObjectStore
from podwright.testing import make_pod


def a_class(value: int) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "usual"},
            "value": value,
            "globalDefault": True,
        }
    )


def priority_of(admission: Admission, pod: Pod) -> int:
    admitted = admission.complete_recorded(pod)
    assert isinstance(admitted, Pod)
    return admitted.priority


def test_a_pod_gets_the_current_default_priority_at_each_creation():
    store = ObjectStore()
    storage, admission, pod = ResourceStorage(store), Admission(store), make_pod("web")
    given = [priority_of(admission, pod)]
    for value in (5, 7):
        if value == 5:
            storage.create(a_class(value), 0)
        else:
            storage.update(a_class(value))
        given += [priority_of(admission, pod), priority_of(admission, pod)]
    storage.delete(store.require(("scheduling.k8s.io", "PriorityClass"), "usual"), 0)
    assert [*given, priority_of(admission, pod)] == [0, 5, 5, 7, 7, 0]


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(None, id="no status"),
        pytest.param({"phase": None}, id="null"),
        pytest.param({"phase": "", "qosClass": "Guaranteed"}, id="an empty text"),
        pytest.param({"phase": None, "conditions": None}, id="nulls"),
        pytest.param({"conditions": [{"type": "PodScheduled", "status": "False"}]}, id="others"),
    ],
)
def test_a_pod_without_a_phase_is_pending_in_its_document_too(status: Document | None):
    pod = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
            "status": status,
        }
    )
    assert isinstance(pod, Pod)
    admitted = Admission(ObjectStore()).complete_recorded(pod)
    assert isinstance(admitted, Pod)
    assert (admitted.status.phase, admitted.raw["status"]["phase"]) == ("Pending", "Pending")
    assert admitted.status.conditions == pod.status.conditions
    assert admitted.raw["status"]["qosClass"] == (status or {}).get("qosClass", "BestEffort")


SERVED: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "uid": "u"},
    "spec": {
        "containers": [{"name": "main", "image": "app"}], "priority": 0,
        "schedulerName": "default-scheduler",
    },
    "status": {"phase": "Running", "qosClass": "BestEffort"},
}  # fmt: skip


@pytest.mark.parametrize(
    "missing",
    ["", "metadata.uid", "spec.priority", "spec.schedulerName", "status.phase", "status.qosClass"],
)
def test_a_pod_that_a_server_created_stays_as_it_is(missing):
    part, _, name = missing.partition(".")
    document: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", **SERVED}
    if part:
        document[part] = {key: value for key, value in document[part].items() if key != name}
    pod = decode(document)
    admitted = Admission(ObjectStore()).complete_recorded(pod)
    assert (admitted is pod) is not missing
    assert isinstance(admitted, Pod)
    assert admitted.raw["spec"]["schedulerName"] == "default-scheduler"
    assert admitted.raw["status"]["phase"] == ("Pending" if name == "phase" else "Running")


@pytest.mark.parametrize(
    ("kind", "finalizer"),
    [
        ("PersistentVolumeClaim", "kubernetes.io/pvc-protection"),
        ("PersistentVolume", "kubernetes.io/pv-protection"),
        ("ConfigMap", ""),
    ],
)
def test_recorded_volumes_are_protected(kind, finalizer):
    """Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go"""
    admission = Admission(ObjectStore())
    metadata = {"name": "x", "namespace": "default", "finalizers": ["own/f"]}
    if kind == "PersistentVolume":
        del metadata["namespace"]
    given = decode({"apiVersion": "v1", "kind": kind, "metadata": metadata})
    found = admission.complete_recorded(given)
    assert found.metadata.finalizers == ("own/f", finalizer)[: 1 + bool(finalizer)]
    assert admission.complete_recorded(found) is found, "once"


def test_a_new_object_of_a_dump_is_not_being_deleted():
    times = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    metadata = {"name": "web", "namespace": "default", **times}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": SERVED["spec"]}
    found = Admission(ObjectStore()).admit_new(decode(document))
    assert found.metadata.deletion_timestamp is None
    assert found.metadata.deletion_grace_period_seconds is None


@pytest.mark.parametrize(("namespace", "is_rejected"), [("ends", True), ("stays", False)])
def test_nothing_is_made_in_a_namespace_that_ends(namespace, is_rejected):
    store = ObjectStore()
    for name, times in (
        ("ends", {"deletionTimestamp": "2026-01-01T00:00:00Z"}), ("stays", {}),
    ):  # fmt: skip
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **times}}
        store.put(decode(document))
    metadata = {"name": "c", "namespace": namespace}
    given = decode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    if not is_rejected:
        assert Admission(store).admit_new(given).name == "c"
        return
    with pytest.raises(Rejection) as caught:
        Admission(store).admit_new(given)
    assert caught.value.message == (
        'configmaps "c" is forbidden: unable to create new content in namespace ends because it is'
        " being terminated"
    )


def test_quotas_are_counted_where_their_status_is_kept():
    store = ObjectStore()
    metadata = {"name": "q", "namespace": "default"}
    hard = {"hard": {"pods": "5"}}
    kind = {"apiVersion": "v1", "kind": "ResourceQuota"}
    store.put(
        decode(
            kind | {"metadata": metadata, "spec": hard, "status": hard | {"used": {"pods": "0"}}}
        )
    )
    kept = []
    admission = Admission(store, update_status=lambda quota, _now: kept.append(quota))
    admission.admit_new(make_pod("p"))
    assert [quota["status"]["used"] for quota in kept] == [{"pods": "1"}]
    without = Admission(store)
    with pytest.raises(AssertionError, match="no quota is counted, but"):
        without.admit_new(make_pod("p"))


def test_deletions_are_read_by_policies_only():
    store = ObjectStore()
    admission = Admission(store)
    metadata = {"name": "c", "namespace": "default"}
    store.put(decode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    kind = ("", "ConfigMap")
    assert admission.of_deletion(kind, "default/c", "alice", 7) is None
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": ["Deny"]},
    }  # fmt: skip
    store.put(decode(binding))
    found = admission.of_deletion(kind, "default/c", "alice", 7)
    assert found is not None
    assert (found.operation, found.name, found.namespace) == ("DELETE", "c", "default")
    assert (found.user.name, found.now_ns, found.object) == ("alice", 7, None)
    assert found.old is not None
    assert admission.of_deletion(kind, "default/none", "alice", 7) is None
    store.drop(("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"), "b")
    assert admission.of_deletion(kind, "default/c", "alice", 7) is None


def test_the_conditions_of_a_gated_pod_are_its_own_or_those_of_a_new_one():
    spec = {**SERVED["spec"], "schedulingGates": [{"name": "a.b/c"}]}
    own = {"type": "Own", "status": "True"}
    for status, conditions in (
        ({}, ["PodScheduled"]), ({"nominatedNodeName": "n"}, ["PodScheduled"]),
        ({"conditions": [own]}, ["Own"]),
    ):  # fmt: skip
        document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        admitted = Admission(ObjectStore()).complete_recorded(
            decode({**document, "status": status})
        )
        assert isinstance(admitted, Pod)
        assert [each.type for each in admitted.status.conditions] == conditions
        assert [each["type"] for each in admitted.raw["status"]["conditions"]] == conditions
        assert admitted.status.nominated_node_name == status.get("nominatedNodeName", "")
        assert (admitted.status.phase, admitted.raw["status"]["phase"]) == ("Pending", "Pending")
