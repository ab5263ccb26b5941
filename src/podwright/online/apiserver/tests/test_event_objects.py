"""Kubernetes Events as objects."""

import json

import msgspec
import pytest

from podwright.apimachinery.objects import Node, Pod
from podwright.apimachinery.objects.event_series import SERIES_NS
from podwright.cluster.api.endpoints import HttpReply, ServerOptions
from podwright.cluster.api.endpoints.forms import LEARNED_AT, TEMPLATES_MAX
from podwright.online.apiserver.cluster import new_cluster
from podwright.online.apiserver.event_correlation import (
    COMBINED,
    EventCorrelator,
)
from podwright.online.apiserver.event_objects import EventObjects
from podwright.online.apiserver.tests.conftest import ADMIN, START_NS, cluster_of, pod, request
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.world.observers import KubernetesEvent

BURST, REFILL_NS, SIMILAR_NS = 25, 300 * 10**9, 600 * 10**9
EVENTS = "/api/v1/namespaces/default/events"


def recorded(cluster):
    return json.loads(cluster.handle(request("GET", EVENTS), START_NS).body)["items"]


def event(note="Pulled", *, type="Normal", reason="Reason", **fields):  # noqa: A002 - as the field
    return KubernetesEvent("Pod", "default/web", type, reason, note, "source", **fields)


def write(cluster, events, *records):
    for each, at_ns in records:
        events.event_recorded(each, at_ns)
    events.write(cluster.server, cluster.store, lambda: False)


def create(cluster, path, document):
    reply = cluster.handle(request("POST", path, document), START_NS)
    assert isinstance(reply, HttpReply)
    assert reply.status == 201


def test_an_equal_event_increases_the_count():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (event(), START_NS), (event(), START_NS + 5_000_000_000))
    (found,) = recorded(cluster)
    assert found["count"] == 2
    assert found["firstTimestamp"] == "2027-01-15T08:00:00Z"
    assert found["lastTimestamp"] == "2027-01-15T08:00:05Z"


def failed(note="no node", *, version="7", at_ns=START_NS):
    """An Event of the scheduler about a version of a pod."""
    fields = {"action": "Scheduling", "uid": "u", "resource_version": version}
    return event(note, type="Warning", **fields), at_ns


def test_the_scheduler_s_events_about_a_version_of_a_pod_are_a_series():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, failed(), failed("one node", at_ns=START_NS + 1))
    (found,) = recorded(cluster)
    assert found["series"]["count"] == 2
    assert (found["action"], found["message"]) == ("Scheduling", "no node")
    # Further ones are only counted; another version is another Event.
    write(cluster, events, failed(at_ns=START_NS + 2), failed(version="8", at_ns=START_NS + 3))
    found, other = sorted(recorded(cluster), key=lambda each: each["eventTime"])
    assert found["series"]["count"] == 2
    assert found["involvedObject"]["resourceVersion"] == "7"
    assert other["involvedObject"]["resourceVersion"] == "8"
    # The count is written when the series has ended.
    write(cluster, events, failed(version="9", at_ns=START_NS + 2 * SERIES_NS))
    counts = [each.get("series", {}).get("count") for each in recorded(cluster)]
    assert sorted(counts, key=str) == [3, None, None]


def test_a_preempted_pod_s_event_does_not_name_the_preemptor_as_related():
    cluster, events = cluster_of(0), EventObjects()
    preempted = event(action="Preempting", related="default/other")
    write(cluster, events, (preempted, START_NS))
    (found,) = recorded(cluster)
    assert "related" not in found


def test_another_note_is_another_object():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (event("a"), START_NS), (event("b"), START_NS))
    assert sorted(found["message"] for found in recorded(cluster)) == ["a", "b"]


def test_an_event_of_the_scheduler_after_a_long_time_is_another_object():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, failed(), failed(at_ns=START_NS + 2 * SERIES_NS))
    assert len(recorded(cluster)) == 2


