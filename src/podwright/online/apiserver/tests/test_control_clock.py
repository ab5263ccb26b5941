"""The clock over HTTP."""

import contextlib
import json

import pytest

from podwright.cluster.api.endpoints import ServerOptions, static_tokens
from podwright.online.apiserver import ClusterClock, new_cluster
from podwright.online.apiserver.cluster_clock import END_NS
from podwright.online.apiserver.tests.conftest import ADMIN, START_NS, cluster_of, pod
from podwright.scheduler.machine import SchedulerOptions

CLOCK = "/podwright/v1/clock"
PODS = "/api/v1/namespaces/default/pods"
START = "2027-01-15T08:00:00"


def paused(serve, cluster=None):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster or cluster_of(), clock)


def test_the_clock_is_shown(serve):
    status, found = paused(serve).send("GET", CLOCK)
    assert status == 200
    assert found.pop("isCaughtUp") in (True, False)
    assert found.pop("time").startswith(START)
    assert found == {"speed": 1.0, "isPaused": True, "stoppedAt": None}


def test_a_step_is_answered_when_everything_due_is_done(serve):
    served = paused(serve)
    served.send("POST", PODS, pod("web"))
    status, found = served.send("POST", f"{CLOCK}/step", {"duration": "90s"})
    assert (status, found["time"][:19]) == (200, "2027-01-15T08:01:30")
    assert found["isCaughtUp"]
    _, running = served.send("GET", f"{PODS}/web")
    assert running["status"]["phase"] == "Running"
    assert running["status"]["startTime"].startswith(START[:14])


def test_a_paused_cluster_goes_on_at_a_speed(serve):
    served = paused(serve)
    assert served.send("POST", f"{CLOCK}/speed", {"speed": 1000})[1]["speed"] == 1000
    status, found = served.send("POST", f"{CLOCK}/resume", {})
    assert (status, found["isPaused"]) == (200, False)
    served.eventually(CLOCK, lambda found: found["time"] > f"{START[:-2]}01")
    assert served.send("POST", f"{CLOCK}/pause")[1]["isPaused"]
    _, first = served.send("GET", CLOCK)
    assert served.send("GET", CLOCK)[1]["time"] == first["time"]


def test_the_clock_runs_to_a_time(serve):
    served = paused(serve)
    sent = {"time": "2027-01-15T10:00:00Z"}
    assert (
        served.send("POST", f"{CLOCK}/run-to", sent)[1]["time"] == "2027-01-15T10:00:00.000000000Z"
    )
    status, found = served.send("POST", f"{CLOCK}/run-to", {"time": "2027-01-15T09:00:00Z"})
    assert (status, found["field"]) == (422, "time")
    assert "has passed" in found["detail"]


@pytest.mark.parametrize(
    ("action", "body", "status", "field"),
    [
        ("step", {"duration": "soon"}, 422, "duration"),
        ("step", {"duration": "-5s"}, 422, "duration"),
        ("step", {"duration": "999999h"}, 422, "duration"),
        ("step", {"durations": "5s"}, 422, "durations"),
        ("speed", {"speed": 0}, 422, "speed"),
        ("speed", {"speed": "fast"}, 422, "speed"),
        ("speed", {"speed": 1e307}, 422, "speed"),
        ("run-to", {"time": "tomorrow"}, 422, "time"),
        ("rewind", {}, 404, ""),
    ],
)
def test_what_is_wrong_is_a_problem_document(unchanged, action, body, status, field):
    connection = unchanged.connection()
    connection.request(
        "POST", f"{CLOCK}/{action}", json.dumps(body), {"content-type": "application/json"}
    )
    response = connection.getresponse()
    found = json.loads(response.read())
    connection.close()
    assert response.getheader("content-type") == "application/problem+json"
    assert (response.status, found["status"], found.get("field", "")) == (status, status, field)
    assert found["type"] == "about:blank"
    assert found["detail"]
    assert unchanged.send("GET", CLOCK)[1]["time"].startswith(START)


@pytest.mark.parametrize("body", [b'{"\xff": 1}', b"[" * 100_000, b"{", b"\xff"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "clock/step"), ("PUT", "configuration"), ("POST", "snapshot"), ("POST", "writes")],
)
def test_a_body_that_is_not_json_is_a_bad_request(unchanged, method, path, body):
    connection = unchanged.connection()
    headers = {"content-type": "application/json"}
    connection.request(method, f"/podwright/v1/{path}", body, headers)
    response = connection.getresponse()
    found = json.loads(response.read())
    connection.close()
    assert (response.status, found["status"]) in {(400, 400), (422, 422)}
    assert "defect" not in found["detail"]


