"""The table of endpoints, its OpenAPI document, the queue and the metrics."""

import contextlib
import gzip
import json

import msgspec
import pytest

from podwright.cluster.api.endpoints import ServerOptions
from podwright.online.apiserver import ClusterClock, new_cluster
from podwright.online.apiserver.control.scheduling.what_if import WhatIfReply
from podwright.online.apiserver.control.snapshot import SnapshotDocument
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import (
    DiffDocument,
    ExplanationDocument,
    ExplanationMatrix,
    explanation_document,
    find_cycle,
    recorded_view,
)
from podwright.simulation.recording.tests.recording import named_state
from podwright.simulation.recording.timelines.columns import (
    PLACES,
    TIMELINE_MEDIA_TYPE,
    decode_chunks,
)

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"


def paused(serve):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster_of(), clock)


def large(name):
    requests = {"resources": {"requests": {"cpu": "1000"}}}
    return pod(name, containers=[{"name": "main", "image": "app", **requests}])


def test_the_document_describes_every_endpoint_and_its_problems(serve):
    status, found = paused(serve).send("GET", f"{V1}/openapi.json")
    assert (status, found["openapi"]) == (200, "3.1.0")
    step = found["paths"][f"{V1}/clock/step"]["post"]
    assert step["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/ClockStep"
    }
    problems = {400, 401, 403, 404, 405, 413, 415, 422, 500, 503}
    assert set(step["responses"]) == {"200", *map(str, problems)}
    scheduler, place, limit = found["paths"][f"{V1}/queue"]["get"]["parameters"]
    names = [each["name"] for each in (scheduler, place, limit)]
    assert names == ["schedulerName", "place", "limit"]
    assert (limit["schema"]["minimum"], limit["schema"]["maximum"]) == (0, 1000)
    assert f"{V1}/openapi.json" in found["paths"]


def test_the_document_has_the_scheme_of_each_credential_that_it_names(serve):
    _, found = paused(serve).send("GET", f"{V1}/openapi.json")
    schemes = found["components"]["securitySchemes"]
    assert {name for each in found["security"] for name in each} == set(schemes) == {"token"}
    assert schemes["token"] == {"type": "http", "scheme": "bearer"}


def test_a_pod_that_has_finished_is_a_problem_of_the_document(serve):
    served = paused(serve)
    served.send("POST", PODS, pod("done", nodeName="node-0"))
    merge = {"content-type": "application/merge-patch+json"}
    ended = {"status": {"phase": "Succeeded"}}
    assert served.send("PATCH", f"{PODS}/done/status", ended, merge)[0] == 200
    path = "/pods/{namespace}/{name}/explanation"
    called = path.format(namespace="default", name="done")
    status, found = served.send("GET", f"{V1}{called}?attempt=now")
    assert (status, found["status"]) == (409, 409)
    _, document = served.send("GET", f"{V1}/openapi.json")
    assert "409" in document["paths"][f"{V1}{path}"]["get"]["responses"]


def test_parameters_that_are_left_out_have_the_defaults_of_the_document(serve):
    _, found = paused(serve).send("GET", f"{V1}/openapi.json")
    settings = {
        f"{path.removeprefix(V1)} {each['name']}": tuple(
            each["schema"].get(setting) for setting in ("default", "minimum", "maximum")
        )
        for path, operations in found["paths"].items()
        for operation in operations.values()
        for each in operation.get("parameters", ())
        if each["schema"].get("default") not in (None, "", False)
    }
    assert settings == {
        "/fragmentation sample": ("1m", None, None),
        "/pending sample": ("1m", None, None),
        "/plugins/failures limit": (100, 0, 1000),
        "/pods/{namespace}/{name}/explanation view": ("summary", None, None),
        "/queue limit": (100, 0, 1000),
        "/queue/groups limit": (200, 0, 1000),
        "/queue/groups pods": (1, 1, 100),
        "/runs/{id}/pods/{namespace}/{name}/explanation view": ("summary", None, None),
        "/state follow": (True, None, None),
        "/utilization sample": ("1m", None, None),
        "/utilization/nodes sample": ("1m", None, None),
    }


def test_no_reply_in_json_is_without_a_schema(serve):
    _, found = paused(serve).send("GET", f"{V1}/openapi.json")
    untyped = {
        path
        for path, operations in found["paths"].items()
        for operation in operations.values()
        for kind, content in operation["responses"]["200"]["content"].items()
        if kind == "application/json" and "$ref" not in str(content)
    }
    assert untyped == {f"{V1}/openapi.json"}
    # A reply of another form may be any: no schema, instead of one of no alternatives.
    stream = found["paths"][f"{V1}/state"]["get"]["responses"]["200"]["content"]
    assert stream == {"text/event-stream": {}}


