"""The scheduling queue over HTTP: why pods wait, what may move them, and moves by hand."""

import podwright as pw
from podwright.online.apiserver import ClusterClock, ClusterOptions, new_cluster
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, cluster_of, pod
from podwright.scheduler.config import Gates
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording.log.replay import verify

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"


def paused(serve, cluster=None):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster or cluster_of(), clock)


def large(name, cpu="1000"):
    requests = {"resources": {"requests": {"cpu": cpu}}}
    return pod(name, containers=[{"name": "main", "image": "app", **requests}])


def waiting(served, place, count=1):
    found = served.eventually(f"{V1}/queue", lambda found: found["counts"][place] == count)
    return found["pods"][place]


def test_a_pod_that_waits_has_its_reason_and_the_events_that_may_move_it(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    (found,) = waiting(served, "unschedulable")
    assert found["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    plugins = {each["event"]: each["plugins"] for each in found["movedBy"]}
    assert plugins["NodeAdd"] == ["NodeResourcesFit"]
    assert plugins["AssignedPodDelete"] == ["NodeResourcesFit"]
    assert "NodeUpdateNodeAnnotation" not in plugins
    served.send("POST", PODS, pod("gated", schedulingGates=[{"name": "quota"}]))
    (gated,) = waiting(served, "gated")
    events = [each["event"] for each in gated["movedBy"]]
    assert "UnschedulablePodUpdatePodSchedulingGatesEliminated" in events
    assert "NodeAdd" not in events


def test_an_event_that_is_named_moves_the_pod(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    waiting(served, "unschedulable")
    node = served.send("GET", "/api/v1/nodes")[1]["items"][0]
    for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        node["metadata"].pop(key, None)
    node["metadata"]["name"] = "another"
    status, _ = served.send("POST", "/api/v1/nodes", node)
    assert status == 201
    # No other pod is active, so it does not wait for the end of its backoff.
    served.eventually(
        f"{V1}/queue",
        lambda found: [each["attempts"] for each in found["pods"]["unschedulable"]] == [2],
    )


class Failing(pw.Plugin):
    """A plugin that cannot decide."""

    name = "Failing"

    def pre_filter(self, cycle: pw.Cycle) -> pw.Status:
        return pw.Status.error("no answer")


def test_each_place_of_the_queue_is_shown_by_its_name(serve):
    cluster = new_cluster(
        SchedulerOptions(plugins=(Failing,)),
        now_ns=START_NS,
        options=ClusterOptions(),
        server_options=SERVER,
    )
    served = paused(serve, cluster)
    served.send("POST", PODS, pod("web"))
    (found,) = waiting(served, "errorBackoff")
    assert found["pod"] == "default/web"
    status, only = served.send("GET", f"{V1}/queue?place=errorBackoff")
    assert (status, set(only["pods"])) == (200, {"errorBackoff"})
    assert set(found_counts := served.send("GET", f"{V1}/queue")[1]["counts"]) == {
        "active", "backoff", "errorBackoff", "unschedulable", "gated", "inFlight",
    }, found_counts  # fmt: skip


def test_a_pod_is_moved_by_hand_and_tried_at_once(serve):
    cluster = cluster_of()
    served = paused(serve, cluster)
    served.send("POST", PODS, large("large"))
    waiting(served, "unschedulable")
    status, moved = served.send("POST", f"{V1}/queue/default/large/move")
    assert status == 200, moved
    assert (moved["placeBefore"], moved["place"], moved["node"]) == (
        "unschedulable",
        "unschedulable",
        "",
    )
    assert moved["waiting"]["attempts"] == 2
    served.send("POST", PODS, pod("gated", schedulingGates=[{"name": "quota"}]))
    status, moved = served.send("POST", f"{V1}/queue/default/gated/move")
    assert (status, moved["place"], moved["waiting"]["gatedBy"]) == (
        200,
        "gated",
        "SchedulingGates",
    )
    _, text = served.send("GET", f"{V1}/pods/default/large/attempts")
    assert [each["attempt"] for each in text["attempts"]] == [1, 2]


def test_a_pod_in_backoff_is_moved_by_hand_before_its_end(serve):
    options = SchedulerOptions(gates=Gates({"SchedulerPopFromBackoffQ": False}))
    cluster = new_cluster(options, now_ns=START_NS, server_options=SERVER)
    cluster.world.add(*generated_nodes(2))
    served = paused(serve, cluster)
    served.send("POST", PODS, large("large", cpu="20"))
    waiting(served, "unschedulable")
    name = served.send("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    room = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    patch = {"status": {"capacity": room, "allocatable": room}}
    merge = {"content-type": "application/merge-patch+json"}
    assert served.send("PATCH", f"/api/v1/nodes/{name}/status", patch, merge)[0] == 200
    (found,) = waiting(served, "backoff")
    assert found["backoffEnd"]
    assert found["movedBy"] == []
    status, moved = served.send("POST", f"{V1}/queue/default/large/move")
    assert (status, moved["placeBefore"], moved["place"]) == (200, "backoff", None)
    assert moved["node"] == name


def test_the_replay_of_a_run_with_moves_is_exact(serve):
    cluster = cluster_of()
    served = paused(serve, cluster)
    for number in range(4):
        served.send("POST", PODS, large(f"large-{number}", cpu=f"{20 * number + 1}"))
    for number in (3, 1, 3, 2, 2):
        served.send("POST", f"{V1}/queue/default/large-{number}/move")
    served.send("POST", f"{V1}/clock/step", {"duration": "20s"})
    log = cluster.world.log
    found = verify(log)
    assert found.is_same, found.difference
    assert sum(type(entry.event).__name__ == "PodActivated" for entry in log.entries()) == 5


def test_pods_that_cannot_be_moved_are_problems(serve):
    served = paused(serve)
    served.send("POST", PODS, pod("app"))
    served.eventually(f"{PODS}/app", lambda found: found["spec"].get("nodeName"))
    status, found = served.send("POST", f"{V1}/queue/default/app/move")
    assert (status, found["status"]) == (409, 409)
    assert "default/app is not in the scheduling queue" in found["detail"]
    status, found = served.send("POST", f"{V1}/queue/default/none/move")
    assert (status, found["detail"]) == (404, "there is no pod default/none")


def test_a_limit_shows_the_first_pods_of_each_subqueue(serve):
    served = paused(serve)
    for number in range(7):
        served.send("POST", PODS, large(f"large-{number}"))
    pods = [each["pod"] for each in waiting(served, "unschedulable", count=7)]
    _, found = served.send("GET", f"{V1}/queue?place=unschedulable&limit=3")
    assert found["counts"]["unschedulable"] == 7
    assert [each["pod"] for each in found["pods"]["unschedulable"]] == pods[:3]


def test_pods_of_a_workload_that_wait_for_one_cause_are_a_group(serve):
    served = paused(serve)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "train"}}
    _, made = served.send("POST", "/api/v1/namespaces/default/configmaps", owner)
    uid = made["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "train", "uid": uid}
    for number in range(3):
        made = large(f"train-{number}")
        made["metadata"]["ownerReferences"] = [owner | {"controller": True}]
        served.send("POST", PODS, made)
    for number in range(2):
        served.send("POST", PODS, large(f"alone-{number}"))
    served.send("POST", PODS, pod("held", schedulingGates=[{"name": "quota"}]))
    waiting(served, "unschedulable", count=5)
    _, found = served.send("GET", f"{V1}/queue/groups?pods=2")
    assert [
        (each["place"], each["workload"], each["count"], each["pods"]) for each in found["groups"]
    ] == [
        ("unschedulable", "ConfigMap/train", 3, ["default/train-0", "default/train-1"]),
        ("unschedulable", "", 2, ["default/alone-0", "default/alone-1"]),
        ("gated", "", 1, ["default/held"]),
    ]
    assert found["groups"][0]["first"]["rejectedBy"] == ["NodeResourcesFit"]
    _, found = served.send("GET", f"{V1}/queue/groups?limit=1")
    assert (len(found["groups"]), found["groupCount"], found["counts"]["unschedulable"]) == (
        1,
        3,
        5,
    )
