"""Kubernetes Events as objects."""

import json

from podwright.api.endpoints import HttpReply
from podwright.apiserver.event_objects import SERIES_NS, EventObjects
from podwright.apiserver.tests.conftest import START_NS, cluster_of, pod, request
from podwright.simulation.observers import KubernetesEvent

EVENTS = "/api/v1/namespaces/default/events"


def recorded(cluster):
    return json.loads(cluster.handle(request("GET", EVENTS), START_NS).body)["items"]


def event(note="Pulled", action="", **fields):
    return KubernetesEvent(
        "Pod", "default/web", "Normal", "Reason", note, "source", action=action, **fields
    )


def write(cluster, events, *records):
    for each, at_ns in records:
        events.event_recorded(each, at_ns)
    events.write(cluster.server, cluster.store, lambda: False)


def test_an_equal_event_increases_the_count():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (event(), START_NS), (event(), START_NS + 5_000_000_000))
    (found,) = recorded(cluster)
    assert found["count"] == 2
    assert found["firstTimestamp"] == "2027-01-15T08:00:00Z"
    assert found["lastTimestamp"] == "2027-01-15T08:00:05Z"


def test_an_equal_event_of_the_scheduler_is_a_series():
    cluster, events = cluster_of(0), EventObjects()
    scheduled = event(action="Scheduling")
    write(cluster, events, (scheduled, START_NS), (scheduled, START_NS + 1))
    (found,) = recorded(cluster)
    assert found["series"]["count"] == 2
    assert found["action"] == "Scheduling"


def test_another_note_is_another_object():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (event("a"), START_NS), (event("b"), START_NS))
    assert sorted(found["message"] for found in recorded(cluster)) == ["a", "b"]


def test_an_event_after_a_long_time_is_another_object():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (event(), START_NS), (event(), START_NS + SERIES_NS))
    assert len(recorded(cluster)) == 2


def test_a_deleted_event_is_written_again():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (event(), START_NS))
    (found,) = recorded(cluster)
    cluster.handle(request("DELETE", f"{EVENTS}/{found['metadata']['name']}"), START_NS)
    write(cluster, events, (event(), START_NS + 1))
    (found,) = recorded(cluster)
    assert found["count"] == 1


def test_an_event_that_is_rejected_is_counted():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (KubernetesEvent("Pod", "gone/web", "Normal", "R", "n", "s"), START_NS))
    assert events.dropped == 1


def test_an_event_refers_to_its_object():
    cluster, events = cluster_of(0), EventObjects()
    reply = cluster.handle(request("POST", "/api/v1/namespaces/default/pods", pod("web")), START_NS)
    assert isinstance(reply, HttpReply)
    created = json.loads(reply.body)
    uid = created["metadata"]["uid"]
    write(cluster, events, (event(uid=uid), START_NS))
    (found,) = recorded(cluster)
    assert found["involvedObject"] == {
        "kind": "Pod",
        "namespace": "default",
        "name": "web",
        "uid": uid,
        "apiVersion": "v1",
        "resourceVersion": created["metadata"]["resourceVersion"],
    }
