"""Create, update, patch and delete: what is stored, and what a rejected write leaves alone."""

from __future__ import annotations

import json

import pytest

from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.api.endpoints.tests.conftest import ADMIN, config_map, pod

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def test_the_server_sets_its_own_metadata(server):
    document = config_map("a")
    document["metadata"] |= {"uid": "mine", "creationTimestamp": "2020-01-01T00:00:00Z"}
    _, made = server.reply("POST", CONFIG_MAPS, document)
    metadata = made["metadata"]
    assert metadata["uid"] != "mine"
    assert metadata["resourceVersion"] == str(server.store.resource_version)
    assert metadata["creationTimestamp"] != "2020-01-01T00:00:00Z"


def test_only_an_apply_that_creates_stores_a_deletion_time(server):
    time = {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    created, applied = config_map("created"), config_map("applied")
    for document in (created, applied):
        document["metadata"] |= time
    server.reply("POST", CONFIG_MAPS, created)
    path = f"{CONFIG_MAPS}/applied?fieldManager=m"
    assert server.patch(path, applied, "apply-patch+yaml")[0] == 201
    assert server.reply("GET", f"{CONFIG_MAPS}/created")[1]["metadata"].keys().isdisjoint(time)
    found = server.reply("GET", f"{CONFIG_MAPS}/applied")[1]["metadata"]
    assert {name: found.get(name) for name in time} == time


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        pytest.param("POST", CONFIG_MAPS, config_map("new"), 201, id="create"),
        pytest.param("PUT", f"{CONFIG_MAPS}/a", config_map("a", k="w"), 200, id="update"),
        pytest.param("DELETE", f"{CONFIG_MAPS}/a", None, 200, id="delete"),
        pytest.param("DELETE", CONFIG_MAPS, None, 200, id="delete a collection"),
    ],
)
def test_a_dry_run_changes_nothing(server, method, path, body, status):
    server.reply("POST", CONFIG_MAPS, config_map("a", k="v"))
    version = server.store.resource_version
    assert server.reply(method, f"{path}?dryRun=All", body)[0] == status
    assert server.store.resource_version == version
    assert server.reply("GET", f"{CONFIG_MAPS}/a")[1]["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        pytest.param("POST", CONFIG_MAPS, config_map("a"), 409, id="the name is in use"),
        pytest.param("POST", CONFIG_MAPS, config_map("Bad_Name"), 422, id="a bad name"),
        pytest.param("POST", CONFIG_MAPS, {"kind": "Pod"}, 400, id="another kind"),
        pytest.param("PUT", f"{CONFIG_MAPS}/b", config_map("b"), 404, id="absent"),
        pytest.param("PUT", f"{CONFIG_MAPS}/a", config_map("b"), 400, id="another name"),
        pytest.param("DELETE", f"{CONFIG_MAPS}/b", None, 404, id="nothing to delete"),
    ],
)
def test_a_rejected_write_changes_nothing(server, method, path, body, status):
    server.reply("POST", CONFIG_MAPS, config_map("a", k="v"))
    version = server.store.resource_version
    found, error = server.reply(method, path, body)
    assert (found, error["kind"], error["code"]) == (status, "Status", status)
    assert server.store.resource_version == version


def test_a_stale_version_is_a_conflict(server):
    _, made = server.reply("POST", CONFIG_MAPS, config_map("a"))
    server.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "1"}})
    status, error = server.reply("PUT", f"{CONFIG_MAPS}/a", made)
    assert (status, error["reason"]) == (409, "Conflict")
    assert server.reply("GET", f"{CONFIG_MAPS}/a")[1]["data"] == {"k": "1"}


def test_a_write_that_changes_nothing_makes_no_version(server):
    _, made = server.reply("POST", CONFIG_MAPS, config_map("a", k="v"))
    for method, path, body in (
        ("PUT", f"{CONFIG_MAPS}/a", made),
        ("PUT", f"{CONFIG_MAPS}/a", config_map("a", k="v")),
    ):
        _, again = server.reply(method, path, body)
        assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    _, again = server.patch(f"{CONFIG_MAPS}/a", {})
    assert again == made


def test_pods_of_a_template_are_stored_as_single_ones_are(server):
    def stored(name):
        document = pod(name, nodeSelector={"a": "b"}, priorityClassName="system-node-critical")
        _, made = server.reply("POST", PODS, document)
        return {key: made[key] for key in ("spec", "status")}

    first = stored("a")
    assert stored("b") == first
    assert stored("c") == first
    assert server.store.get(("", "Pod"), "default/b").spec.priority == 2_000_001_000


def test_equal_specs_share_their_parts(server):
    for name in ("a", "b", "c"):
        server.reply("POST", PODS, pod(name))
    second, third = (server.store.get(("", "Pod"), f"default/{name}") for name in ("b", "c"))
    assert second.raw["spec"] is third.raw["spec"]
    assert second.spec is third.spec


