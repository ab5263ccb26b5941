from typing import Any

import pytest

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.sync.object_copy import (
    claims_of,
    created_copy,
    is_made_for_pod,
    is_of_extended_resources,
    owned,
    pod_of,
    stored_copy,
)
from podwright.online.sync.source_kinds import source_kinds

KINDS = {kind.resource: kind for kind in source_kinds()}
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"


def pod():
    return {
        "metadata": {
            "name": "web-1", "namespace": "a", "uid": "u1", "resourceVersion": "7",
            "generation": 2, "managedFields": [{}], "labels": {"app": "web"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web"}],
            "finalizers": ["batch.kubernetes.io/job-tracking"],
        },
        "spec": {
            "nodeName": "n1", "serviceAccountName": "sa", "serviceAccount": "sa", "priority": 7,
            "volumes": [
                {
                    "name": "kube-api-access-x",
                    "projected": {"sources": [{"serviceAccountToken": {}}]},
                },
                {"name": "data", "emptyDir": {}},
            ],
            "containers": [
                {"name": "c", "volumeMounts": [
                    {"name": "kube-api-access-x", "mountPath": TOKEN},
                    {"name": "data", "mountPath": "/data"},
                ]},
                {"name": "d", "volumeMounts": [
                    {"name": "kube-api-access-x", "mountPath": TOKEN}]},
                {"name": "e", "volumeMounts": [{"name": "data", "mountPath": TOKEN}]},
            ],
        },
        "status": {"phase": "Running"},
    }  # fmt: skip


def test_a_pod_is_created_without_owner_account_and_identity():
    before = pod()
    copy = created_copy(KINDS["pods"], before)
    assert before == pod()
    assert copy["kind"] == "Pod"
    assert copy["metadata"] == {
        "name": "web-1", "namespace": "a", "labels": {"app": "web"},
        "annotations": {SOURCE_UID: "u1"},
    }  # fmt: skip
    assert copy["spec"] == {
        "nodeName": "n1",
        "priority": 7,
        "volumes": [{"name": "data", "emptyDir": {}}],
        "containers": [
            {"name": "c", "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
            {"name": "d"},
            {"name": "e", "volumeMounts": [{"name": "data", "mountPath": TOKEN}]},
        ],
    }
    assert copy["status"] == {"phase": "Running"}


def test_a_file_keeps_the_identity():
    metadata = stored_copy(KINDS["pods"], pod())["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == ("u1", "7")
    assert not {"managedFields", "ownerReferences", "finalizers"} & metadata.keys()


def test_a_volume_that_only_has_such_a_name_is_kept():
    obj = pod()
    obj["spec"]["volumes"][0] = {"name": "kube-api-access-x", "emptyDir": {}}
    assert len(created_copy(KINDS["pods"], obj)["spec"]["volumes"]) == 2
    token = {"projected": {"sources": [{"serviceAccountToken": {"audience": "vault"}}]}}
    obj["spec"]["volumes"][0] = {"name": "own-token", **token}
    assert len(created_copy(KINDS["pods"], obj)["spec"]["volumes"]) == 2


def test_owners_are_dropped_since_a_destination_would_collect_their_dependents():
    node = {"metadata": {"name": "n", "uid": "u", "ownerReferences": [{"name": "m"}]}}
    for kind in ("nodes", "csinodes", "resourceslices"):
        assert "ownerReferences" not in created_copy(KINDS[kind], node)["metadata"]
    assert stored_copy(KINDS["nodes"], node)["metadata"]["ownerReferences"] == [{"name": "m"}]


def test_containers_for_debugging_are_not_created_with_a_pod():
    obj = pod()
    obj["spec"]["ephemeralContainers"] = [{"name": "debugger"}]
    assert "ephemeralContainers" not in created_copy(KINDS["pods"], obj)["spec"]


def test_the_simulated_driver_of_devices_recognizes_copied_nodes():
    node = {"metadata": {"name": "n", "uid": "u"}, "status": {}}
    assert SOURCE_UID in created_copy(KINDS["nodes"], node)["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, False),
        ({}, False),
        ({"resource.kubernetes.io/extended-resource-claim": "true"}, True),
        ({"resource.kubernetes.io/extended-resource-claim": "false"}, False),
    ],
)
def test_a_claim_of_extended_resources_is_known_by_its_annotation(annotations, expected):
    assert is_of_extended_resources(annotations) == expected


def test_a_claim_for_extended_resources_is_owned_and_reserved_by_its_pod():
    devices: dict[str, Any] = {"devices": {"results": []}}
    claim = {"metadata": {"name": "c"}, "spec": {}, "status": {"allocation": devices}}
    found = owned(claim, {"metadata": {"name": "p", "uid": "u"}})
    assert found["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True,
            "blockOwnerDeletion": True,
        }
    ]  # fmt: skip
    assert found["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert found["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "u"}]
    assert found["status"]["allocation"] == devices


def test_a_token_is_left_out_with_all_its_mounts():
    """A server rejects a pod that mounts a volume which it does not have."""
    obj = pod()
    mounts = [
        {"name": "kube-api-access-x", "mountPath": TOKEN},
        {"name": "kube-api-access-x", "mountPath": "/elsewhere"},
    ]
    for field in ("containers", "initContainers", "ephemeralContainers"):
        obj["spec"][field] = [{"name": "c", "volumeMounts": mounts}, {"name": "d"}]
    obj["spec"]["volumes"] = obj["spec"]["volumes"][:1]
    for field in ("containers", "initContainers"):
        copy = created_copy(KINDS["pods"], obj)["spec"]
        assert copy[field] == [{"name": "c"}, {"name": "d"}]
        assert "volumes" not in copy
    kept = created_copy(KINDS["pods"], obj, keeps_accounts=True, keeps_owners=True)
    assert kept["spec"]["volumes"] == obj["spec"]["volumes"]
    assert kept["spec"]["serviceAccountName"] == "sa"
    assert kept["metadata"]["ownerReferences"] == obj["metadata"]["ownerReferences"]
    assert "finalizers" not in kept["metadata"]
    file = stored_copy(KINDS["pods"], obj)
    assert (file["apiVersion"], file["kind"]) == ("v1", "Pod")
    assert "serviceAccount" not in file["spec"]


@pytest.mark.parametrize(
    ("status", "entries", "expected"),
    [
        ([], [{"name": "a", "resourceClaimName": "c"}], {"a": "c"}),
        ([{"name": "a", "resourceClaimName": "m"}], [{"name": "a"}], {"a": "m"}),
        ([{"name": "b", "resourceClaimName": "m"}], [{"name": "a"}], {}),
        ([{"name": "a"}], [{"name": "a"}], {}),
        (None, None, {}),
    ],
)
def test_the_claims_of_a_pod_are_named_or_made(status, entries, expected):
    obj = {"spec": {"resourceClaims": entries}, "status": {"resourceClaimStatuses": status}}
    assert claims_of(obj) == expected
    assert claims_of({}) == {}


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({"kind": "Pod", "uid": "u", "controller": True}, "u"),
        ({"kind": "Pod", "uid": "u"}, None),
        ({"kind": "Job", "uid": "u", "controller": True}, None),
    ],
)
def test_a_claim_belongs_to_the_pod_that_controls_it(owner, expected):
    annotations = {"resource.kubernetes.io/pod-claim-name": "g"}
    claim = {"metadata": {"ownerReferences": [owner], "annotations": annotations}}
    assert pod_of(claim) == expected
    assert is_made_for_pod(claim) is (expected is not None)
    del claim["metadata"]["annotations"]
    assert not is_made_for_pod(claim)
