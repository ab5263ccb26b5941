"""Failures of nodes over HTTP."""

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.apiserver import ClusterClock
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod
from podwright.simulation.recording.log.replay import verify

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"


def paused():
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return clock


def readiness(served, node):
    status, found = served.send("GET", f"/api/v1/nodes/{node}")
    assert status == 200
    return {each["type"]: each["status"] for each in found["status"]["conditions"]}["Ready"]


def test_a_node_that_fails_is_not_ready_until_it_is_restored(serve):
    served = serve(cluster_of(), paused())
    name = served.send("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    status, found = served.send("POST", f"{V1}/nodes/{name}/fail")
    assert (status, found) == (200, {"hasKubelets": True, "nodes": [name]})
    assert served.send("GET", f"{V1}/nodes/silent")[1]["nodes"] == [name]
    served.send("POST", f"{V1}/clock/step", {"duration": "2m"})
    assert readiness(served, name) == "Unknown"
    status, found = served.send("POST", f"{V1}/nodes/{name}/restore")
    assert (status, found) == (200, {"hasKubelets": True, "nodes": []})
    served.send("POST", f"{V1}/clock/step", {"duration": "1m"})
    assert readiness(served, name) == "True"
    found = verify(served.cluster.world.log)
    assert found.is_same, found.difference


def test_a_node_fails_at_once_while_the_cluster_has_stopped_at_a_breakpoint(serve):
    served = serve(cluster_of(), paused())
    name = served.send("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    condition = {"condition": "pod=default/web"}
    assert served.send("POST", f"{V1}/breakpoints", condition)[0] in (200, 201)
    served.send("POST", PODS, pod("web"))
    served.eventually(f"{V1}/breakpoints", lambda found: found["stoppedAt"] is not None)
    path = f"{V1}/nodes/{name}"
    assert served.send("POST", f"{path}/fail")[1]["nodes"] == [name]
    assert served.send("POST", f"{path}/restore")[1]["nodes"] == []
    assert served.send("POST", f"{path}/fail")[1]["nodes"] == [name]
    added = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "added"}}
    assert served.send("POST", "/api/v1/nodes", added)[0] == 201
    status, problem = served.send("POST", f"{V1}/nodes/added/fail")
    assert (status, "stopped" in problem["detail"]) == (409, True)
    served.send("POST", f"{V1}/clock/step", {"duration": "2m"})
    assert readiness(served, name) == "Unknown"
    found = verify(served.cluster.world.log)
    assert found.is_same, found.difference


def test_a_node_that_is_deleted_is_no_longer_silent(serve):
    served = serve(cluster_of(), paused())
    node = served.send("GET", "/api/v1/nodes")[1]["items"][0]
    name = node["metadata"]["name"]
    served.send("POST", f"{V1}/nodes/{name}/fail")
    served.send("DELETE", f"/api/v1/nodes/{name}")
    assert served.send("GET", f"{V1}/nodes/silent")[1]["nodes"] == []
    another = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}}
    assert served.send("POST", "/api/v1/nodes", another | {"status": node["status"]})[0] == 201
    served.send("POST", f"{V1}/clock/step", {"duration": "1s"})
    assert served.send("GET", f"{V1}/nodes/silent")[1]["nodes"] == []


def test_a_node_that_does_not_exist_cannot_fail(serve):
    served = serve(cluster_of(), paused())
    status, problem = served.send("POST", f"{V1}/nodes/none/fail")
    assert (status, problem["detail"]) == (404, "there is no node none")


def test_a_copy_of_a_node_of_another_cluster_cannot_fail(serve):
    served = serve(cluster_of(), paused())
    name = served.send("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    patch = {"metadata": {"annotations": {SOURCE_UID: "u"}}}
    merge = {"content-type": "application/merge-patch+json"}
    assert served.send("PATCH", f"/api/v1/nodes/{name}", patch, merge)[0] == 200
    assert served.send("POST", f"{V1}/nodes/{name}/fail")[0] == 409
    assert served.send("GET", f"{V1}/nodes/silent")[1]["nodes"] == []


def test_nodes_without_kubelets_cannot_fail(serve):
    served = serve(cluster_of(has_lifecycle=False), paused())
    name = served.send("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    status, problem = served.send("POST", f"{V1}/nodes/{name}/fail")
    assert (status, problem["detail"]) == (409, "no kubelets are simulated; omit --no-lifecycle")
    assert served.send("GET", f"{V1}/nodes/silent")[1] == {"hasKubelets": False, "nodes": []}
