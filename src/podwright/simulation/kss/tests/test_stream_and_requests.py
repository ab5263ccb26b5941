"""The stream of seven kinds, and the requests that read and write a snapshot."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.simulation.kss.live_results import (
    PARAMETERS,
    Change,
    StreamEnded,
    change_of,
    last_version,
    listed,
)
from podwright.simulation.kss.snapshot_import import (
    SnapshotImport,
    SnapshotKind,
    apply_request,
    claim_request,
    list_request,
    owners_of,
    snapshot_kinds,
    watch_request,
    with_claim,
    without_owners,
)

KINDS = snapshot_kinds()
PODS, NODES, VOLUMES = KINDS["pods"], KINDS["nodes"], KINDS["pvs"]
POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "web", "annotations": {"a": "1"}},
    "spec": {"nodeName": "n1"},
}
WITHOUT_TYPE = {key: POD[key] for key in ("metadata", "spec")}


def line(kind: str, obj: Any) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode()


def shown(change: Change | None) -> Any:
    assert change is not None
    text = change.line()
    assert text.endswith(b"}\n")
    return json.loads(text)


def test_a_list_is_a_stream_of_additions():
    body = json.dumps({"metadata": {"resourceVersion": "7"}, "items": [POD, POD]}).encode()
    changes, version = listed(PODS, body)
    assert version == "7"
    assert [shown(each) for each in changes] == [
        {"Kind": "pods", "EventType": "ADDED", "Obj": WITHOUT_TYPE}
    ] * 2
    numbered = json.dumps({"metadata": {"resourceVersion": 8}, "items": []}).encode()
    assert listed(NODES, numbered) == ([], "8")


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_a_change_has_its_kind_and_type(kind):
    assert shown(change_of(PODS, line(kind, POD))) == {
        "Kind": "pods",
        "EventType": kind,
        "Obj": WITHOUT_TYPE,
    }


def test_a_bookmark_is_no_change_and_an_error_ends_the_stream():
    assert change_of(PODS, line("BOOKMARK", POD)) is None
    with pytest.raises(StreamEnded, match=r"^the watch of pods ended: too old$"):
        change_of(PODS, line("ERROR", {"message": "too old"}))
    with pytest.raises(StreamEnded, match=r"^the watch of nodes ended: $"):
        change_of(NODES, line("ERROR", {}))


@pytest.mark.parametrize(
    ("metadata", "annotations", "expected"),
    [
        ({"name": "a"}, {"x": "1"}, {"x": "1"}),
        ({"name": "a", "annotations": None}, {"x": "1"}, {"x": "1"}),
        ({"name": "a", "annotations": {"y": "2"}}, {"x": "1"}, {"y": "2", "x": "1"}),
        ({"name": "a", "annotations": {"x": "2"}}, {"x": "1"}, {"x": "1"}),
        ({"name": "a", "annotations": {"x": "2"}}, {}, {"x": "2"}),
    ],
)
def test_results_are_added_to_the_annotations_of_a_line(metadata, annotations, expected):
    change = change_of(PODS, line("ADDED", {"metadata": metadata, "spec": {}}))
    assert change is not None
    found = json.loads(change.line(annotations))["Obj"]
    assert found == {"metadata": metadata | {"annotations": expected}, "spec": {}}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, ""),
        ({"podsLastResourceVersion": "5"}, "5"),
        ({"podslastResourceVersion": "6"}, "6"),
        ({"podsLastResourceVersion": "5", "podslastResourceVersion": "6"}, "5"),
        ({"nodesLastResourceVersion": "5"}, ""),
    ],
)
def test_the_version_that_a_client_knows(parameters, expected):
    assert last_version(parameters, PODS) == expected
    assert PARAMETERS.keys() == KINDS.keys()


# ----------------------------------------------------------------------------- requests


@pytest.mark.parametrize(
    ("key", "namespace", "collection", "path", "name"),
    [
        ("pods", "shop", "/api/v1/pods", "/api/v1/namespaces/shop/pods/x", "shop/x"),
        ("pods", "", "/api/v1/pods", "/api/v1/namespaces/default/pods/x", "default/x"),
        ("nodes", "", "/api/v1/nodes", "/api/v1/nodes/x", "x"),
        (
            "pvcs",
            "shop",
            "/api/v1/persistentvolumeclaims",
            "/api/v1/namespaces/shop/persistentvolumeclaims/x",
            "shop/x",
        ),
        (
            "storageClasses",
            "",
            "/apis/storage.k8s.io/v1/storageclasses",
            "/apis/storage.k8s.io/v1/storageclasses/x",
            "x",
        ),
    ],
)
def test_paths_of_kinds_and_objects(key, namespace, collection, path, name):
    kind: SnapshotKind = KINDS[key]
    listing, watching = list_request(kind), watch_request(kind, "9")
    assert (listing.method, listing.path, listing.query) == ("GET", collection, "")
    assert (watching.method, watching.path) == ("GET", collection)
    assert watching.query == "watch=true&resourceVersion=9"
    assert (kind.path(namespace, "x"), kind.key_of(namespace, "x")) == (path, name)


@pytest.mark.parametrize("is_dry_run", [False, True])
def test_objects_are_applied_by_force(is_dry_run):
    document = {"metadata": {"name": "web", "namespace": "shop"}}
    request = apply_request(PODS, document, is_dry_run=is_dry_run)
    assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/shop/pods/web")
    fields = dict(each.split("=") for each in request.query.split("&"))
    assert fields.pop("fieldManager")
    assert fields == {"force": "true"} | ({"dryRun": "All"} if is_dry_run else {})
    assert dict(request.headers) == {
        "content-type": "application/apply-patch+yaml",
        "accept": "application/json",
    }
    assert msgspec.json.decode(request.body) == document
    assert request.is_restored


def volume(reference: Any, phase: str = "Bound") -> dict[str, Any]:
    return {
        "metadata": {"name": "v"},
        "spec": {"claimRef": reference, "x": 1},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (
            volume({"name": "c", "namespace": "shop"}),
            "/api/v1/namespaces/shop/persistentvolumeclaims/c",
        ),
        (volume({"name": "c"}), "/api/v1/namespaces/default/persistentvolumeclaims/c"),
        (volume({"name": "c"}, "Available"), None),
        (volume({"name": ""}), None),
        (volume(None), None),
        (volume({"name": "c"}) | {"status": None}, None),
        ({"metadata": {"name": "v"}, "status": {"phase": "Bound"}}, None),
    ],
)
def test_the_claim_of_a_bound_volume_is_read(given, path):
    request = claim_request(given)
    assert (None if request is None else request.path) == path


@pytest.mark.parametrize(
    ("reference", "claim", "expected"),
    [
        ({"name": "c", "uid": "old"}, {"metadata": {"uid": "new"}}, {"name": "c", "uid": "new"}),
        ({"name": "c", "uid": "old"}, None, {"name": "c"}),
        (None, None, {}),
    ],
)
def test_a_volume_refers_to_the_claim_that_there_is(reference, claim, expected):
    given = volume(reference)
    found = with_claim(given, claim)
    assert found == given | {"spec": {"claimRef": expected, "x": 1}}
    assert given["spec"]["claimRef"] == reference, "the given document is not changed"


def test_owners_that_are_missing_are_left_out():
    owners = [{"uid": "1"}, {"uid": "2"}]
    document = {"metadata": {"name": "x", "ownerReferences": owners}, "spec": {}}
    assert owners_of(document) == owners
    assert owners_of({"metadata": {"ownerReferences": "x"}}) == ()
    assert owners_of({"metadata": {"ownerReferences": ["x", owners[0]]}}) == [owners[0]]
    assert owners_of({"metadata": {}}) == ()
    one = without_owners(document, owners[:1])
    assert one == {"metadata": {"name": "x", "ownerReferences": owners[1:]}, "spec": {}}
    assert without_owners(document, owners) == {"metadata": {"name": "x"}, "spec": {}}
    assert document["metadata"]["ownerReferences"] == owners


# ------------------------------------------------------------------------------ snapshots


def named(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name} | metadata}


def test_a_snapshot_is_imported_in_four_waves():
    body = {key: [named(f"{key}-1")] for key in KINDS}
    body["namespaces"].append(named("default"))
    body["priorityClasses"].append(named("system-node-critical"))
    waves = list(SnapshotImport(json.dumps(body).encode()).waves())
    found = [[(kind.key, obj["metadata"]["name"]) for kind, obj in wave] for wave in waves]
    assert found[0] == [("namespaces", "namespaces-1"), ("namespaces", "default")]
    assert found[1] == [
        ("priorityClasses", "priorityClasses-1"),
        ("storageClasses", "storageClasses-1"),
    ]
    assert {key for key, _ in found[2]} == {"pods", "nodes", "pvcs"}
    assert found[3] == [("pvs", "pvs-1")]


def test_imported_objects_have_their_type_and_nothing_that_the_server_sets():
    given = named("web", uid="u", resourceVersion="5", managedFields=[], selfLink="/x", labels={})
    body = {"pods": [given | {"kind": "Wrong", "spec": {"x": 1}}], "nodes": None}
    (wave,) = [wave for wave in SnapshotImport(json.dumps(body).encode()).waves() if wave]
    assert [obj for _, obj in wave] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "labels": {}},
            "spec": {"x": 1},
        }
    ]


def test_keys_that_a_snapshot_does_not_have_are_named():
    body: dict[str, Any] = {"pods": [], "schedulerConfig": None, "deployments": [], "x": 1}
    found = SnapshotImport(json.dumps(body).encode())
    assert found.unknown_keys == ("deployments", "x")
    assert (found.configuration, found.warnings) == (None, ())