def test_an_event_of_a_controller_counts_after_a_long_time_too():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (event(), START_NS), (event(), START_NS + SERIES_NS))
    assert [found["count"] for found in recorded(cluster)] == [2]


def test_a_deleted_event_is_written_again():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (event(), START_NS))
    (found,) = recorded(cluster)
    cluster.handle(request("DELETE", f"{EVENTS}/{found['metadata']['name']}"), START_NS)
    write(cluster, events, (event(), START_NS + 1))
    (found,) = recorded(cluster)
    assert found["count"] == 1


def test_many_similar_events_are_combined():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, *((event(f"{number}"), START_NS) for number in range(12)))
    found = {each["message"]: each["count"] for each in recorded(cluster)}
    assert found == {str(number): 1 for number in range(9)} | {f"{COMBINED}11": 3}
    later = START_NS + SIMILAR_NS
    write(cluster, events, (event("12"), later), (event("13"), later + SIMILAR_NS + 1))
    messages = {each["message"] for each in recorded(cluster)}
    assert messages == {*map(str, range(9)), f"{COMBINED}12", "13"}


def test_similar_events_of_other_hosts_and_of_the_scheduler_are_not_combined():
    cluster, events = cluster_of(0), EventObjects()
    some = [event(f"{number}", host=f"node-{number % 2}") for number in range(18)]
    scheduled = [failed(version=str(number)) for number in range(BURST + 1)]
    write(cluster, events, *((each, START_NS) for each in some), *scheduled)
    assert len(recorded(cluster)) == len(some) + len(scheduled)


def test_a_component_writes_25_events_about_an_object_and_then_one_in_five_minutes():
    cluster, events = cluster_of(0), EventObjects()
    for number in range(BURST + 5):
        write(cluster, events, (event(reason=f"R{number}"), START_NS))
    assert len(recorded(cluster)) == BURST
    write(cluster, events, (event(reason="Other", type="Warning"), START_NS))
    assert len(recorded(cluster)) == BURST + 1
    for _ in range(2):
        write(cluster, events, (event(reason="R0"), START_NS + REFILL_NS))
    (found,) = (each for each in recorded(cluster) if each["reason"] == "R0")
    assert found["count"] == 2


def test_an_event_that_is_rejected_is_counted():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (KubernetesEvent("Pod", "gone/web", "Normal", "R", "n", "s"), START_NS))
    assert events.dropped == 1


@pytest.mark.parametrize("action", ["Scheduling", ""])
def test_an_event_that_is_rejected_begins_no_series(action, monkeypatch):
    cluster, events = cluster_of(0), EventObjects()
    handle, methods = cluster.server.handle, []

    def counted(received, *rest):
        methods.append(received.method)
        return handle(received, *rest)

    monkeypatch.setattr(cluster.server, "handle", counted)
    about = KubernetesEvent("Pod", "late/web", "Normal", "R", "n", "s", action=action, uid="u")
    for number in range(3):
        write(cluster, events, (about, START_NS + number))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "late"}}
    create(cluster, "/api/v1/namespaces", namespace)
    write(cluster, events, (about, START_NS + 3))
    assert set(methods) == {"POST"}, "what does not exist is not patched"
    assert events.dropped == 3
    reply = cluster.handle(request("GET", "/api/v1/namespaces/late/events"), START_NS)
    assert isinstance(reply, HttpReply)
    (found,) = json.loads(reply.body)["items"]
    assert (found.get("series"), found.get("count", 1)) == (None, 1)


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


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"action": "Binding"}, id="scheduler"),
        pytest.param({"action": "Binding", "resource_version": "7"}, id="version"),
        pytest.param({"host": "node-0"}, id="kubelet"),
        pytest.param({}, id="controller"),
        pytest.param({"field_path": "spec.containers{main}"}, id="container"),
    ],
)
def test_events_of_a_template_are_those_of_requests(fields):
    notes = [
        "plain",
        "as plain",
        'in "quotes"',
        "back\\slash",
        r"\"",
        "päth",
        "",
        "a\nb",
        "x" * 1_024,
    ]
    found = []
    for templates_max in (0, TEMPLATES_MAX):
        options = ServerOptions(anonymous=ADMIN, templates_max=templates_max, learned_at=2)
        cluster = new_cluster(SchedulerOptions(), now_ns=START_NS, server_options=options)
        events = EventObjects()
        for number, note in enumerate(["a", "b", "c", *notes]):
            name = f"web-{number}"
            create(cluster, "/api/v1/namespaces/default/pods", pod(name))
            stored = cluster.store.get(Pod, f"default/{name}")
            assert stored is not None
            each = KubernetesEvent(
                "Pod",
                f"default/{name}",
                "Normal",
                "Reason",
                note,
                "source",
                uid=stored.metadata.uid if number % 4 else "",
                **fields,
            )
            write(cluster, events, (each, START_NS + number * 1_234_567_891))
        assert events.dropped == 0
        found.append(recorded(cluster))
        for kept in cluster.store.list(("", "Event")).objects:
            assert json.loads(cluster.store.encodings.of(kept.raw)) == kept.raw
    assert found[0] == found[1]
    assert len(found[0]) == 3 + len(notes)


