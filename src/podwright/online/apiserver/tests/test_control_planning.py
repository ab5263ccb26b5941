"""Plans over HTTP: what fits, and how nodes can be drained; the cluster does not change."""

import contextlib
import json
from collections import Counter

import pytest

from podwright.online.apiserver import ClusterClock, new_cluster
from podwright.online.apiserver.tests.conftest import SERVER, START_NS
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node

pytestmark = pytest.mark.usefixtures("answering")
V1 = "/podwright/v1"
JSON = {"content-type": "application/json"}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1500m"}}}]
    },
}

GROUP = {"name": "small", "maxSize": 3, "template": {"allocatable": {"cpu": "2"}}}


def is_stream(served, path, body):
    """Return whether the reply to a question is a stream of lines."""
    with contextlib.closing(served.connection()) as connection:
        connection.request("POST", f"{V1}/{path}", json.dumps(body), JSON)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        response.read()
        return response.getheader("content-type") == "application/x-ndjson"


@pytest.fixture
def served(serve):
    cluster = new_cluster(SchedulerOptions(), now_ns=START_NS, server_options=SERVER)
    cluster.world.add(*(make_node(f"n{i}", cpu="4", zone="ab"[i]) for i in range(2)))
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster, clock)


def test_capacity_and_drains_of_the_running_cluster(served):
    status, found = served.send("POST", f"{V1}/capacity", {"pods": [POD], "loss": ["zone"]})
    assert (status, found["status"]["replicas"]) == (200, 4)
    assert found["status"]["pods"][0]["replicasInZones"] == {"a": 2, "b": 2}
    assert [each["name"] for each in found["status"]["losses"]] == ["a", "b"]
    status, plan = served.send("POST", f"{V1}/drain-plan", {"nodes": ["n0"]})
    assert (status, plan["isComplete"], plan["steps"][0]["nodes"]) == (200, True, ["n0"])
    status, node = served.send("GET", "/api/v1/nodes/n0")
    assert "unschedulable" not in node["spec"]


def test_the_nodes_to_buy_have_manifests_and_the_pods_that_they_get(served):
    small = {"name": "small", "price": 1, "allocatable": {"cpu": 2, "memory": "4Gi"}}
    pods = [POD | {"metadata": {"name": f"web-{i}", "namespace": "default"}} for i in range(5)]
    status, found = served.send("POST", f"{V1}/purchase", {"types": [small], "pods": pods})
    assert (status, found["nodes"]) == (200, [{"type": "small", "count": 1, "price": 1}])
    assert (found["pending"], found["scheduled"], found["unplaced"]) == (5, 5, [])
    (node,) = found["newNodes"]
    assert node["status"]["allocatable"]["cpu"] == "2"
    assert Counter(move["to"] for move in found["moves"]) == {
        "n0": 2, "n1": 2, node["metadata"]["name"]: 1,
    }  # fmt: skip
    body = {"pods": pods, "poolLabel": "topology.kubernetes.io/zone"}
    status, found = served.send("POST", f"{V1}/purchase", body)
    assert (status, found["scheduled"]) == (200, 5)
    assert [(each["count"], each["type"] in "ab") for each in found["nodes"]] == [(1, True)]
    assert served.send("POST", "/api/v1/nodes", node)[0] == 201
    status, problem = served.send("POST", f"{V1}/purchase", {"types": [small | {"price": -1}]})
    assert (status, problem["errors"][0]["field"]) == (422, "types[0].price")


