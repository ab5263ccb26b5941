"""Explanations of pods as they are now, as a matrix, and the list of their attempts."""

import json
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import pytest
from tests.http_servers import serving

from podwright.apimachinery.objects import with_fields
from podwright.online.apiserver import ClusterClock, ClusterOptions, new_cluster
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.scheduling.present_scheduler import present_scheduler
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, cluster_of, pod
from podwright.online.client import ExtenderClient
from podwright.scheduler.config import read_configuration
from podwright.scheduler.machine import SchedulerOptions

pytestmark = pytest.mark.usefixtures("answering")
KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
SMALL_POD = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
MERGE = {"content-type": "application/merge-patch+json"}


def paused(serve, cluster=None):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster or cluster_of(), clock)


def large(name, **spec):
    requests = {"resources": {"requests": {"cpu": "1000"}}}
    return pod(name, containers=[{"name": "main", "image": "app", **requests}], **spec)


def explained(served, name, query):
    status, found = served.send("GET", f"{V1}/pods/default/{name}/explanation?{query}")
    assert status == 200, found
    return found


def test_a_pending_pod_is_explained_as_it_would_be_scheduled_now(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    recorded = explained(served, "large", "view=full")
    now = explained(served, "large", "attempt=now&view=full")
    assert all(remedy.pop("changes") for remedy in now["remedies"])
    assert now["remedies"] == recorded["remedies"] != []
    assert (now["node"], now["message"]) == (None, recorded["message"])
    assert "run" not in now
    # The recorded attempt stays as it was; now there is a third node.
    name = served.send("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    _, node = served.send("GET", f"/api/v1/nodes/{name}")
    for key in ("uid", "resourceVersion", "creationTimestamp"):
        node["metadata"].pop(key, None)
    node["metadata"]["name"] = "huge"
    node["status"]["capacity"]["cpu"] = node["status"]["allocatable"]["cpu"] = "2000"
    served.clock.pause()
    assert served.send("POST", "/api/v1/nodes", node)[0] == 201
    assert explained(served, "large", "attempt=1")["nodeCount"] == 2
    assert explained(served, "large", "attempt=now")["node"] == "huge"


def test_an_explanation_of_now_changes_nothing(serve):
    cluster = cluster_of(9)
    served = paused(serve, cluster)
    served.send("POST", PODS, pod("gated", schedulingGates=[{"name": "wait"}]))
    held = explained(served, "gated", "attempt=now")
    assert (held["outcome"], held["node"]) == ("SchedulingGated", None)
    served.send("POST", PODS, pod("other", schedulerName="another"))
    assert explained(served, "other", "attempt=now")["outcome"] == "Ignored"
    events, version = len(cluster.world.log), cluster.store.resource_version
    for _ in range(3):
        explained(served, "gated", "attempt=now")
    assert (len(cluster.world.log), cluster.store.resource_version) == (events, version)


# Of 150 nodes 100 are searched, from where the search before ended.
@pytest.mark.parametrize(("node_count", "tie_count"), [(9, 9), (150, 100)])
@pytest.mark.parametrize("seed", range(4))
def test_the_draw_of_now_is_that_of_the_next_cycle(serve, seed, node_count, tie_count):
    half = read_configuration({**KIND, "percentageOfNodesToScore": 50}, source="test")
    cluster = new_cluster(
        SchedulerOptions(seed=seed, configuration=half),
        now_ns=START_NS,
        options=ClusterOptions(),
        server_options=SERVER,
    )
    cluster.world.add(*generated_nodes(node_count))
    served = paused(serve, cluster)
    if node_count > tie_count:
        served.send("POST", PODS, pod("before"))
        served.eventually(f"{PODS}/before", lambda found: found["spec"].get("nodeName"))
        served.send("DELETE", f"{PODS}/before?gracePeriodSeconds=0")
    served.send("POST", PODS, pod("app", schedulingGates=[{"name": "wait"}]))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["gated"] == 1)
    over_http = explained(served, "app", "attempt=now")
    assert over_http["outcome"] == "SchedulingGated"
    scheduler = present_scheduler(cluster)
    gated = cluster.world.machine.pod("default/app")
    assert gated is not None
    ungated = with_fields(gated, "spec", scheduling_gates=())
    expected = scheduler.explain(ungated).decision
    assert expected.tie_count == tie_count
    patch = {"spec": {"schedulingGates": None}}
    served.send("PATCH", f"{PODS}/app", patch, MERGE)
    found = served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    assert found["spec"]["nodeName"] == expected.node


def test_a_placed_pod_is_explained_as_if_not_placed_yet(serve):
    served = paused(serve)
    served.send("POST", PODS, pod("app", containers=[SMALL_POD]))
    served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    now = explained(served, "app", "attempt=now&view=full")
    recorded = explained(served, "app", "view=full")
    assert now["currentNode"] == recorded["node"]
    assert now["totals"] == recorded["totals"]
    assert now["remedies"] == []


def test_a_matrix_has_the_results_of_the_full_view_as_columns(serve):
    cluster = cluster_of(3)
    names = [node.name for node in cluster.world.nodes]
    served = paused(serve, cluster)
    served.send("PATCH", f"/api/v1/nodes/{names[1]}", {"spec": {"unschedulable": True}}, MERGE)
    served.send("POST", PODS, pod("app", containers=[SMALL_POD]))
    served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    full = explained(served, "app", "view=full")
    matrix = explained(served, "app", "view=matrix")
    assert sorted(matrix["nodes"]) == names
    assert (matrix["node"], matrix["attempt"]) == (full["node"], 1)
    out = matrix["nodes"].index(names[1])
    assert matrix["rejectedBy"][out] == "NodeUnschedulable"
    assert matrix["totals"][out] is None
    for column, answer in zip(matrix["filters"], full["filters"], strict=True):
        assert (column["plugin"], column["applies"]) == (answer["plugin"], answer["applies"])
        results = [matrix["results"][index] for index in column["results"]]
        rejected = {
            node: result["reasons"]
            for node, result in zip(matrix["nodes"], results, strict=False)
            if result["kind"] == "rejected"
        }
        assert rejected == {node: found["reasons"] for node, found in answer["rejected"].items()}
    assert [len(each["results"]) for each in matrix["filters"] if each["applies"]]
    for column, scores in zip(matrix["scores"], full["scores"], strict=True):
        assert (column["plugin"], column["weight"]) == (scores["plugin"], scores["weight"])
        for name in ("raw", "normalized", "weighted"):
            found = dict(zip(matrix["nodes"], column[name], strict=True))
            assert {node: value for node, value in found.items() if value is not None} == {
                node: values[name] for node, values in scores["nodes"].items()
            }
    totals = dict(zip(matrix["nodes"], matrix["totals"], strict=True))
    assert {node: total for node, total in totals.items() if total is not None} == full["totals"]
    assert [matrix["nodes"][index] for index in matrix["winners"]] == full["winners"]
    assert explained(served, "app", "attempt=now&view=matrix")["nodes"] == matrix["nodes"]


def test_nodes_that_were_not_evaluated_differ_from_those_that_passed(serve):
    configuration = read_configuration({**KIND, "percentageOfNodesToScore": 1}, source="test")
    cluster = new_cluster(
        SchedulerOptions(configuration=configuration),
        now_ns=START_NS,
        server_options=SERVER,
    )
    cluster.world.add(*generated_nodes(150))
    served = paused(serve, cluster)
    served.send("POST", PODS, pod("app", containers=[SMALL_POD]))
    served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    matrix = explained(served, "app", "view=matrix")
    kinds = [result["kind"] for result in matrix["results"]]
    assert kinds == ["passed", "notEvaluated"]
    (column,) = [each for each in matrix["filters"] if each["plugin"] == "NodeResourcesFit"]
    assert column["results"].count(kinds.index("notEvaluated")) == 50


def test_the_attempts_of_a_pod_have_outcomes_and_messages(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    served.send("POST", f"{V1}/clock/step", {"duration": "6m"})
    served.send("POST", PODS, pod("app"))
    served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    status, found = served.send("GET", f"{V1}/pods/default/large/attempts")
    assert status == 200
    first, second = found["attempts"][:2]
    assert (first["attempt"], first["outcome"], first["node"]) == (1, "Unschedulable", None)
    assert first["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert (second["attempt"], second["outcome"]) == (2, "Unschedulable")
    assert second["message"] == first["message"]
    assert first["time"] < second["time"]
    recorded = explained(served, "large", "attempt=2")["run"]
    assert (recorded["event"], recorded["time"]) == (second["event"], second["time"])
    _, bound = served.send("GET", f"{V1}/pods/default/app/attempts")
    (only,) = bound["attempts"]
    _, app = served.send("GET", f"{PODS}/app")
    assert (only["outcome"], only["node"]) == ("Scheduled", app["spec"]["nodeName"])
    assert only["message"] == ""


def test_a_pod_without_attempts_differs_from_one_that_does_not_exist(serve):
    served = paused(serve)
    served.send("POST", PODS, pod("gated", schedulingGates=[{"name": "wait"}]))
    status, found = served.send("GET", f"{V1}/pods/default/gated/attempts")
    assert (status, found) == (200, {"pod": "default/gated", "attempts": []})
    for path in ("attempts", "explanation?attempt=now"):
        status, found = served.send("GET", f"{V1}/pods/default/none/{path}")
        assert (status, found["title"]) == (404, "Not Found")
        assert "default/none" in found["detail"]


class LastNode(BaseHTTPRequestHandler):
    """Keeps the last node, and the connection."""

    protocol_version = "HTTP/1.1"
    clients: ClassVar[set[tuple[str, int]]] = set()

    def do_POST(self):
        self.clients.add(self.client_address)
        names = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["NodeNames"]
        failed = dict.fromkeys(names[:-1], "not the last")
        body = json.dumps({"NodeNames": names[-1:], "FailedNodes": failed}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def extender():
    with serving(LastNode) as address:
        yield address


@pytest.mark.parametrize("answering", ["in a copy"], indirect=True)
def test_a_reader_calls_extenders_on_a_connection_of_its_own(serve, extender):
    settings = {"urlPrefix": extender, "filterVerb": "filter", "nodeCacheCapable": True}
    configuration = read_configuration({**KIND, "extenders": [settings]}, source="test")
    cluster = new_cluster(
        SchedulerOptions(configuration=configuration),
        now_ns=START_NS,
        server_options=SERVER,
        call_extender=ExtenderClient(configuration).call,
    )
    cluster.world.add(*generated_nodes(3))
    served = paused(serve, cluster)
    LastNode.clients.clear()
    served.send("POST", PODS, pod("app"))
    served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    for _ in range(2):
        now = explained(served, "app", "attempt=now&view=matrix")
        (column,) = [each for each in now["filters"] if each["plugin"] == "extenders[0]"]
        kinds = [now["results"][index] for index in column["results"]]
        assert [kind["kind"] for kind in kinds] == ["rejected", "rejected", "passed"]
        assert kinds[0]["reasons"] == ["not the last"]
    assert len(LastNode.clients) == 3
    served.send("POST", PODS, pod("later"))
    served.eventually(f"{PODS}/later", lambda found: found["spec"].get("nodeName"))
    assert len(LastNode.clients) == 3