@pytest.mark.parametrize("host", ["", "node-1"])
def test_quotes_in_a_message_are_of_the_template(host):
    cluster, events = cluster_of(0), EventObjects()

    def about(note):
        return KubernetesEvent("Pod", "default/web", "Normal", "Pull", note, "source", host=host)

    for number in range(2 * LEARNED_AT):
        write(cluster, events, (about(f"note {number}"), START_NS + number * 10**12))
    before = cluster.server._forms.executed_count
    write(cluster, events, (about('Pulling image "app:1"'), START_NS + 10**14))
    assert cluster.server._forms.executed_count == before + 1
    assert events.dropped == 0


def test_events_of_a_template_are_rejected_in_a_terminating_namespace():
    cluster, events = cluster_of(0), EventObjects()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    create(cluster, "/api/v1/namespaces", namespace)

    def about(version):
        fields = {"action": "Binding", "resource_version": version}
        return KubernetesEvent("Pod", "other/web", "Normal", "R", "note", "s", **fields)

    for number in range(2 * LEARNED_AT):
        write(cluster, events, (about(str(number)), START_NS + number))
    assert cluster.server._forms.executed_count > 0
    assert events.dropped == 0
    cluster.handle(request("DELETE", "/api/v1/namespaces/other"), START_NS)
    write(cluster, events, (about("late"), START_NS + 10))
    assert events.dropped == 1


