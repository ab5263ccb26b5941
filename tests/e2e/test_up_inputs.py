"""What `podwright up` starts with: the demo, snapshots, Stages, and events at their times."""

from __future__ import annotations

import json

import pytest
from tests.e2e.command_line import run
from tests.e2e.test_up import PODS, is_running, pod, up

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "one"},
    "status": {"capacity": {"cpu": "4", "memory": "4Gi", "pods": "10"}},
}

KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CARDS = "/apis/podwright.dev/v1/devicecards"


def is_bound(found):
    return "nodeName" in found["spec"]


def write_lines(path, *lines):
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def test_the_demo_has_a_pod_that_can_be_helped(tmp_path):
    with up(tmp_path, "--demo") as cluster:
        assert "kubectl describe pod training" in cluster.text()
        web = cluster.eventually(PODS, lambda found: sum(map(is_running, found["items"])) == 4)
        assert len(web["items"]) == 5
        events = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dtraining"
        found = cluster.eventually(events, lambda found: found["items"])
        assert "3 Insufficient cpu" in found["items"][0]["message"]
        assert not is_bound(cluster.send("GET", f"{PODS}/training")[1])
        patch = {"content-type": "application/merge-patch+json"}
        changed = cluster.send("PATCH", "/api/v1/nodes/node-large", {"spec": {"taints": []}}, patch)
        assert changed[0] == 200
        training = cluster.eventually(f"{PODS}/training", is_running)
        assert training["spec"]["nodeName"] == "node-large"
        # A simulated kubelet runs it, not a stage alone.
        assert "imageID" in training["status"]["containerStatuses"][0]
        assert cluster.end() == 0


def test_a_snapshot_keeps_what_was_decided(tmp_path):
    placed = pod("placed") | {"metadata": {"name": "placed", "namespace": "default", "uid": "u-1"}}
    placed["spec"]["nodeName"] = "one"
    snapshot = {
        "nodes": [NODE],
        "pods": [placed, pod("web")],
        "namespaces": [],
        "pvs": [],
        "pvcs": [],
        "storageClasses": [],
        "priorityClasses": [],
        "schedulerConfig": None,
    }
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(snapshot))
    with up(tmp_path, "--snapshot", str(path)) as cluster:
        assert cluster.send("GET", f"{PODS}/placed")[1]["metadata"]["uid"] == "u-1"
        assert cluster.eventually(f"{PODS}/web", is_running)["spec"]["nodeName"] == "one"
        assert cluster.end() == 0


def test_events_are_applied_at_their_times(tmp_path):
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
    }
    large = pod("second")
    large["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    events = write_lines(
        tmp_path / "events.jsonl",
        {"at": "0s", "apply": pod("first")},
        {"at": "0s", "apply": limits},
        {"at": "1m", "apply": large},
        {"at": "2m", "apply": pod("third")},
        {"at": "15m", "delete": "pod/first", "gracePeriodSeconds": 0},
    )
    with up(tmp_path, "--nodes", "1", "--events", events, "--speed", "100") as cluster:
        first = cluster.eventually(f"{PODS}/first", is_running)
        third = cluster.eventually(f"{PODS}/third", is_running)
        times = [each["metadata"]["creationTimestamp"] for each in (first, third)]
        minutes = [int(time[14:16]) + 60 * int(time[11:13]) for time in times]
        assert (minutes[1] - minutes[0]) % 1440 in (2, 3)
        cluster.eventually(PODS, lambda found: len(found["items"]) == 1)
        assert cluster.end() == 0
        (rejected,) = [line for line in cluster.text().splitlines() if "rejected" in line]
        assert rejected.startswith('--events: apply was rejected: pods "second" is forbidden')


def test_events_may_concern_objects_of_the_database(tmp_path):
    database = str(tmp_path / "cluster.db")
    with up(tmp_path, "--nodes", "2", "--db", database) as cluster:
        assert cluster.end() == 0
    events = write_lines(tmp_path / "events.jsonl", {"at": "0s", "cordon": "node-1"})
    with up(tmp_path, "--nodes", "3", "--db", database, "--events", events) as cluster:
        nodes = cluster.send("GET", "/api/v1/nodes")[1]["items"]
        cordoned = [each.get("spec", {}).get("unschedulable", False) for each in nodes]
        assert cordoned == [False, True, False]
        assert cluster.end() == 0


def test_cards_can_be_added_to_a_cluster_that_was_started_without(tmp_path):
    cards = {
        "apiVersion": "podwright.dev/v1",
        "kind": "DeviceCards",
        "metadata": {"name": "two"},
        "spec": {"driver": "gpu.example.com", "count": 2},
    }
    slices = "/apis/resource.k8s.io/v1/resourceslices"
    with up(tmp_path, "--nodes", "1") as cluster:
        status, made = cluster.send("POST", CARDS, cards)
        assert status == 201, made
        found = cluster.eventually(slices, lambda found: found["items"])
        assert [len(each["spec"]["devices"]) for each in found["items"]] == [2]
        assert cluster.send("DELETE", f"{CARDS}/two")[0] == 200
        cluster.eventually(slices, lambda found: not found["items"])
        assert cluster.end() == 0