def test_an_unknown_phase_is_stored_as_the_api_stores_it(server):
    server.reply("POST", PODS, pod("a"))
    status, found = server.patch(f"{PODS}/a/status", {"status": {"phase": "Strange"}})
    assert (status, found["status"]["phase"]) == (200, "Strange")
    assert server.reply("GET", f"{PODS}/a")[1]["status"]["phase"] == "Strange"


def test_managers_own_what_they_write(server):
    path = f"{CONFIG_MAPS}/a"
    server.reply("POST", f"{CONFIG_MAPS}?fieldManager=one", config_map("a", k="v"))
    headers = {"content-type": "application/apply-patch+yaml"}
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: w}\n"
    status, error = server.reply("PATCH", f"{path}?fieldManager=two", body, headers=headers)
    assert (status, error["details"]["causes"][0]["field"]) == (409, ".data.k")
    path = f"{path}?fieldManager=two&force=true"
    status, found = server.reply("PATCH", path, body, headers=headers)
    managers = {each["manager"]: each["operation"] for each in found["metadata"]["managedFields"]}
    assert (status, managers) == (200, {"one": "Update", "two": "Apply"})


def test_the_user_agent_names_the_manager(server):
    headers = {"user-agent": "kubectl/v1.36.0 (linux/amd64)"}
    _, made = server.reply("POST", CONFIG_MAPS, config_map("a", k="v"), headers=headers)
    assert made["metadata"]["managedFields"][0]["manager"] == "kubectl"