@pytest.mark.parametrize(
    "other",
    [
        {"object_kind": "Node"},
        {"key": "default/other"},
        {"type": "Warning"},
        {"reason": "Other"},
        {"note": "other"},
        {"source": "kubelet"},
        {"group": "apps"},
        {"uid": "v"},
        {"host": "node-1"},
        {"field_path": "spec.containers{main}"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_an_event_of_a_controller_that_differs_is_another_object(other):
    cluster, events = cluster_of(0), EventObjects()
    base = event(uid="u")
    write(cluster, events, (base, START_NS), (msgspec.structs.replace(base, **other), START_NS))
    assert [each["count"] for each in recorded(cluster)] == [1, 1]


@pytest.mark.parametrize(
    "other",
    [
        {"key": "default/other"},
        {"type": "Normal"},
        {"reason": "Other"},
        {"source": "second-scheduler"},
        {"uid": "v"},
        {"resource_version": "8"},
        {"action": "Preempting"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_an_event_of_the_scheduler_that_differs_starts_another_series(other):
    cluster, events = cluster_of(0), EventObjects()
    base, _ = failed()
    write(cluster, events, (base, START_NS), (msgspec.structs.replace(base, **other), START_NS))
    assert ["series" in each for each in recorded(cluster)] == [False, False]


@pytest.mark.parametrize(
    ("other", "is_another"),
    [
        ({"object_kind": "Node"}, True),
        ({"key": "default/other"}, True),
        ({"type": "Warning"}, True),
        ({"group": "apps"}, True),
        ({"uid": "v"}, True),
        ({"host": "node-1"}, True),
        ({"source": "kubelet"}, True),
        ({"reason": "Other"}, False),
        ({"field_path": "spec.containers{main}"}, False),
    ],
    ids=lambda other: next(iter(other)) if isinstance(other, dict) else "",
)
def test_what_a_component_may_write_is_limited_for_each_object_and_type(other, is_another):
    cluster, events = cluster_of(0), EventObjects()
    base = event(uid="u")
    some = [msgspec.structs.replace(base, reason=f"R{number}") for number in range(BURST)]
    write(cluster, events, *((each, START_NS) for each in some))
    write(cluster, events, (msgspec.structs.replace(base, **other), START_NS))
    assert len(recorded(cluster)) == BURST + is_another


def test_the_allowance_is_refilled_in_exactly_five_minutes_and_never_above_25():
    correlator = EventCorrelator()

    def allowed(count, at_ns):
        return sum(correlator.is_allowed(event(), at_ns) for _ in range(count))

    assert allowed(BURST + 1, START_NS) == BURST
    assert allowed(1, START_NS + REFILL_NS - 1) == 0
    assert allowed(2, START_NS + REFILL_NS) == 1
    assert allowed(3, START_NS + 3 * REFILL_NS) == 2
    assert allowed(BURST + 5, START_NS + 100 * REFILL_NS) == BURST


def test_an_event_that_may_not_be_written_is_counted_with_the_next_one():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, *((event(), START_NS) for _ in range(BURST + 3)))
    assert [each["count"] for each in recorded(cluster)] == [BURST]
    write(cluster, events, (event(), START_NS + REFILL_NS))
    assert [each["count"] for each in recorded(cluster)] == [BURST + 4]
    assert events.dropped == 0


def test_a_slice_writes_at_least_one_event_and_the_rest_later():
    cluster, events = cluster_of(0), EventObjects()
    for note in "abc":
        events.event_recorded(event(note), START_NS)
    found = []
    while events.has_pending:
        events.write(cluster.server, cluster.store, lambda: True)
        found.append([each["message"] for each in recorded(cluster)])
    assert [sorted(each) for each in found] == [["a"], ["a", "b"], ["a", "b", "c"]]


def test_a_series_whose_object_was_deleted_is_another_object():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, failed())
    (found,) = recorded(cluster)
    cluster.handle(request("DELETE", f"{EVENTS}/{found['metadata']['name']}"), START_NS)
    write(cluster, events, failed("again", at_ns=START_NS + 1))
    (found,) = recorded(cluster)
    assert (found["message"], "series" in found) == ("again", False)
    write(cluster, events, failed(at_ns=START_NS + 2))
    assert [each["series"]["count"] for each in recorded(cluster)] == [2]


@pytest.mark.parametrize(
    ("fields", "manager"),
    [
        ({"source": "kubelet", "host": "node-1"}, "kubelet"),
        ({"source": "kwok"}, "kwok"),
        ({"source": "kube-scheduler"}, "kube-scheduler"),
        ({"source": "deployment-controller"}, "kube-controller-manager"),
        ({"source": "second-scheduler", "action": "Binding"}, "kube-scheduler"),
    ],
)
def test_the_manager_of_an_event_is_the_component_of_its_source(fields, manager):
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, (msgspec.structs.replace(event(), **fields), START_NS))
    (found,) = recorded(cluster)
    assert [each["manager"] for each in found["metadata"]["managedFields"]] == [manager]


def shown(found):
    """Return an Event without what the API server adds, and without empty fields."""
    left_out = {"metadata", "apiVersion", "kind"}
    return {key: value for key, value in found.items() if value and key not in left_out}


def test_an_event_of_a_kubelet_has_the_fields_that_client_go_writes():
    cluster, events = cluster_of(0), EventObjects()
    of_kubelet = msgspec.structs.replace(
        event(host="node-1", uid="u", resource_version="7", field_path="spec.containers{main}"),
        source="kubelet",
    )
    write(cluster, events, (of_kubelet, START_NS))
    (found,) = recorded(cluster)
    time = "2027-01-15T08:00:00Z"
    assert shown(found) == {
        "type": "Normal",
        "reason": "Reason",
        "message": "Pulled",
        "source": {"component": "kubelet", "host": "node-1"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
        "reportingComponent": "kubelet",
        "reportingInstance": "node-1",
        # Of a controller's object that is gone, nothing is known but what the Event has.
        "involvedObject": {
            "kind": "Pod",
            "namespace": "default",
            "name": "web",
            "uid": "u",
            "fieldPath": "spec.containers{main}",
        },
    }
    assert found["metadata"]["name"].startswith("web.")


def test_an_event_of_the_scheduler_has_the_fields_of_the_newer_api():
    cluster, events = cluster_of(0), EventObjects()
    write(cluster, events, failed(at_ns=START_NS + 1_234))
    reply = cluster.handle(
        request("GET", "/apis/events.k8s.io/v1/namespaces/default/events"), START_NS
    )
    assert isinstance(reply, HttpReply)
    (found,) = json.loads(reply.body)["items"]
    assert shown(found) == {
        "type": "Warning",
        "reason": "Reason",
        "note": "no node",
        "action": "Scheduling",
        "eventTime": "2027-01-15T08:00:00.000001Z",
        "reportingController": "source",
        "reportingInstance": "source-podwright",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "web",
            "uid": "u",
            "resourceVersion": "7",
        },
    }


def test_an_event_about_an_object_without_a_namespace_is_in_the_default_one():
    cluster, events = cluster_of(1), EventObjects()
    about = KubernetesEvent("Node", "node-0", "Normal", "R", "n", "node-controller", uid="other")
    stored = cluster.store.get(Node, "node-0")
    assert stored is not None
    known = msgspec.structs.replace(about, uid=stored.metadata.uid, reason="S")
    write(cluster, events, (about, START_NS), (known, START_NS))
    other, found = sorted(recorded(cluster), key=lambda each: each["reason"])
    # A reference to an object of the same name that is gone has no version of the present one.
    assert other["involvedObject"] == {"kind": "Node", "name": "node-0", "uid": "other"}
    assert found["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Node",
        "name": "node-0",
        "uid": stored.metadata.uid,
        "resourceVersion": stored.metadata.resource_version,
    }
    assert found["metadata"]["namespace"] == "default"


def test_the_api_group_of_an_object_is_that_of_its_kind():
    cluster, events = cluster_of(0), EventObjects()
    claim = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "web"},
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {
                "spec": {
                    "template": {
                        "spec": {
                            "containers": [{"name": "c", "image": "i"}],
                            "restartPolicy": "Never",
                        }
                    }
                }
            },
        },
    }
    create(cluster, "/apis/batch/v1/namespaces/default/cronjobs", claim)
    stored = cluster.store.get(("batch", "CronJob"), "default/web")
    assert stored is not None
    uid = stored.metadata.uid
    about = msgspec.structs.replace(event(uid=uid, group="batch"), object_kind="CronJob")
    write(cluster, events, (about, START_NS))
    (found,) = recorded(cluster)
    assert found["involvedObject"]["apiVersion"] == "batch/v1"


def test_the_names_of_events_of_one_object_differ_and_are_not_too_long():
    cluster, events = cluster_of(0), EventObjects()
    long = "x" * 253
    write(
        cluster,
        events,
        *((msgspec.structs.replace(event(note), key=f"default/{long}"), START_NS) for note in "ab"),
    )
    names = [each["metadata"]["name"] for each in recorded(cluster)]
    assert [name.partition(".")[0] for name in names] == ["x" * 230] * 2
    assert len(set(names)) == 2
    assert events.dropped == 0