def test_an_autoscaler_takes_part_in_a_copy_of_the_cluster(served):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"replicas": 5, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert served.send("POST", path, deployment | {"spec": spec})[0] == 201
    served.send("POST", f"{V1}/clock/step", {"duration": "30s"})
    status, found = served.send("POST", f"{V1}/autoscaling", {"groups": [GROUP]})
    assert status == 200
    (explained,) = found["pods"]
    assert (explained["chosen"], explained["groups"][0]["maxSize"]) == (["small"], 3)
    (node,) = (each["metadata"]["name"] for each in found["newNodes"])
    assert [(move["pod"], move["to"]) for move in found["moves"]] == [(explained["pod"], node)]
    assert (found["pending"], found["removedNodes"]) == ([], [])
    assert [each["size"] for each in found["groups"][0]["sizes"]] == [0, 1]
    assert len(served.send("GET", "/api/v1/nodes")[1]["items"]) == 2
    for body, field in (
        ({"groups": [GROUP | {"maxSize": -1}]}, "groups[0].maxSize"),
        ({"groups": [GROUP], "duration": "-1s"}, "duration"),
        ({"groups": [GROUP], "duration": "soon"}, "duration"),
        ({"groups": [GROUP], "duration": "168h1s"}, "duration"),
        ({}, "groups"),
    ):
        status, problem = served.send("POST", f"{V1}/autoscaling", body)
        named = problem["errors"][0] if "errors" in problem else problem
        assert (status, named["field"]) == (422, field), problem
    path = "/api/v1/nodes/n0"
    labels = {"karpenter.sh/nodepool": "k"}
    merge = {"content-type": "application/merge-patch+json"}
    served.send("PATCH", path, {"metadata": {"labels": labels}}, merge)
    status, found = served.send("POST", f"{V1}/autoscaling", {"duration": "1m"})
    assert status == 200
    (helped,) = found["pods"][0]["groups"]
    assert (helped["group"], helped["size"], helped["maxSize"]) == ("k", 1, None)


def test_pods_of_a_drained_node_have_replacements_with_their_own_uids(served):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert served.send("POST", path, deployment | {"spec": spec})[0] == 201
    served.send("POST", f"{V1}/clock/step", {"duration": "30s"})
    pods = served.send("GET", "/api/v1/namespaces/default/pods")[1]["items"]
    node = pods[0]["spec"]["nodeName"]
    (step,) = served.send("POST", f"{V1}/drain-plan", {"nodes": [node]})[1]["steps"]
    assert [(move["node"], bool(move["to"])) for move in step["moves"]] == [(node, True)]


@pytest.mark.parametrize("answering", ["in a copy"], indirect=True)
def test_an_answer_with_progress_ends_with_the_reply(served, monkeypatch):
    module = "podwright.online.apiserver.control.scheduling.progress"
    monkeypatch.setattr(f"{module}.PROGRESS_SECONDS", 0)
    for path, body, steps in (
        ("capacity", {"pods": [POD]}, [(done, 0) for done in range(1, 5)]),
        ("capacity", {"loss": ["node"]}, [(1, 2), (2, 2)]),
        ("drain-plan", {"nodes": ["n0"]}, [(1, 1)]),
        # How long the pods take to settle is not known.
        ("autoscaling", {"groups": [GROUP]}, [(0, 0), *((done, 60) for done in range(1, 61))]),
    ):
        with contextlib.closing(served.connection()) as connection:
            connection.request("POST", f"{V1}/{path}", json.dumps(body | {"progress": True}), JSON)
            lines = connection.getresponse().read().splitlines()
        *progress, last = map(json.loads, lines)
        assert [(each["done"], each["total"]) for each in progress] == steps
        assert last == served.send("POST", f"{V1}/{path}", body)[1]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("capacity", {"pods": [POD], "excludeNodes": ["n9"]}, "excludeNodes[0]"),
        ("capacity", {"pods": [POD], "maxLimit": -1}, "maxLimit"),
        ("capacity", {}, "pods"),
        ("capacity", {"pods": [POD, {"kind": "Pod"}]}, "pods[1].apiVersion"),
        (
            "capacity",
            {"pods": [{name: POD[name] for name in ("apiVersion", "kind", "spec")}]},
            "pods[0].metadata.name",
        ),
        ("purchase", {"pods": [{"kind": "Pod"}]}, "pods[0].apiVersion"),
        ("purchase", {"types": [{"name": "a", "price": -1}]}, "types[0].price"),
        ("autoscaling", {"groups": [{"name": "a", "maxSize": 1}]}, "groups[0].template"),
        ("drain-plan", {"nodes": ["n9"]}, "nodes[0]"),
    ],
)
def test_a_wrong_question_names_its_field(unchanged, path, body, field):
    status, problem = unchanged.send("POST", f"{V1}/{path}", body)
    assert status == 422
    assert problem["field"] == field