def test_replies_have_exactly_the_fields_of_their_schemas(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    written = served.send("GET", f"{V1}/configuration")[1]["written"]
    explanation = "pods/default/large/explanation"
    replies = [
        ("GET", explanation, None, ExplanationDocument),
        ("GET", f"{explanation}?view=full", None, ExplanationDocument),
        ("GET", f"{explanation}?attempt=now", None, ExplanationDocument),
        ("GET", f"{explanation}?view=matrix", None, ExplanationMatrix),
        ("GET", "snapshot", None, SnapshotDocument),
        ("POST", "what-if", {"pod": "default/large", "matrix": True}, WhatIfReply),
        ("POST", "what-if", {"removed": [{"kind": "Node", "name": "node-0"}]}, WhatIfReply),
        (
            "POST",
            "configuration/diff",
            {"configuration": written, "reschedule": True},
            DiffDocument,
        ),
    ]
    for method, path, body, form in replies:
        status, reply = served.send(method, f"{V1}/{path}", body)
        assert status == 200, reply
        assert json.loads(msgspec.json.encode(msgspec.convert(reply, form))) == reply


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("clock?pause=true", 400, "pause"),
        ("queue?limits=3", 400, "limits"),
        ("queue?limit=3&limit=4", 400, "limit"),
        ("queue?limit=many", 422, "limit"),
        ("queue?limit=-1", 422, "limit"),
        ("queue?place=nowhere", 422, "place"),
    ],
)
def test_wrong_parameters_are_errors(unchanged, path, status, field):
    found_status, found = unchanged.send("GET", f"{V1}/{path}")
    assert (found_status, found["field"]) == (status, field)