def test_updates_create_the_kinds_that_upstream_creates(server):
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    body = {"metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": 15}}
    assert server.reply("PUT", path, body)[0] == 201
    status, error = server.reply("PUT", path, body)
    assert (status, error["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


def test_events_have_two_versions_of_one_object(server):
    body = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "message": "m",
        "source": {"component": "c"},
    }
    server.reply("POST", "/api/v1/namespaces/default/events", body)
    _, found = server.reply("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e")
    assert (found["note"], found["regarding"]["name"]) == ("m", "p")
    assert found["deprecatedSource"] == {"component": "c"}
    path = "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3Dp"
    assert len(server.reply("GET", path)[1]["items"]) == 1
    path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
    labels = {"labels": {"a": "b"}}
    status, found = server.reply("PUT", path, found | {"metadata": found["metadata"] | labels})
    assert (status, found["apiVersion"], found["note"]) == (200, "events.k8s.io/v1", "m")


def test_autoscalers_have_two_versions_of_one_object(server):
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    body = {
        "metadata": {"name": "h"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 70,
        },
    }
    assert server.reply("POST", path, body)[0] == 201
    _, found = server.reply("GET", f"{path}/h".replace("/v1/", "/v2/"))
    (metric,) = found["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 70}
    assert server.reply("GET", f"{path}/h")[1]["spec"]["targetCPUUtilizationPercentage"] == 70


def test_an_update_in_another_version_keeps_the_status(server):
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3}
    body = {"metadata": {"name": "h"}, "spec": spec}
    server.reply("POST", path, body)
    newer = f"{path}/h".replace("/v1/", "/v2/")
    current = {"name": "cpu", "current": {"averageValue": "2", "averageUtilization": 5}}
    metrics = [{"type": "Resource", "resource": current}]
    status = {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": metrics}
    _, found = server.patch(f"{newer}/status", {"status": status})
    _, old = server.reply("GET", f"{path}/h")
    changed = old | {"spec": spec | {"maxReplicas": 5}, "status": {"currentReplicas": 9}}
    assert server.reply("PUT", f"{path}/h", changed)[0] == 200
    _, after = server.reply("GET", newer)
    assert (after["spec"]["maxReplicas"], after["status"]) == (5, found["status"])


UNASSIGNED = "pod {} does not have a host assigned"
CHOOSE = "a container name must be specified for pod two, choose one of: [i a b]"
SIMULATED = " is not possible, because containers are simulated"


@pytest.mark.parametrize(
    ("name", "query", "status", "message"),
    [
        ("none", "", 404, 'pods "none" not found'),
        ("one", "", 400, UNASSIGNED), ("one", "?container=", 400, UNASSIGNED),
        ("one", "?container=a", 400, UNASSIGNED),
        ("one", "?container=b", 400, "container b is not valid for pod one"),
        ("two", "", 400, CHOOSE), ("two", "?container=", 400, CHOOSE),
        ("two", "?container=b", 400, UNASSIGNED), ("two", "?container=i", 400, UNASSIGNED),
        ("two", "?container=z", 400, "container z is not valid for pod two"),
        ("lost", "", 404, 'pods "nowhere" not found'),
        ("lost", "?container=z", 400, "container z is not valid for pod lost"),
        ("bound", "", 400, SIMULATED), ("bound", "?container=a", 400, SIMULATED),
    ],
)  # fmt: skip
@pytest.mark.parametrize("part", ["log", "exec", "attach", "portforward"])
def test_what_is_answered_without_a_container(server, part, name, query, status, message):
    server.reply("POST", "/api/v1/nodes", {"kind": "Node", "metadata": {"name": "n"}})
    first, second = {"name": "a", "image": "x"}, {"name": "b", "image": "x"}
    for pod_name, spec in {
        "one": {"containers": [first]},
        "two": {"containers": [first, second], "initContainers": [{"name": "i", "image": "x"}]},
        "lost": {"nodeName": "nowhere", "containers": [first]},
        "bound": {"nodeName": "n", "containers": [first]},
    }.items():
        server.reply("POST", PODS, pod(pod_name) | {"spec": spec})
    if part == "portforward" and "container" in message:
        # It needs no container.
        unbound = UNASSIGNED if name != "lost" else 'pods "nowhere" not found'
        message = message if message == SIMULATED else unbound
        status = 404 if name == "lost" else 400
    expected = f"{part}{message}" if message == SIMULATED else message.format(name)
    answered, found = server.reply("GET", f"{PODS}/{name}/{part}{query}")
    if part == "log" and message == UNASSIGNED:
        assert (answered, found) == (204, "")
    else:
        assert (answered, found["message"][: len(expected)]) == (status, expected)


@pytest.mark.parametrize(
    ("query", "finalizers", "is_warned"),
    [
        pytest.param("", ["orphan"], True, id="by default the pods stay"),
        pytest.param("?propagationPolicy=Orphan", ["orphan"], False, id="explicitly"),
        pytest.param("?propagationPolicy=Foreground", ["foregroundDeletion"], False, id="first"),
        pytest.param("?propagationPolicy=Background", None, False, id="later"),
    ],
)
def test_deleted_jobs_orphan_their_pods_by_default(server, query, finalizers, is_warned):
    path = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    server.reply("POST", path, {"metadata": {"name": "j"}, "spec": {"template": template}})
    found = server.send("DELETE", f"{path}/j{query}")
    assert (found.header("warning") is not None) == is_warned
    stored = server.store.get(("batch", "Job"), "default/j")
    assert (None if stored is None else list(stored.metadata.finalizers)) == finalizers


CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical"])
def test_system_priority_classes_cannot_be_deleted(server, name):
    status, error = server.reply("DELETE", f"{CLASSES}/{name}")
    assert status == 403
    assert error["message"] == (
        f'priorityclasses.scheduling.k8s.io "{name}" is forbidden: this is a system priority class'
        " and cannot be deleted"
    )
    server.reply("POST", CLASSES, {"metadata": {"name": "own"}, "value": 1})
    assert server.reply("DELETE", f"{CLASSES}/own")[0] == 200


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def test_a_scale_has_no_managed_fields_but_its_writer_owns_the_replicas(server):
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod("a")["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template, "replicas": 1}
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    server.reply("POST", f"{DEPLOYMENTS}?fieldManager=maker", document | {"spec": spec})
    path = f"{DEPLOYMENTS}/a/scale"
    _, scale = server.reply("GET", path)
    assert "managedFields" not in scale["metadata"]
    scale["spec"]["replicas"] = 3
    _, scale = server.reply("PUT", f"{path}?fieldManager=scaler", scale)
    assert scale["spec"] == {"replicas": 3}
    assert "managedFields" not in scale["metadata"]
    _, found = server.reply("GET", f"{DEPLOYMENTS}/a")
    owners = {
        entry["manager"]: "f:replicas" in entry["fieldsV1"].get("f:spec", {})
        for entry in found["metadata"]["managedFields"]
    }
    assert owners == {"maker": False, "scaler": True}


@pytest.mark.parametrize(
    ("sent", "is_restored", "kept"),
    [
        ({"generation": 4, "creationTimestamp": "2020-01-01T00:00:00Z"}, True,
         {"generation": 4, "creationTimestamp": "2020-01-01T00:00:00Z"}),
        ({"generation": 4}, True, {"generation": 4, "creationTimestamp": "2026-03-02T10:00:01Z"}),
        ({"generation": 4, "creationTimestamp": "2020-01-01T00:00:00Z"}, False,
         {"generation": 1, "creationTimestamp": "2026-03-02T10:00:01Z"}),
    ],
)  # fmt: skip
def test_an_applied_object_that_is_restored_keeps_its_time_and_its_generation(
    server, sent, is_restored, kept
):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    body = {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"} | sent,
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }  # fmt: skip
    request = HttpRequest(
        "PATCH", "/apis/apps/v1/namespaces/default/daemonsets/d", "fieldManager=restore",
        {"content-type": "application/apply-patch+yaml"}, json.dumps(body).encode(),
        is_restored=is_restored,
    )  # fmt: skip
    found = server.api.handle(request, ADMIN, server.now_ns + 1_000_000_000)
    assert found.status == 201, found.body
    metadata = json.loads(found.body)["metadata"]
    assert {name: metadata[name] for name in kept} == kept
