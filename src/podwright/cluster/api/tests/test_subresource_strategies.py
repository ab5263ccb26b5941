"""How subresources of single kinds are prepared for a write, and what is checked there."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.strategies.preparation import (
    prepared_for_update,
    update_problems,
)
from podwright.cluster.api.tests.prepared import EARLIER, NOW, NOW_NS, resource, update
from podwright.cluster.api.versions.resources import built_in_resource


def device(name: str, *, driver: str = "d", **more: str) -> Document:
    return {"driver": driver, "pool": "p", "device": name} | more


@pytest.mark.parametrize(
    ("kind", "new", "old", "stored"),
    [
        # Older kinds take the sent metadata, newer ones keep their own.
        (
            "/ReplicationController",
            {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}, "status": {"r": 1}},
            {"metadata": {"labels": {}}, "spec": {"y": 1}, "status": {"r": 0}},
            {"metadata": {"labels": {"a": "b"}}, "spec": {"y": 1}, "status": {"r": 1}},
        ),
        (
            "apps/Deployment",
            {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "status": {"r": 1}},
            {"metadata": {"labels": {"e": "f"}}, "spec": {"y": 1}},
            {
                "metadata": {"labels": {"e": "f"}, "annotations": {"c": "d"}},
                "spec": {"y": 1},
                "status": {"r": 1},
            },
        ),
        ("apps/Deployment", {"metadata": {}}, {"metadata": {"labels": {"e": "f"}}, "status": {}},
         {"metadata": {"labels": {"e": "f"}}}),
        (
            "/Node",
            {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1},
             "status": {"config": {}, "phase": "p"}},
            {"metadata": {}, "spec": {"y": 1}, "status": {"images": []}},
            {"metadata": {"labels": {"a": "b"}}, "spec": {"y": 1}, "status": {"phase": "p"}},
        ),
        (
            "/Node",
            {"metadata": {}, "status": {"config": {"a": 1}}},
            {"metadata": {}, "status": {"config": {}}},
            {"metadata": {}, "status": {"config": {"a": 1}}},
        ),
        (
            "/Pod",
            {"metadata": {"labels": {"a": "b"}, "ownerReferences": [1], "deletionTimestamp": "t"},
             "status": {"phase": "Running", "nodeAllocatableResourceClaimStatuses": [1]}},
            {"metadata": {"deletionTimestamp": "u"}, "spec": {"y": 1},
             "status": {"qosClass": "Burstable"}},
            {"metadata": {"labels": {"a": "b"}, "deletionTimestamp": "u"}, "spec": {"y": 1},
             "status": {"phase": "Running", "qosClass": "Burstable"}},
        ),
        (
            "/Pod",
            {"metadata": {}, "status": {"qosClass": "BestEffort",
                                        "nodeAllocatableResourceClaimStatuses": [1]}},
            {"metadata": {"ownerReferences": [2]},
             "status": {"qosClass": "Burstable", "nodeAllocatableResourceClaimStatuses": [2]}},
            {"metadata": {"ownerReferences": [2]},
             "status": {"qosClass": "BestEffort", "nodeAllocatableResourceClaimStatuses": [1]}},
        ),
        # Observed generations that a client leaves out are kept, by the type of the condition.
        (
            "/Pod",
            {"metadata": {}, "status": {"phase": "Running", "observedGeneration": 0, "conditions": [
                {"type": "A", "status": "True"}, {"type": "B", "status": "True"},
                {"type": "A", "status": "False"}, {"type": "A", "status": "Unknown"},
                {"type": "C", "observedGeneration": 9}, {"type": "D", "status": "True"}]}},
            {"status": {"observedGeneration": 3, "conditions": [
                {"type": "A", "observedGeneration": 1}, {"type": "A", "observedGeneration": 2},
                {"type": "C", "observedGeneration": 3}, {"type": "D"}]}},
            {"metadata": {}, "status": {"observedGeneration": 3, "phase": "Running", "conditions": [
                {"type": "A", "observedGeneration": 1, "status": "True"},
                {"type": "B", "status": "True"},
                {"type": "A", "observedGeneration": 2, "status": "False"},
                {"type": "A", "status": "Unknown"},
                {"type": "C", "observedGeneration": 9}, {"type": "D", "status": "True"}]}},
        ),
        (
            "/Pod",
            {"metadata": {}, "status": {"observedGeneration": 4, "conditions": [{"type": "A"}]}},
            {"status": {"observedGeneration": 3}},
            {"metadata": {}, "status": {"observedGeneration": 4, "conditions": [{"type": "A"}]}},
        ),
        # What drivers say about devices goes with the devices.
        (
            "resource.k8s.io/ResourceClaim",
            {"status": {"allocation": {"devices": {"results": [device("kept")]}}, "devices": [
                device("kept"), device("lost"), device("shared", shareID="1"),
                device("shared", shareID="2"), device("other", driver="e"), device("unknown")]}},
            {"status": {"allocation": {"devices": {"results": [
                device("kept"), device("lost"), device("shared", shareID="1"),
                device("other")]}}}},
            {"metadata": {}, "status": {
                "allocation": {"devices": {"results": [device("kept")]}},
                "devices": [device("kept"), device("shared", shareID="2"),
                            device("other", driver="e"), device("unknown")]}},
        ),
        (
            "resource.k8s.io/ResourceClaim",
            {"status": {"devices": [device("lost")], "reservedFor": [1]}},
            {"status": {"allocation": {"devices": {"results": [device("lost")]}}}},
            {"metadata": {}, "status": {"reservedFor": [1]}},
        ),
        (
            "resource.k8s.io/ResourceClaim", {"status": {"devices": [device("a")]}}, {},
            {"metadata": {}, "status": {"devices": [device("a")]}},
        ),
        (
            "/PersistentVolume",
            {"metadata": {}, "status": {"phase": "Bound"}},
            {"spec": {}, "status": {"phase": "Pending", "lastPhaseTransitionTime": EARLIER}},
            {"metadata": {}, "spec": {},
             "status": {"phase": "Bound", "lastPhaseTransitionTime": NOW}},
        ),
        (
            "/PersistentVolume",
            {"metadata": {}, "status": {"phase": "Bound", "lastPhaseTransitionTime": EARLIER}},
            {"status": {"phase": "Pending", "lastPhaseTransitionTime": EARLIER}},
            {"metadata": {}, "status": {"phase": "Bound", "lastPhaseTransitionTime": NOW}},
        ),
        (
            "/PersistentVolume",
            {"metadata": {}, "status": {"phase": "Bound", "lastPhaseTransitionTime": "own"}},
            {"status": {"phase": "Pending", "lastPhaseTransitionTime": EARLIER}},
            {"metadata": {}, "status": {"phase": "Bound", "lastPhaseTransitionTime": "own"}},
        ),
        (
            "/PersistentVolume",
            {"metadata": {}, "status": {"phase": "Bound"}},
            {"status": {"phase": "Bound", "lastPhaseTransitionTime": EARLIER}},
            {"metadata": {}, "status": {"phase": "Bound", "lastPhaseTransitionTime": EARLIER}},
        ),
        (
            "/PersistentVolume",
            {"metadata": {}, "status": {"phase": "Bound"}},
            {"status": {"phase": "Bound"}},
            {"metadata": {}, "status": {"phase": "Bound"}},
        ),
        # The generation of a DaemonSet's template is a field of the internal spec.
        (
            "apps/DaemonSet",
            {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "9"}}},
            {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "3"}}},
            {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "3"}}},
        ),
        # A Job without labels has those of its template when it is read.
        (
            "batch/Job",
            {"metadata": {}, "status": {"active": 1}},
            {"metadata": {"labels": {"a": "b"}},
             "spec": {"template": {"metadata": {"labels": {"c": "d"}}}}},
            {"metadata": {"labels": {"c": "d"}}, "status": {"active": 1},
             "spec": {"template": {"metadata": {"labels": {"c": "d"}}}}},
        ),
        (
            "apiextensions.k8s.io/CustomResourceDefinition",
            {"metadata": {"a": 1}, "spec": {"x": 1}, "status": {"s": 1}},
            {"metadata": {}, "spec": {"y": 1}, "status": {}},
            {"metadata": {"a": 1}, "spec": {"y": 1}, "status": {"s": 1}},
        ),
        # The spec of a definition is not a pointer in Go: one recorded without it has an empty one.
        (
            "apiextensions.k8s.io/CustomResourceDefinition",
            {"metadata": {}, "spec": {"x": 1}, "status": {"s": 1}},
            {"metadata": {}},
            {"metadata": {}, "spec": {}, "status": {"s": 1}},
        ),
    ],
)  # fmt: skip
def test_a_changed_status_as_it_is_stored(kind, new, old, stored):
    group, _, name = kind.rpartition("/")
    assert update(name, new, old, group, "status") == stored


def test_a_status_of_a_newer_kind_keeps_its_metadata():
    kinds = [each for each in built_in() if each.row.status_keeps_metadata and each.row.resource]
    assert kinds
    stored = {name: f"old {name}" for name in ("labels", "finalizers", "ownerReferences")}
    sent = {name: f"new {name}" for name in ("labels", "annotations", "generation", "uid")}
    new, old = {"metadata": sent, "status": {"a": 1}}, {"metadata": stored, "spec": {"b": 1}}
    found = prepared_for_update(built_in_resource(kinds[0]), new, old, NOW_NS, "status")
    assert found == {
        "metadata": stored | {"uid": "new uid"}, "spec": {"b": 1}, "status": {"a": 1},
    }  # fmt: skip
    names = {each.row.kind for each in kinds}
    assert {
        "APIService", "DeviceTaintRule", "ResourcePoolStatusRequest", "StorageVersion",
    } <= names  # fmt: skip


def test_a_status_of_flow_control_changes_no_metadata():
    new: Document = {"metadata": {"generateName": "a", "managedFields": [2]}, "status": {"a": 1}}
    old = {"metadata": {"name": "n", "managedFields": [1]}, "spec": {"b": 1}}
    group = "flowcontrol.apiserver.k8s.io"
    assert update("FlowSchema", new, old, group, "status") == {
        "metadata": {"name": "n", "managedFields": [2]}, "spec": {"b": 1}, "status": {"a": 1},
    }  # fmt: skip


def test_parts_of_pods_take_only_their_fields():
    old: Document = {
        "metadata": {"name": "p", "labels": {"a": "b"}, "managedFields": [1], "generation": 1},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"x": 1}}], "y": 1},
        "status": {"phase": "Running"},
    }
    new = {
        "metadata": {"name": "p", "labels": {}, "managedFields": [2]},
        "spec": {
            "containers": [
                {"name": "c", "image": "other", "resources": {"x": 2}, "resizePolicy": [3]}
            ],
            "ephemeralContainers": [{"name": "e"}],
            "resources": {"z": 1},
        },
        "status": {},
    }
    metadata = {"name": "p", "labels": {"a": "b"}, "managedFields": [2], "generation": 2}
    ephemeral = update("Pod", new, old, subresource="ephemeralcontainers")
    assert ephemeral == {
        "metadata": metadata,
        "spec": old["spec"] | {"ephemeralContainers": [{"name": "e"}]},
        "status": {"phase": "Running"},
    }
    resized = update("Pod", new, old, subresource="resize")
    assert resized == {
        "metadata": metadata,
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"x": 2}, "resizePolicy": [3]}],
            "y": 1,
            "resources": {"z": 1},
        },
        "status": {"phase": "Running"},
    }
    bare = {"metadata": {"name": "p", "generation": 1}}
    assert update("Pod", new, bare, subresource="ephemeralcontainers")["spec"] == {
        "ephemeralContainers": [{"name": "e"}]
    }
    # Others than those that are there are errors, which validation reports.
    for containers in ([], [{"name": "d"}]):
        wrong = new | {"spec": {"containers": containers}}
        found = update("Pod", wrong, old, subresource="resize")
        assert found["spec"]["containers"] == containers


def test_finalizing_a_namespace_changes_its_finalizers():
    new = {"metadata": {}, "spec": {"finalizers": []}, "status": {"x": 1}}
    old = {"metadata": {}, "spec": {"finalizers": ["kubernetes"]}, "status": {"y": 1}}
    found = update("Namespace", new, old, subresource="finalize")
    assert found == {"metadata": {}, "spec": {"finalizers": []}, "status": {"y": 1}}


APPROVED = {"type": "Approved", "status": "True", "reason": "r"}
DENIED = {"type": "Denied", "status": "True"}
FAILED = {"type": "Failed", "status": "True"}


def with_times(condition: Document, updated: str = NOW, changed: str = NOW) -> Document:
    return condition | {"lastUpdateTime": updated, "lastTransitionTime": changed}


@pytest.mark.parametrize(
    ("subresource", "new", "old", "conditions"),
    [
        ("approval", [APPROVED], [], [with_times(APPROVED)]),
        ("approval", [], [APPROVED], None),
        (
            "approval",
            [APPROVED, DENIED],
            [with_times(APPROVED, EARLIER, EARLIER)],
            [with_times(APPROVED, NOW, EARLIER), with_times(DENIED)],
        ),
        # Of another status, the time is that of the change.
        (
            "approval",
            [APPROVED | {"status": "False"}],
            [with_times(APPROVED, EARLIER, EARLIER)],
            [with_times(APPROVED | {"status": "False"})],
        ),
        # The status of a request does not approve it.
        (
            "status",
            [APPROVED | {"reason": "other"}, FAILED],
            [with_times(APPROVED, EARLIER, EARLIER)],
            [with_times(APPROVED, EARLIER, EARLIER), with_times(FAILED)],
        ),
        ("status", [APPROVED], [], [with_times(APPROVED)]),
        ("status", [], [], None),
    ],
)
def test_who_sets_the_conditions_of_a_certificate_request(subresource, new, old, conditions):
    def request(listed: list[Document], **parts: Any) -> Document:
        return {"metadata": {}, "status": {"conditions": listed, **parts}}

    stored = request(old, certificate="old") | {"spec": {"y": 1}}
    sent = request(new, certificate="new") | {"spec": {"x": 1}}
    found = update("CertificateSigningRequest", sent, stored, "certificates.k8s.io", subresource)
    assert found["spec"] == {"y": 1}
    assert (found["status"].get("conditions") or None) == conditions
    certificate = "new" if subresource == "status" else "old"
    assert found["status"]["certificate"] == certificate


# ------------------------------------------------------------------------------ validation


def test_finalizers_of_a_namespace_are_qualified_names():
    metadata = {"name": "n", "uid": "u", "resourceVersion": "1"}
    old = {"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}}
    new = {"metadata": metadata, "spec": {"finalizers": ["kubernetes", "own", "a.b/c"]}}
    found = update_problems(resource("Namespace"), new, old, "finalize")
    assert {path for path, _, _ in found} == {"spec.finalizers[1]"}
    assert update_problems(resource("Namespace"), old, old, "finalize") == []


def test_an_approval_keeps_the_conditions_that_decide():
    metadata = {"name": "r", "uid": "u", "resourceVersion": "1"}
    pem = b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\n").decode()
    spec = {"signerName": "a.io/b", "usages": ["client auth"], "request": pem}

    def problems(new: list[Document], old: list[Document], subresource: str) -> list[str]:
        kind = resource("CertificateSigningRequest", "certificates.k8s.io")
        after, before = (
            {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}
            for conditions in (new, old)
        )
        return [path for path, _, _ in update_problems(kind, after, before, subresource)]

    assert problems([with_times(APPROVED)], [], "approval") == []
    assert problems([], [with_times(APPROVED)], "approval") == ["status.conditions"]


@pytest.mark.parametrize(
    ("sent", "stored", "expected"),
    [
        ([{"name": "c", "resources": {"x": 2}}], [{"name": "c", "image": "i"}],
         [{"name": "c", "image": "i", "resources": {"x": 2}}]),
        # What is not sent is removed.
        ([{"name": "c"}], [{"name": "c", "image": "i", "resources": {"x": 1}}],
         [{"name": "c", "image": "i"}]),
        ([{"name": "d", "resources": {"x": 2}}, {"name": "c", "resources": {"x": 3}}],
         [{"name": "c"}, {"name": "d"}],
         [{"name": "d", "resources": {"x": 2}}, {"name": "c", "resources": {"x": 3}}]),
        ([], [], []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_a_resize_takes_the_resources_of_each_container(field, sent, stored, expected):
    metadata = {"name": "p", "generation": 1}
    old = {"metadata": metadata, "spec": {field: stored}}
    found = update("Pod", {"metadata": metadata, "spec": {field: sent}}, old, subresource="resize")
    assert (found["spec"].get(field) or []) == expected