def test_the_queue_shows_why_pods_wait(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.send("POST", PODS, pod("gated", schedulingGates=[{"name": "quota"}]))
    found = served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    (waiting,) = found["pods"]["unschedulable"]
    assert (waiting["pod"], waiting["attempts"]) == ("default/large", 1)
    assert waiting["rejectedBy"] == ["NodeResourcesFit"]
    (gated,) = found["pods"]["gated"]
    assert (gated["pod"], gated["gatedBy"]) == ("default/gated", "SchedulingGates")
    _, part = served.send("GET", f"{V1}/queue?place=gated&limit=0")
    assert part["pods"] == {"gated": []}
    assert part["counts"] == found["counts"]


def test_the_metrics_have_the_names_of_upstream(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    with contextlib.closing(served.connection()) as connection:
        connection.request("GET", f"{V1}/metrics")
        response = connection.getresponse()
        text = response.read().decode()
    assert response.getheader("content-type").startswith("text/plain; version=0.0.4")
    assert 'scheduler_pending_pods{queue="unschedulable"} 1' in text


def test_the_metrics_are_where_scrapers_look_for_them(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    texts = {}
    with contextlib.closing(served.connection()) as connection:
        for path in ("/metrics", "/metrics/resources", "/metric", "/metrics/none"):
            connection.request("GET", path)
            response = connection.getresponse()
            texts[path] = (response.status, response.read().decode())
    assert texts["/metrics"][0] == 200
    assert 'scheduler_pending_pods{queue="unschedulable"} 1' in texts["/metrics"][1]
    assert 'kube_pod_resource_request{namespace="default"' in texts["/metrics/resources"][1]
    assert (texts["/metric"][0], texts["/metrics/none"][0]) == (404, 404)


@pytest.mark.parametrize(
    ("path", "methods"), [("clock", "GET, HEAD"), ("configuration", "GET, HEAD, PUT")]
)
def test_a_method_that_is_not_possible_names_all_that_are(serve, path, methods):
    served = paused(serve)
    with contextlib.closing(served.connection()) as connection:
        connection.request("DELETE", f"{V1}/{path}")
        response = connection.getresponse()
        found = json.loads(response.read())
    assert (response.status, response.getheader("allow")) == (405, methods)
    assert found["detail"] == f"DELETE is not possible here; use {methods}"


def test_an_explanation_is_the_document_of_the_command(serve):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    path = f"{V1}/pods/default/large/explanation"
    status, full = served.send("GET", f"{path}?view=full")
    assert status == 200, full
    cluster = served.cluster
    log = cluster.world.log
    view = recorded_view(
        find_cycle(log, "default/large"), log, start_ns=START_NS, end_ns=served.clock.now_ns()
    )
    assert full == json.loads(json.dumps(explanation_document(view)))
    assert full["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert full["remedies"]
    _, summary = served.send("GET", path)
    assert {key: full[key] for key in summary} == summary
    assert set(full) - set(summary) >= {"filters", "scores", "rejected"}
    _, first = served.send("GET", f"{path}?attempt=1")
    assert first == summary


def timeline_of(served):
    with contextlib.closing(served.connection()) as connection:
        connection.request("GET", f"{V1}/timeline")
        return decode_chunks(connection.getresponse().read())


def test_a_collected_timeline_is_that_of_a_replay(serve):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    served = serve(cluster_of(keeps_timelines=True), clock)
    for number in range(5):
        served.send("POST", PODS, pod(f"web-{number}"))
        served.eventually(f"{PODS}/web-{number}", lambda found: found["spec"].get("nodeName"))
        served.send("POST", f"{V1}/clock/step", {"duration": "1s"})
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    served.send("DELETE", f"{PODS}/web-0?gracePeriodSeconds=0")
    served.send("POST", f"{V1}/clock/step", {"duration": "1m"})
    (scheduler,) = served.cluster.schedulers
    for _ in range(2):
        assert scheduler.timeline is not None
        collected = timeline_of(served)
        feed, scheduler.timeline = scheduler.timeline, None
        replayed = timeline_of(served)
        scheduler.timeline = feed
        assert len(collected.times_ns) > 10
        for at_ns in {START_NS, *collected.times_ns.tolist(), *replayed.times_ns.tolist()}:
            assert named_state(collected, at_ns) == named_state(replayed, at_ns)
        # Another configuration begins another log, and another timeline.
        written = served.send("GET", f"{V1}/configuration")[1]["written"]
        assert served.send("PUT", f"{V1}/configuration", written)[0] == 200
        served.send("POST", PODS, pod("later"))
        served.eventually(f"{PODS}/later", lambda found: found["spec"].get("nodeName"))


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?attempt=7", 404),
        ("?at=2001-01-01T00:00:00Z", 404),
        ("?attempt=0", 422),
        ("?at=tomorrow", 422),
        ("?attempt=1&at=1s", 422),
        ("?view=table", 422),
        ("?now=true", 400),
    ],
)
def test_wrong_requests_for_an_explanation_are_problems(serve, query, status):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    found_status, found = served.send("GET", f"{V1}/pods/default/large/explanation{query}")
    assert (found_status, found["status"]) == (status, status), found
    assert found["detail"]


def test_a_pod_that_does_not_exist_is_not_explained(serve):
    status, found = paused(serve).send("GET", f"{V1}/pods/default/none/explanation")
    assert (status, found["status"]) == (404, 404)
    assert "default/none has no scheduling attempt" in found["detail"]


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_the_timeline_has_the_pods_and_where_they_wait(serve, encoding):
    served = paused(serve)
    served.send("POST", PODS, large("large"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    with contextlib.closing(served.connection()) as connection:
        connection.request("GET", f"{V1}/timeline", headers={"Accept-Encoding": encoding})
        response = connection.getresponse()
        content = response.read()
    assert (response.status, response.getheader("content-type")) == (200, TIMELINE_MEDIA_TYPE)
    assert response.getheader("content-encoding", "identity") == encoding
    timeline = decode_chunks(gzip.decompress(content) if encoding == "gzip" else content)
    state = timeline.state_at(int(timeline.times_ns[-1]))
    place = PLACES.index("unschedulable") + 1
    assert state[("pod", "default/large"), "queue"] == place
    reason = state[("pod", "default/large"), "waitsFor"]
    assert timeline.subjects[reason - 1] == ("reason", "NodeResourcesFit")


def test_users_without_access_see_nothing(serve):
    cluster = new_cluster(SchedulerOptions(), now_ns=START_NS, server_options=ServerOptions())
    served = serve(cluster)
    for path in ("queue", "metrics", "timeline", "state", "openapi.json"):
        status, found = served.send("GET", f"{V1}/{path}")
        assert (status, found["status"]) == (403, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://other.example"},
        {"Origin": "http://localhost:3000"},
        {"Host": "rebound.example"},
    ],
)
def test_a_rejected_host_or_origin_is_a_problem(serve, headers):
    status, found = serve(cluster_of()).send("GET", f"{V1}/clock", headers=headers)
    (value,) = headers.values()
    assert (status, found["status"], found["title"]) == (403, 403, "Forbidden")
    assert value in found["detail"]