SMALL = {"name": "small", "price": 1, "allocatable": {"cpu": 2, "memory": "4Gi"}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("capacity", {"pods": [POD]}),
        ("drain-plan", {"nodes": ["n0"]}),
        ("purchase", {"types": [SMALL], "pods": [POD]}),
        ("autoscaling", {"groups": [GROUP], "duration": "1m"}),
        ("what-if", {}),
    ],
)
def test_an_answer_is_a_stream_of_lines_only_on_request(served, path, body):
    assert not is_stream(served, path, body)
    assert is_stream(served, path, body | {"progress": True})


def test_a_scenario_starts_with_the_running_cluster(served):
    scenario = {
        "apiVersion": "podwright.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "more"},
        "spec": {
            "cluster": {"files": ["cluster:"]},
            "operations": [{"apply": POD}, {"after": "1m", "drain": "n0"}],
            "expectations": [{"name": "fits", "pendingAtMost": 0}],
            "stop": {"at": "1h"},
        },
    }
    status, found = served.send("POST", f"{V1}/scenarios", {"scenario": scenario})
    assert (status, found["passed"]) == (200, True)
    assert found["results"][0]["message"] == "0 of 1 pods are pending"
    assert found["runs"][0]["summary"]["report"]["drains"][0]["node"] == "n0"
    status, node = served.send("GET", "/api/v1/nodes/n0")
    assert "unschedulable" not in node["spec"]


@pytest.mark.parametrize(
    ("spec", "path", "text"),
    [
        ({"cluster": {"files": ["/etc/passwd"]}}, "spec.cluster.files[0]", "has no files"),
        ({"cluster": {"run": {"folder": "/x"}}}, "spec.cluster.run.folder", "no folder of runs"),
        ({"stop": {"at": "x"}}, "spec.stop.at", "Invalid value"),
    ],
)
def test_a_scenario_that_is_not_valid_is_a_problem_with_its_path(served, spec, path, text):
    scenario = {"apiVersion": "podwright.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    status, problem = served.send("POST", f"{V1}/scenarios", {"scenario": scenario})
    assert status == 422
    assert path in json.dumps(problem)
    assert text in json.dumps(problem)


NODES = """
apiVersion: v1
kind: Node
metadata: {generateName: node-}
status:
  capacity: {cpu: "4", memory: 32Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
"""
BENCHMARK = {
    "name": "Basic",
    "workloadTemplate": [
        {"opcode": "createNodes", "count": 4, "nodeTemplatePath": "../templates/node.yaml"},
        {"opcode": "createPods", "countParam": "$pods", "collectMetrics": True},
    ],
    "workloads": [
        {"name": "few", "threshold": {"slow": 1e9, "": 1}, "params": {"pods": 4}},
        {"name": "more", "params": {"pods": 40}, "labels": ["performance"]},
    ],
}
TEMPLATES = {"../templates/./node.yaml": NODES}


def test_workloads_of_scheduler_perf_run_beside_the_cluster(served):
    body = {"testCases": [BENCHMARK], "templates": TEMPLATES}
    status, found = served.send("POST", f"{V1}/scheduler-perf", body)
    assert (status, found["passed"]) == (200, True)
    assert [each["workload"] for each in found["workloads"]] == ["few", "more"]
    (comparison,) = found["workloads"][0]["comparisons"]
    assert (comparison["threshold"], comparison["unit"]) == (1, "pods/s")
    assert comparison["value"] > 1
    slow = body | {"topic": "slow", "workload": "few"}
    status, found = served.send("POST", f"{V1}/scheduler-perf", slow)
    assert (status, found["passed"], len(found["workloads"])) == (200, False, 1)
    assert [n["metadata"]["name"] for n in served.send("GET", "/api/v1/nodes")[1]["items"]] == [
        "n0",
        "n1",
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"templates": {}}, "../templates/node.yaml: is not among the templates"),
        ({"testCases": [BENCHMARK, {}]}, "[1].name"),
        ({"labelFilter": "fast"}, "none of 2 workloads is selected by"),
        ({"testCase": "Basic", "workload": "fewer"}, 'did you mean \\"Basic/few\\"?'),
    ],
)
def test_a_benchmark_that_cannot_be_executed_is_a_problem(served, change, text):
    body = {"testCases": [BENCHMARK], "templates": TEMPLATES} | change
    status, problem = served.send("POST", f"{V1}/scheduler-perf", body)
    assert status == 422
    assert text in json.dumps(problem)
