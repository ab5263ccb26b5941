"""The table of endpoints, its OpenAPI document, the queue and the metrics."""

import contextlib

import pytest

from podwright.api.endpoints import ServerOptions
from podwright.apiserver import ClusterClock, new_cluster
from podwright.apiserver.tests.conftest import START_NS, cluster_of, pod
from podwright.machine import SchedulerOptions

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
    assert set(step["responses"]) == {"200", "400", "401", "403", "413", "415", "422", "503"}
    place, limit = found["paths"][f"{V1}/queue"]["get"]["parameters"]
    assert (place["name"], limit["name"]) == ("place", "limit")
    assert (limit["schema"]["minimum"], limit["schema"]["maximum"]) == (0, 1000)
    assert f"{V1}/openapi.json" in found["paths"]


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
def test_wrong_parameters_are_errors(serve, path, status, field):
    found_status, found = paused(serve).send("GET", f"{V1}/{path}")
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


def test_users_without_access_see_nothing(serve):
    cluster = new_cluster(SchedulerOptions(), now_ns=START_NS, server_options=ServerOptions())
    served = serve(cluster)
    for path in ("queue", "metrics", "openapi.json"):
        status, found = served.send("GET", f"{V1}/{path}")
        assert (status, found["status"]) == (403, 403)