@pytest.mark.parametrize("option", ["--no-controllers", "--no-lifecycle"])
def test_where_others_take_a_part_only_kinds_of_upstream_are_served(tmp_path, option):
    with up(tmp_path, "--nodes", "1", option) as cluster:
        status, found = cluster.send("GET", KINDS)
        assert (status, found["items"]) == (200, [])
        assert cluster.end() == 0


def test_stages_of_the_files_take_effect(tmp_path):
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "fails"},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {
                "matchExpressions": [
                    {"key": ".spec.nodeName", "operator": "Exists"},
                    {"key": ".status.phase", "operator": "In", "values": ["Pending"]},
                ]
            },
            "next": {"statusTemplate": "phase: Failed\n"},
        },
    }
    (tmp_path / "stages.json").write_text(json.dumps(stage))
    with up(tmp_path, "--nodes", "1", str(tmp_path / "stages.json")) as cluster:
        assert cluster.send("POST", PODS, pod("web"))[0] == 201
        cluster.eventually(f"{PODS}/web", lambda found: found["status"]["phase"] == "Failed")
        assert cluster.end() == 0


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        pytest.param(
            [{"at": "1m", "drain": "node-0"}], "--no-controllers",
            "--events: drain: has no effect with --no-controllers", id="no controllers",
        ),
        pytest.param(
            [{"at": "1m", "fail": "node-0"}], "--no-lifecycle",
            "--events: fail: has no effect with --no-lifecycle", id="no kubelets",
        ),
        pytest.param(
            [{"at": "1m", "drain": "node-7"}], "",
            'line 1: drain: Node "node-7" does not exist at that time', id="no such node",
        ),
        pytest.param([{"at": "1m", "drian": "node-0"}], "", "did you mean", id="misspelled"),
        pytest.param([], "", "no lines in this file", id="empty"),
    ],
)  # fmt: skip
def test_events_that_cannot_be_applied_are_errors(tmp_path, lines, options, message):
    events = write_lines(tmp_path / "events.jsonl", *lines)
    target = tmp_path / "config"
    command = f"up --nodes 1 --port 0 --kubeconfig {target} --events {events} {options}"
    result = run(command, status=2)
    assert message in result.stderr
    assert not target.exists()


def test_missing_files_are_one_line_each(tmp_path):
    for option in ("--snapshot", "--events"):
        result = run(f"up --port 0 {option} {tmp_path / 'absent.json'}", status=2)
        assert "absent.json" in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_a_service_of_an_event_gets_an_address(tmp_path):
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"ports": [{"port": 80}], "type": "NodePort"},
    }
    lines = write_lines(tmp_path / "events.jsonl", {"at": "1s", "apply": service})
    with up(tmp_path, "--events", lines) as cluster:
        spec = cluster.eventually("/api/v1/namespaces/shop/services/web", dict)["spec"]
        assert spec["clusterIP"].startswith("10.")
        assert spec["ports"][0]["nodePort"] >= 30000


def test_a_claim_without_a_class_is_bound(tmp_path):
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    with up(tmp_path, "--nodes", "1") as cluster:
        claim = {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        assert cluster.send("POST", claims, claim)[0] == 201
        web = pod("web")
        web["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
        assert cluster.send("POST", PODS, web)[0] == 201
        cluster.eventually(f"{PODS}/web", is_running)
        found = cluster.eventually(f"{claims}/data", lambda found: found.get("status"))
        assert found["spec"]["storageClassName"] == "standard"
        assert found["status"]["phase"] == "Bound"


def definition_of_widgets(schema):
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [version],
        },
    }


def test_custom_objects_of_files_are_checked_by_their_definition(tmp_path):
    path = tmp_path / "objects.json"
    integer = {"type": "integer"}
    objects = [
        definition_of_widgets({"type": "object", "properties": {"size": integer}}),
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "one"},
            "size": "large",
        },
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    refused = run(f"up --no-ui --port 0 --kubeconfig {tmp_path}/kubeconfig {path}", status=2)
    assert 'size: Invalid value: "string": size in body must be of type integer' in refused.stderr
    assert not (tmp_path / "kubeconfig").exists()


def test_custom_objects_of_files_are_served_where_a_definition_is(tmp_path):
    path = tmp_path / "objects.json"
    metadata = {"name": "one", "namespace": "default"}
    objects = [
        definition_of_widgets({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata},
        {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata},
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    with up(tmp_path, str(path)) as cluster:
        found = cluster.eventually(
            "/apis/example.com/v1/namespaces/default/widgets/one", lambda found: found["metadata"]
        )
        assert found["metadata"]["uid"]
        warnings = [line for line in cluster.text().splitlines() if line.startswith("warning: ")]
        assert [line.partition(": ")[2].partition("]: ")[2] for line in warnings] == [
            "Gadget (example.com/v1) is not served, because no CustomResourceDefinition defines it"
        ]
        assert cluster.end() == 0


def test_classes_of_files_are_the_only_ones(tmp_path):
    path = tmp_path / "class.json"
    written = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "example.com/fast",
    }
    path.write_text(json.dumps(written))
    with up(tmp_path, str(path)) as cluster:
        classes = cluster.send("GET", "/apis/storage.k8s.io/v1/storageclasses")[1]
        assert [each["metadata"]["name"] for each in classes["items"]] == ["fast"]
