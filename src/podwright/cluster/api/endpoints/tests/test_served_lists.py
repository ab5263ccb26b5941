"""Lists and watches in each representation, with their warnings, rows, parts and versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.api.endpoints import HttpReply, Watch
from podwright.cluster.api.endpoints.tests.conftest import Server, config_map, pod
from podwright.cluster.api.endpoints.tests.test_custom_resources import (
    TRAINS,
    define,
    train,
    version,
)
from podwright.cluster.api.versions.resources import built_in_resources

CM = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def get(server: Server, path: str, accept: str = "") -> tuple[int, Any, list[str]]:
    reply = server.send("GET", path, headers={"accept": accept} if accept else {})
    assert isinstance(reply, HttpReply)
    warnings = [value for name, value in reply.headers if name == "warning"]
    return reply.status, json.loads(reply.body), warnings


def test_lists_and_objects_of_deprecated_kinds_have_a_warning(server: Server) -> None:
    text = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    server.reply("POST", ENDPOINTS, {"metadata": {"name": "e"}, "subsets": []})
    for path in (ENDPOINTS, f"{ENDPOINTS}/e", f"{ENDPOINTS}?limit=1"):
        for accept in ("", "application/yaml"):
            reply = server.send("GET", path, headers={"accept": accept})
            assert isinstance(reply, HttpReply)
            warnings = [value for name, value in reply.headers if name == "warning"]
            assert warnings == [text], path
    status, found, _ = get(server, ENDPOINTS)
    assert (status, found["kind"], found["apiVersion"]) == (200, "EndpointsList", "v1")
    assert [each["metadata"]["name"] for each in found["items"]] == ["e"]
    assert not any("kind" in each or "apiVersion" in each for each in found["items"])
    define(server, version(deprecated=True))
    server.reply("POST", TRAINS, train("t"))
    _, found, warnings = get(server, TRAINS)
    assert warnings == ['299 - "example.com/v1 Train is deprecated"']
    assert [each["kind"] for each in found["items"]] == ["Train"]


def test_one_list_in_each_representation(server: Server) -> None:
    for name in ("a", "b"):
        server.reply("POST", CM, config_map(name, k="1"))
    _, plain, _ = get(server, CM)
    _, metadata, _ = get(server, CM, METADATA_LIST)
    _, table, _ = get(server, CM, TABLE)
    _, bare, _ = get(server, f"{CM}?includeObject=None", TABLE)
    _, whole, _ = get(server, f"{CM}?includeObject=Object", TABLE)
    head = {"resourceVersion": plain["metadata"]["resourceVersion"]}
    assert plain["metadata"] == head
    items = [each["metadata"] for each in plain["items"]]
    assert metadata == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": head,
        "items": [
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": each}
            for each in items
        ],
    }
    columns = table.pop("columnDefinitions")
    assert [each["name"] for each in columns] == ["Name", "Data", "Age"]
    assert table == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": head,
        "rows": [
            {"cells": [each["metadata"]["name"], 1, age], "object": each}
            for each, age in zip(metadata["items"], ("4s", "3s"), strict=True)
        ],
    }
    assert [each["object"] for each in bare["rows"]] == [None, None]
    of_kind = {"kind": "ConfigMap", "apiVersion": "v1"}
    assert [each["object"] for each in whole["rows"]] == [of_kind | each for each in plain["items"]]
    status, error, _ = get(server, f"{CM}?includeObject=x", TABLE)
    assert (status, error["message"]) == (
        400,
        'Unable to convert to Table as requested: includeObject: Invalid value: "x": must be'
        " 'Metadata', 'Object', 'None', or empty",
    )
    status, error, _ = get(server, CM, METADATA)
    assert (status, error["message"]) == (
        406,
        "you requested PartialObjectMetadata, but the requested object is a list"
        " (*core.ConfigMapList)",
    )
    status, error, _ = get(server, f"{CM}/a", METADATA_LIST)
    assert (status, error["message"]) == (
        406,
        "you requested PartialObjectMetadataList, but the requested object is not a list"
        " (*core.ConfigMap)",
    )
    _, one, _ = get(server, f"{CM}/a", TABLE)
    assert one["metadata"] == {"resourceVersion": items[0]["resourceVersion"]}
    assert [each["cells"][0] for each in one["rows"]] == ["a"]


def test_lists_of_nothing(server: Server) -> None:
    _, plain, _ = get(server, PODS)
    assert plain["items"] == []
    _, metadata, _ = get(server, PODS, METADATA_LIST)
    assert metadata["items"] is None
    _, table, _ = get(server, PODS, TABLE)
    assert table["rows"] == []
    _, table, _ = get(server, "/api/v1/namespaces/default/limitranges", TABLE)
    assert table["rows"] is None
    define(server)
    _, custom, _ = get(server, TRAINS)
    assert custom["metadata"]["continue"] == ""
    assert custom["kind"] == "TrainList"


def test_a_completed_pod_in_a_table(server: Server) -> None:
    for name, phase in (("done", "Succeeded"), ("bad", "Failed"), ("new", "Pending")):
        server.reply("POST", PODS, pod(name))
        server.patch(f"{PODS}/{name}/status", {"status": {"phase": phase}})
    _, table, _ = get(server, PODS, TABLE)
    reasons = {
        row["cells"][0]: [each["reason"] for each in row.get("conditions", ())]
        for row in table["rows"]
    }
    assert reasons == {"bad": ["Failed"], "done": ["Succeeded"], "new": []}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", ["c"]),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion={a}",
         ["b", "c"]),
        ("", ["a", "b", "c"]),
        ("resourceVersion=0", ["a", "b", "c"]),
        ("resourceVersion={a}", ["b", "c"]),
        ("resourceVersion={b}", ["c"]),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={b}"
         "&allowWatchBookmarks=true", ["a", "b", "", "c"]),
        ("resourceVersion={a}&fieldSelector=metadata.name%3Db", ["b"]),
        ("resourceVersion={a}&labelSelector=x%3D1", []),
    ],
)  # fmt: skip
def test_where_a_watch_begins(server: Server, query: str, names: list[str]) -> None:
    versions = {}
    for name in ("a", "b"):
        _, made = server.reply("POST", CM, config_map(name))
        versions[name] = made["metadata"]["resourceVersion"]
    watch = server.watch(f"{CM}?watch=1&{query.format(**versions)}")
    found = [each["metadata"].get("name", "") for _, each in server.events(watch)]
    server.reply("POST", CM, config_map("c"))
    found += [each["metadata"].get("name", "") for _, each in server.events(watch)]
    assert found == names


def test_many_changes_reach_a_watch_in_each_form(server: Server) -> None:
    """A poll reads some hundreds of events, or some rows, and the next one the rest."""
    path = f"{CM}?watch=1&resourceVersion={server.store.resource_version}"
    watches = {
        accept: server.send("GET", path, headers={"accept": accept})
        for accept in ("application/json", TABLE, METADATA)
    }
    count = 230
    for number in range(count):
        server.reply("POST", CM, config_map(f"c{number:03}"))
    for accept, watch in watches.items():
        assert isinstance(watch, Watch)
        first = watch.read(server.now_ns).count(b"\n")
        assert first == (20 if accept == TABLE else 200)
        rest = [json.loads(line) for line in watch.poll(server.now_ns)]
        assert first + len(rest) == count
        assert not watch.is_behind
        kinds = {
            "application/json": "ConfigMap", TABLE: "Table", METADATA: "PartialObjectMetadata",
        }  # fmt: skip
        assert {(each["type"], each["object"]["kind"]) for each in rest} == {
            ("ADDED", kinds[accept])
        }


def test_a_table_of_a_watch_has_its_columns_once(server: Server) -> None:
    watch = server.send("GET", f"{CM}?watch=1&resourceVersion=1", headers={"accept": TABLE})
    assert isinstance(watch, Watch)
    for name in ("a", "b"):
        server.reply("POST", CM, config_map(name))
    first, second = (json.loads(line)["object"] for line in watch.poll(server.now_ns))
    assert [each["name"] for each in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second["columnDefinitions"] is None
    for table, name in ((first, "a"), (second, "b")):
        (row,) = table["rows"]
        assert row["cells"][0] == name
        assert table["metadata"] == {
            "resourceVersion": row["object"]["metadata"]["resourceVersion"]
        }


def test_the_object_of_a_bookmark() -> None:
    for kind, more in (
        (("v1", "ConfigMap"), set()),
        (("v1", "Pod"), {"spec", "status"}),
        (("apps/v1", "Deployment"), {"spec", "status"}),
    ):
        found = built_in_resources()[kind].bookmark({"resourceVersion": "7"})
        assert (found["kind"], found["apiVersion"]) == (kind[1], kind[0])
        assert found["metadata"]["resourceVersion"] == "7"
        assert found.keys() == {"kind", "apiVersion", "metadata"} | more


def test_owner_references_of_an_update_are_kept_once(server: Server) -> None:
    server.reply("POST", CM, config_map("a"))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    metadata = {"name": "a", "ownerReferences": [owner, owner]}
    reply = server.send("PUT", f"{CM}/a", {"metadata": metadata})
    assert isinstance(reply, HttpReply)
    assert json.loads(reply.body)["metadata"]["ownerReferences"] == [owner]
    (warning,) = [value for name, value in reply.headers if name == "warning"]
    assert warning.endswith('duplicate UID(s) observed: u"')


def test_a_table_shows_the_stored_object_in_each_version(server: Server) -> None:
    path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    metrics = [
        {"type": "Resource", "resource": {
            "name": name, "target": {"type": "Utilization", "averageUtilization": number},
        }} for name, number in (("memory", 70), ("cpu", 80))
    ]  # fmt: skip
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"maxReplicas": 5, "scaleTargetRef": target, "metrics": metrics}
    assert (
        server.reply("POST", path.format("v2"), {"metadata": {"name": "h"}, "spec": spec})[0] == 201
    )
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    for served in ("v1", "v2"):
        _, found = server.reply("GET", path.format(served), headers=accept)
        shown = "memory: <unknown>/70%, cpu: <unknown>/80%"
        assert found["rows"][0]["cells"][2] == shown, served
