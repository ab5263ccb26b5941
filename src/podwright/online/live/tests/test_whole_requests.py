"""Each request as a whole, and what is made of each failure of one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Condition, encode
from podwright.apimachinery.schema import decode
from podwright.online.client.cluster import RejectedRequest, UnreachableCluster
from podwright.online.live.api_calls import (
    JSON,
    MERGE,
    STRATEGIC,
    ApiRequest,
    EventWriter,
    RetryTimes,
    call_error,
    is_passing,
    may_be_executed,
    object_path,
    request_of,
)
from podwright.online.live.executors import _creates_twice, _has_status
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    Bind,
    DeletePod,
    EmitEvent,
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    UpdateClaim,
    UpdateVolume,
    WriteResourceClaim,
)

POD = "/api/v1/namespaces/a/pods/p"
VOLUME: Any = decode({
    "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
    "spec": {"storageClassName": "s"},
})  # fmt: skip
VOLUME_CLAIM: Any = decode({
    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c", "namespace": "a"}, "spec": {"volumeName": "v"},
})  # fmt: skip
CLAIM: Any = decode({
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "a", "uid": "v"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}},
})  # fmt: skip
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/a/podgroups"
UNSCHEDULABLE = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="m")
WRITTEN = {
    "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"
}  # fmt: skip


@pytest.mark.parametrize(
    ("action", "request_"),
    [
        (
            Bind(1, "a/p", "u", "n"),
            ApiRequest("POST", f"{POD}/binding", {
                "apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": "p", "namespace": "a", "uid": "u"},
                "target": {"kind": "Node", "name": "n"},
            }),
        ),
        (
            PatchPodStatus(1, "a/p", "u", UNSCHEDULABLE, "n", ("Ready", "PodScheduled")),
            ApiRequest("PATCH", f"{POD}/status", {
                "metadata": {"uid": "u"},
                "status": {
                    "conditions": [WRITTEN],
                    "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}],
                    "nominatedNodeName": "n",
                },
            }, STRATEGIC),
        ),
        (
            PatchPodGroupStatus(1, "a/g", UNSCHEDULABLE),
            ApiRequest(
                "PATCH", f"{GROUPS}/g/status", {"status": {"conditions": [WRITTEN]}}, STRATEGIC
            ),
        ),
        (
            DeletePod(1, "a/p", "u"),
            ApiRequest("DELETE", POD, {"preconditions": {"uid": "u"}}),
        ),
        (
            UpdateVolume(1, VOLUME),
            ApiRequest("PUT", "/api/v1/persistentvolumes/v", encode(VOLUME), JSON, True),
        ),
        (
            UpdateClaim(1, VOLUME_CLAIM),
            ApiRequest("PUT", "/api/v1/namespaces/a/persistentvolumeclaims/c",
                       encode(VOLUME_CLAIM), JSON, True),
        ),
        (
            PatchExtendedClaim(1, "a/p", "u", "c", (("main", "x/gpu", "r"), ("side", "y", "s"))),
            ApiRequest("PATCH", f"{POD}/status", {
                "metadata": {"uid": "u"},
                "status": {"extendedResourceClaimStatus": {
                    "requestMappings": [
                        {"containerName": "main", "resourceName": "x/gpu", "requestName": "r"},
                        {"containerName": "side", "resourceName": "y", "requestName": "s"},
                    ],
                    "resourceClaimName": "c",
                }},
            }, MERGE),
        ),
        (
            PatchPodMetadata(1, "a/p", "u", {"x": "1"}, {"y": "2"}),
            ApiRequest("PATCH", POD, {
                "metadata": {"uid": "u", "annotations": {"x": "1"}, "labels": {"y": "2"}}
            }, MERGE),
        ),
        (WriteResourceClaim(1, "get", CLAIM), ApiRequest("GET", f"{CLAIMS}/c", {}, JSON, True)),
        (
            WriteResourceClaim(1, "create", CLAIM),
            ApiRequest("POST", CLAIMS, encode(CLAIM), JSON, True),
        ),
        (
            WriteResourceClaim(1, "update", CLAIM),
            ApiRequest("PUT", f"{CLAIMS}/c", encode(CLAIM), JSON, True),
        ),
        (
            WriteResourceClaim(1, "updateStatus", CLAIM),
            ApiRequest("PUT", f"{CLAIMS}/c/status", encode(CLAIM), JSON, True),
        ),
        (
            WriteResourceClaim(1, "release", CLAIM, "u"),
            ApiRequest("PATCH", f"{CLAIMS}/c/status", {
                "metadata": {"uid": "v"},
                "status": {"reservedFor": [{"$patch": "delete", "uid": "u"}]},
            }, STRATEGIC, True),
        ),
        (
            WriteResourceClaim(1, "delete", CLAIM),
            ApiRequest("DELETE", f"{CLAIMS}/c", {"preconditions": {"uid": "v"}}),
        ),
    ],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_an_action_is_one_request(action, request_):
    assert request_of(action) == request_


def test_the_types_of_bodies_are_those_of_the_api():
    assert JSON == "application/json"
    assert MERGE == "application/merge-patch+json"
    assert STRATEGIC == "application/strategic-merge-patch+json"


def test_collections_and_objects_have_the_paths_of_the_api():
    assert object_path(CLAIM) == f"{CLAIMS}/c"
    assert object_path(CLAIM, is_collection=True) == CLAIMS
    assert object_path(VOLUME_CLAIM, is_collection=True) == (
        "/api/v1/namespaces/a/persistentvolumeclaims"
    )


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (PatchPodStatus(1, "a/p", "u"), {}),
        (PatchPodStatus(1, "a/p", "u", nominated_node=""), {"nominatedNodeName": None}),
        (PatchPodStatus(1, "a/p", "u", nominated_node="n"), {"nominatedNodeName": "n"}),
    ],
)
def test_a_nomination_that_ends_is_null_and_one_that_stays_is_not_written(call, status):
    assert request_of(call).body == {"metadata": {"uid": "u"}, "status": status}


def test_how_long_requests_are_repeated_by_default():
    assert msgspec.to_builtins(RetryTimes()) == {
        "first_ns": 200_000_000,
        "longest_ns": 5_000_000_000,
        "call_ns": 20_000_000_000,
        "event_first_ns": 1_000_000_000,
        "event_longest_ns": 10_000_000_000,
    }


RBAC = 'pods "p" is forbidden: User "u" cannot create resource "pods/binding" in API group ""'


def rejected(status: int, message: str = "no", reason: str = "") -> RejectedRequest:
    return RejectedRequest(message, status=status, reason=reason)


@pytest.mark.parametrize(
    ("error", "passes", "may_be_written"),
    [
        (UnreachableCluster("gone"), True, True),
        (rejected(400), False, False),
        (rejected(401), True, False),
        (rejected(403), False, False),
        (rejected(403, RBAC), True, False),
        (rejected(404), False, False),
        (rejected(409), False, False),
        (rejected(422), False, False),
        (rejected(429), True, False),
        (rejected(499), False, False),
        (rejected(500), True, True),
        (rejected(503), True, True),
    ],
)
def test_which_failures_pass_and_which_may_hide_a_write(error, passes, may_be_written):
    assert is_passing(error) is passes
    assert may_be_executed(error) is may_be_written
    create = WriteResourceClaim(1, "create", CLAIM)
    assert _creates_twice(create, error) is may_be_written
    for other in (WriteResourceClaim(1, "update", CLAIM), DeletePod(1, "a/p", "u")):
        assert not _creates_twice(other, error)


def test_a_status_is_that_of_a_reply():
    assert _has_status(rejected(409), HTTPStatus.CONFLICT)
    assert not _has_status(rejected(404), HTTPStatus.CONFLICT)
    assert not _has_status(UnreachableCluster("gone"), HTTPStatus.CONFLICT)


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (UnreachableCluster("gone", "check it"), CallError("gone")),
        (rejected(409, "it is bound", "Conflict"), CallError("it is bound", "Conflict")),
        (rejected(418, "it is a pot"), CallError("it is a pot", "418")),
        (
            RejectedRequest('context "c": no (status 403)', status=403, cause="no"),
            CallError("no", "403"),
        ),
    ],
)
def test_the_result_of_a_failed_call_is_what_the_server_says(error, result):
    assert call_error(error) == result


NOW_NS = 1_700_000_000_123_456_789
EVENT = EmitEvent(
    "a/p", "u", "Warning", "FailedScheduling", "Scheduling", "no node", "default-scheduler",
    "a/other", "7",
)  # fmt: skip
OWN = f"p.{NOW_NS + 1:x}"
EVENTS = "/apis/events.k8s.io/v1/namespaces/a/events"
DOCUMENT = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": OWN, "namespace": "a"},
    "eventTime": "2023-11-14T22:13:20.123456Z",
    "reportingController": "default-scheduler",
    "reportingInstance": "default-scheduler-host",
    "action": "Scheduling",
    "reason": "FailedScheduling",
    "type": "Warning",
    "note": "no node",
    "regarding": {
        "apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "p", "uid": "u",
        "resourceVersion": "7",
    },
}  # fmt: skip


def test_an_event_its_series_and_the_series_without_its_object():
    writer = EventWriter("host")
    assert writer.request(EVENT, NOW_NS) == ApiRequest("POST", EVENTS, DOCUMENT)
    later_ns = NOW_NS + 1_000_000_000
    series = {"series": {"count": 2, "lastObservedTime": "2023-11-14T22:13:21.123456Z"}}
    # Neither another text nor another preemptor makes another series.
    again = msgspec.structs.replace(EVENT, note="one node", related="a/third")
    patch = writer.request(again, later_ns)
    assert patch == ApiRequest("PATCH", f"{EVENTS}/{OWN}", series, MERGE)
    created = DOCUMENT | {"eventTime": "2023-11-14T22:13:21.123456Z", "note": "one node"} | series
    assert writer.creation(again, patch, later_ns) == ApiRequest("POST", EVENTS, created)


@pytest.mark.parametrize(
    "changes",
    [
        {"pod": "a/q"}, {"uid": "w"}, {"type": "Normal"}, {"reason": "Preempted"},
        {"action": "Binding"}, {"controller": "other"}, {"resource_version": "8"},
    ],
    ids=lambda each: next(iter(each)),
)  # fmt: skip
def test_events_that_differ_otherwise_are_no_series(changes):
    writer = EventWriter("host")
    writer.request(EVENT, NOW_NS)
    other = writer.request(msgspec.structs.replace(EVENT, **changes), NOW_NS)
    assert other is not None
    assert other.verb == "POST"
    # Each object has its own name, also at the same time.
    assert other.body["metadata"]["name"].split(".")[1] == f"{NOW_NS + 2:x}"


@pytest.mark.parametrize(
    ("note", "written"),
    [
        ("a" * 1024, "a" * 1024),
        ("a" * 1025, f"{'a' * 1020} ..."),
        ("ä" * 513, f"{'ä' * 510} ..."),
        (f"a{'ä' * 512}", f"a{'ä' * 509} ..."),
    ],
    ids=["the greatest length", "one more", "of two bytes each", "cut within a character"],
)
def test_notes_have_at_most_as_many_bytes_as_the_api_takes(note, written):
    request = EventWriter("host").request(msgspec.structs.replace(EVENT, note=note), NOW_NS)
    assert request is not None
    assert request.body["note"] == written