def test_forms_of_other_sites_are_not_bodies(serve):
    served = paused(serve)
    form = {"content-type": "text/plain"}
    assert served.send("POST", f"{CLOCK}/step", {"duration": "5s"}, form)[0] == 415
    foreign = {"origin": "http://other.example"}
    assert served.send("POST", f"{CLOCK}/step", {"duration": "5s"}, foreign)[0] == 403
    assert served.send("DELETE", CLOCK)[0] == 405
    assert served.send("POST", f"{CLOCK}/step", {"duration": "x" * (2 << 20)})[0] == 413


@pytest.mark.parametrize(
    ("duration", "status"), [("5s", 200), ("x" * (2 << 20), 413)], ids=["short", "too long"]
)
def test_a_body_may_come_in_chunks(serve, duration, status):
    served = paused(serve)
    body = json.dumps({"duration": duration}).encode()
    parts = (body[first : first + 7_000] for first in range(0, len(body), 7_000))
    with contextlib.closing(served.connection()) as connection:
        headers = {"content-type": "application/json"}
        connection.request("POST", f"{CLOCK}/step", parts, headers, encode_chunked=True)
        response = connection.getresponse()
        assert (response.status, "status" in json.loads(response.read())) == (status, status == 413)


def test_the_clock_needs_the_same_rights_as_other_paths(serve):
    options = ServerOptions(tokens=(static_tokens({"secret": ADMIN}),))
    cluster = new_cluster(SchedulerOptions(), now_ns=START_NS, server_options=options)
    served = paused(serve, cluster)
    status, found = served.send("GET", CLOCK)
    assert (status, found["status"]) == (403, 403)
    assert served.send("GET", CLOCK, headers={"authorization": "Bearer wrong"})[0] == 401
    assert served.send("GET", CLOCK, headers={"authorization": "Bearer secret"})[0] == 200


def lease(name):
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15},
    }


@pytest.mark.parametrize(("speed", "is_warned"), [(1.0, False), (10.0, True)])
def test_holders_of_leases_are_warned_at_another_speed(serve, speed, is_warned):
    served = serve(cluster_of(0), ClusterClock(start_ns=START_NS, speed=speed))
    connection = served.connection()
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    connection.request(
        "POST", path, json.dumps(lease("mine")), {"content-type": "application/json"}
    )
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.status == 201
    assert ("10 times" in (response.getheader("warning") or "")) == is_warned


@pytest.mark.parametrize(
    ("action", "body", "message"),
    [
        ("run-to", {"time": "2039-01-01T00:00:00Z"}, "is more than ten years ahead"),
        ("run-to", {"time": "2027-01-15T07:59:59Z"}, "has passed: it is 2027-01-15T08:00:00.0"),
        ("step", {"duration": "0s"}, "must be positive, and at most ten years"),
        ("step", {"duration": "87841h"}, "must be positive, and at most ten years"),
    ],
)
def test_a_time_that_cannot_be_reached_is_a_problem(serve, action, body, message):
    status, found = paused(serve).send("POST", f"{CLOCK}/{action}", body)
    assert (status, found["field"]) == (422, next(iter(body)))
    assert message in found["detail"]


def test_the_longest_step_and_the_present_are_reached_and_2200_is_the_end(serve):
    cluster = cluster_of(0, has_controllers=False, has_lifecycle=False)
    served = paused(serve, cluster)
    present = served.send("GET", CLOCK)[1]["time"]
    status, found = served.send("POST", f"{CLOCK}/run-to", {"time": present})
    assert (status, found["time"]) == (200, present)
    status, found = served.send("POST", f"{CLOCK}/step", {"duration": "87840h"})
    assert (status, found["time"][:19]) == (200, "2037-01-22T08:00:00")
    served.clock.step(END_NS - served.clock.now_ns() - 1_000_000_000)
    beyond = {"step": {"duration": "2s"}, "run-to": {"time": "2200-01-01T00:00:01Z"}}
    for action, body in beyond.items():
        status, found = served.send("POST", f"{CLOCK}/{action}", body)
        assert (status, found["field"]) == (422, next(iter(body)))
        assert "2200-01-01" in found["detail"]
