"""Snapshots of kube-scheduler-simulator: the requests that import them, and their order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.scheduler.config import API_VERSION, KIND
from podwright.simulation.kss.snapshot_import import (
    SnapshotImport,
    UndecodableSnapshot,
    apply_request,
    claim_request,
    owners_of,
    snapshot_kinds,
    with_claim,
    without_owners,
)


def imported(**parts: Any) -> SnapshotImport:
    return SnapshotImport(json.dumps(parts).encode())


def named(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}}


def waves(snapshot: SnapshotImport) -> list[list[tuple[str, str]]]:
    return [
        [(kind.key, document["metadata"]["name"]) for kind, document in wave]
        for wave in snapshot.waves()
    ]


def test_namespaces_come_first_then_classes_and_volumes_last():
    parts = {key: [named(f"a-{key}")] for key in snapshot_kinds()}
    found = waves(imported(**parts))
    assert found[0] == [("namespaces", "a-namespaces")]
    assert set(found[1]) == {
        ("priorityClasses", "a-priorityClasses"), ("storageClasses", "a-storageClasses")
    }  # fmt: skip
    assert found[3] == [("pvs", "a-pvs")]
    assert {key for wave in found for key, _ in wave} == set(snapshot_kinds())
    assert len(found[2]) == len(snapshot_kinds()) - 4


def test_what_every_cluster_has_is_left_out_but_for_namespaces():
    found = waves(
        imported(
            namespaces=[named("kube-system"), named("mine")],
            priorityClasses=[named("system-node-critical"), named("mine")],
        )
    )
    assert found[0] == [("namespaces", "kube-system"), ("namespaces", "mine")]
    assert found[1] == [("priorityClasses", "mine")]


def test_objects_get_their_kind_and_lose_what_the_server_sets():
    of_server = {"uid": "u", "resourceVersion": "7", "managedFields": [], "selfLink": "/x"}
    pod = named("p", namespace="a", labels={"k": "v"}, **of_server) | {"spec": {"x": 1}}
    (found,) = [each for wave in imported(pods=[pod]).waves() for each in wave]
    assert found[1] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "a", "labels": {"k": "v"}},
        "spec": {"x": 1},
    }


def test_an_object_is_applied_at_its_path_by_force():
    kinds = snapshot_kinds()
    found = apply_request(kinds["pods"], named("p", namespace="a"))
    assert (found.method, found.path) == ("PATCH", "/api/v1/namespaces/a/pods/p")
    assert "force=true" in found.query
    assert "dryRun" not in found.query
    assert found.headers["content-type"] == "application/apply-patch+yaml"
    assert json.loads(found.body) == named("p", namespace="a")
    assert "dryRun=All" in apply_request(kinds["pods"], named("p"), is_dry_run=True).query
    paths = {key: apply_request(kinds[key], named("x")).path for key in ("pods", "nodes")}
    assert paths == {"pods": "/api/v1/namespaces/default/pods/x", "nodes": "/api/v1/nodes/x"}
    classes = apply_request(kinds["storageClasses"], named("x")).path
    assert classes == "/apis/storage.k8s.io/v1/storageclasses/x"


def test_keys_are_those_of_objects_in_a_store():
    kinds = snapshot_kinds()
    assert kinds["pods"].key_of("", "p") == "default/p"
    assert kinds["pods"].key_of("a", "p") == "a/p"
    assert kinds["nodes"].key_of("a", "n") == "n"
    assert kinds["storageClasses"].group_kind == ("storage.k8s.io", "StorageClass")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the snapshot is not JSON"),
        (b"[]", "the snapshot is not an object"),
        (b'{"schedulerConfig": 1}', "schedulerConfig is not an object"),
        (b'{"pods": {}}', "pods is not a list"),
        (b'{"pods": [1]}', r"pods\[0\] is not an object"),
        (b'{"pods": [{"metadata": {"name": "p"}}, {}]}', r"pods\[1\].metadata.name is missing"),
        (b'{"pods": [{"metadata": {"name": 1}}]}', r"pods\[0\].metadata.name is missing"),
        (b'{"nodes": [{"metadata": {"name": 1}}]}', r"nodes\[0\].metadata.name is missing"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_its_place(body, message):
    with pytest.raises(UndecodableSnapshot, match=message):
        SnapshotImport(body)


def test_keys_may_be_missing_null_or_unknown():
    found = imported(pods=None, other=1)
    assert waves(found) == [[], [], [], []]
    assert found.unknown_keys == ("other",)
    assert found.configuration is None
    assert found.warnings == ()


def test_a_configuration_is_read_as_the_present_version_with_what_differs():
    found = imported(schedulerConfig={"parallelism": 3, "own": 1})
    assert found.configuration == {"apiVersion": API_VERSION, "kind": KIND, "parallelism": 3}
    assert found.warnings == (
        f"it has no apiVersion and kind; it is read as {API_VERSION}",
        f"fields that {API_VERSION} does not have are ignored: own",
    )


REFERENCE = {"namespace": "a", "name": "c", "uid": "old"}


@pytest.mark.parametrize(
    ("spec", "phase", "path"),
    [
        ({"claimRef": REFERENCE}, "Bound", "/api/v1/namespaces/a/persistentvolumeclaims/c"),
        ({"claimRef": {"name": "c"}}, "Bound",
         "/api/v1/namespaces/default/persistentvolumeclaims/c"),
        ({"claimRef": REFERENCE}, "Available", None),
        ({"claimRef": REFERENCE}, None, None),
        ({"claimRef": {"namespace": "a"}}, "Bound", None),
        ({"claimRef": 1}, "Bound", None),
        ({}, "Bound", None),
        (None, "Bound", None),
    ],
)  # fmt: skip
def test_the_claim_of_a_bound_volume_is_looked_up(spec, phase, path):
    status = None if phase is None else {"phase": phase}
    found = claim_request(named("v") | {"spec": spec, "status": status})
    assert (found.path if found else None) == path
    assert found is None or found.method == "GET"


def test_a_bound_volume_refers_to_the_claim_as_it_is_now():
    volume = named("v") | {"spec": {"claimRef": REFERENCE, "capacity": {}}}
    found = with_claim(volume, named("c", uid="new"))["spec"]
    assert found == {"capacity": {}, "claimRef": REFERENCE | {"uid": "new"}}
    assert with_claim(volume, None)["spec"]["claimRef"] == {"namespace": "a", "name": "c"}
    assert volume["spec"]["claimRef"] is REFERENCE


def test_owners_that_do_not_exist_are_taken_off():
    one, two = {"uid": "1"}, {"uid": "2"}
    pod = named("p", ownerReferences=[one, two, "odd"])
    assert owners_of(pod) == [one, two]
    assert owners_of(named("p", ownerReferences={})) == ()
    assert owners_of(named("p")) == ()
    kept = without_owners(named("p", ownerReferences=[one, two]), [one])
    assert kept == named("p", ownerReferences=[two])
    assert without_owners(named("p", ownerReferences=[one]), [one]) == named("p")
