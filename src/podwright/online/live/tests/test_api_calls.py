import asyncio
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Condition
from podwright.apimachinery.objects.event_series import SERIES_NS
from podwright.apimachinery.schema import decode
from podwright.online.client.cluster import RejectedRequest, UnreachableCluster
from podwright.online.live.api_calls import (
    JSON,
    MERGE,
    STRATEGIC,
    Attempts,
    EventWriter,
    call_error,
    object_path,
    request_of,
)
from podwright.scheduler.machine import (
    Bind,
    DeletePod,
    EmitEvent,
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    UpdateVolume,
    WriteResourceClaim,
)

SECOND = 1_000_000_000
POD = "/api/v1/namespaces/a/pods/p"


def test_a_binding_names_the_uid_so_that_another_pod_of_the_name_is_not_bound():
    request = request_of(Bind(1, "a/p", "u", "n"))
    assert (request.verb, request.path) == ("POST", f"{POD}/binding")
    assert request.body["metadata"] == {"name": "p", "namespace": "a", "uid": "u"}
    assert request.body["target"] == {"kind": "Node", "name": "n"}


def test_metadata_is_merged_into_one_pod():
    request = request_of(PatchPodMetadata(1, "a/p", "u", {"gpu": "3"}, {"node": "n"}))
    assert (request.verb, request.path, request.content_type) == ("PATCH", POD, MERGE)
    assert request.body == {
        "metadata": {"uid": "u", "annotations": {"gpu": "3"}, "labels": {"node": "n"}}
    }


def test_a_condition_is_a_patch_of_the_status_of_one_pod():
    condition = Condition(
        type="PodScheduled", status="False", reason="Unschedulable", message="m",
        observed_generation=3,
    )  # fmt: skip
    types = ("DisruptionTarget", "PodScheduled")
    request = request_of(PatchPodStatus(1, "a/p", "u", condition, condition_types=types))
    assert (request.path, request.content_type) == (f"{POD}/status", STRATEGIC)
    assert request.body == {
        "metadata": {"uid": "u"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                    "message": "m", "observedGeneration": 3,
                }
            ],
            "$setElementOrder/conditions": [{"type": "DisruptionTarget"}, {"type": "PodScheduled"}],
        },
    }  # fmt: skip
    cleared = request_of(PatchPodStatus(1, "a/p", "u", nominated_node=""))
    assert cleared.body["status"] == {"nominatedNodeName": None}


def test_a_victim_is_deleted_by_its_uid():
    request = request_of(DeletePod(1, "a/p", "u"))
    assert (request.verb, request.path) == ("DELETE", POD)
    assert request.body == {"preconditions": {"uid": "u"}}


def test_paths_of_objects():
    claim = decode({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "a"},
    })  # fmt: skip
    assert object_path(claim) == "/api/v1/namespaces/a/persistentvolumeclaims/c"
    volume = decode({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}})
    assert object_path(volume, is_collection=True) == "/api/v1/persistentvolumes"


EVENT = EmitEvent(
    "a/p", "u", "Warning", "FailedScheduling", "Scheduling", "no node", "default-scheduler", "", "7"
)


def test_another_event_about_a_version_of_a_pod_continues_a_series():
    writer = EventWriter("me")
    assert writer.counts_due(10**18) == []
    first = writer.request(EVENT, 10**18)
    assert first is not None
    assert (first.verb, first.path) == ("POST", "/apis/events.k8s.io/v1/namespaces/a/events")
    assert first.body["regarding"] == {
        "apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "p", "uid": "u",
        "resourceVersion": "7",
    }  # fmt: skip
    assert first.body["reportingInstance"] == "default-scheduler-me"
    assert {name: first.body[name] for name in ("type", "reason", "action", "note")} == {
        "type": EVENT.type, "reason": EVENT.reason, "action": EVENT.action, "note": EVENT.note,
    }  # fmt: skip
    assert first.body["eventTime"] == "2001-09-09T01:46:40.000000Z"
    second = writer.request(msgspec.structs.replace(EVENT, note="one node"), 10**18 + 1)
    assert second is not None
    assert (second.verb, second.content_type) == ("PATCH", MERGE)
    assert second.path == f"{first.path}/{first.body['metadata']['name']}"
    assert second.body["series"]["count"] == 2
    # Further ones are only counted, until the series has ended.
    assert writer.request(EVENT, 10**18 + 2) is None
    later = writer.request(msgspec.structs.replace(EVENT, resource_version="8"), 10**18 + 3)
    assert later is not None
    assert later.verb == "POST"
    (counted,) = writer.counts_due(10**18 + 2 * SERIES_NS)
    assert (counted.path, counted.body["series"]["count"]) == (second.path, 3)


def test_an_event_that_was_not_written_begins_no_series():
    writer = EventWriter("me")
    for at_ns in range(2):
        request = writer.request(EVENT, 10**18 + at_ns)
        assert request is not None
        assert request.verb == "POST"
        writer.failed(EVENT)


def test_the_event_of_a_preempted_pod_does_not_name_the_preemptor_as_related():
    event = msgspec.structs.replace(EVENT, reason="Preempted", related="a/preemptor")
    request = EventWriter("me").request(event, 10**18)
    assert request is not None
    assert "related" not in request.body


def test_a_long_note_is_cut():
    writer = EventWriter("me")
    long = EmitEvent("a/p", "u", "Normal", "R", "A", "ä" * 900, "s")
    request = writer.request(long, 10**18)
    assert request is not None
    note = request.body["note"]
    assert len(note.encode()) <= 1024
    assert note.endswith("ä ...")


def test_a_note_of_the_greatest_length_is_not_cut():
    writer = EventWriter("me")
    note = "a" * 1024
    request = writer.request(EmitEvent("a/p", "u", "Normal", "R", "A", note, "s"), 10**18)
    assert request is not None
    assert request.body["note"] == note


CLAIM: Any = decode({
    "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "a", "uid": "v"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}},
})  # fmt: skip
VOLUME: Any = decode({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}})
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims"
RELEASED = {
    "metadata": {"uid": "v"}, "status": {"reservedFor": [{"$patch": "delete", "uid": "u"}]}
}  # fmt: skip


@pytest.mark.parametrize(
    ("action", "verb", "path", "content_type", "has_object"),
    [
        (UpdateVolume(1, VOLUME), "PUT", "/api/v1/persistentvolumes/v", JSON, True),
        (WriteResourceClaim(1, "get", CLAIM), "GET", f"{CLAIMS}/c", JSON, True),
        (WriteResourceClaim(1, "create", CLAIM), "POST", CLAIMS, JSON, True),
        (WriteResourceClaim(1, "update", CLAIM), "PUT", f"{CLAIMS}/c", JSON, True),
        (WriteResourceClaim(1, "updateStatus", CLAIM), "PUT", f"{CLAIMS}/c/status", JSON, True),
        (WriteResourceClaim(1, "release", CLAIM, "u"), "PATCH", f"{CLAIMS}/c/status", STRATEGIC,
         True),
        (WriteResourceClaim(1, "delete", CLAIM), "DELETE", f"{CLAIMS}/c", JSON, False),
        (PatchExtendedClaim(1, "a/p", "u", "c", ()), "PATCH", f"{POD}/status", MERGE, False),
        (PatchPodGroupStatus(1, "a/g", Condition(type="t")), "PATCH",
         "/apis/scheduling.k8s.io/v1alpha2/namespaces/a/podgroups/g/status", STRATEGIC, False),
    ],
)  # fmt: skip
def test_each_action_is_one_request(action, verb, path, content_type, has_object):
    found = request_of(action)
    assert (found.verb, found.path, found.content_type) == (verb, path, content_type)
    assert found.has_object == has_object


def test_writes_of_claims_are_about_one_claim_and_one_pod():
    assert request_of(WriteResourceClaim(1, "release", CLAIM, "u")).body == RELEASED
    assert request_of(WriteResourceClaim(1, "delete", CLAIM)).body == {
        "preconditions": {"uid": "v"}
    }
    extended = request_of(PatchExtendedClaim(1, "a/p", "u", "c", (("main", "x/gpu", "r"),))).body
    mapping = {"containerName": "main", "resourceName": "x/gpu", "requestName": "r"}
    claim = {"requestMappings": [mapping], "resourceClaimName": "c"}
    assert extended == {"metadata": {"uid": "u"}, "status": {"extendedResourceClaimStatus": claim}}


def test_a_nominated_node_is_set_alone_or_beside_a_condition():
    alone = request_of(PatchPodStatus(1, "a/p", "u", nominated_node="n")).body
    assert alone == {"metadata": {"uid": "u"}, "status": {"nominatedNodeName": "n"}}
    both = request_of(PatchPodStatus(1, "a/p", "u", Condition(type="t"), nominated_node="n")).body
    assert set(both["status"]) == {
        "conditions", "$setElementOrder/conditions", "nominatedNodeName"
    }  # fmt: skip
    assert (
        "nominatedNodeName"
        not in (request_of(PatchPodStatus(1, "a/p", "u", Condition(type="t"))).body["status"])
    )


def test_the_event_of_a_pod_with_a_long_name_has_a_name_that_is_valid():
    event = msgspec.structs.replace(EVENT, pod=f"a/{'p' * 253}")
    request = EventWriter("me").request(event, 10**18)
    assert request is not None
    start, _, number = request.body["metadata"]["name"].partition(".")
    assert (start, int(number, 16)) == ("p" * 200, 10**18 + 1)


@pytest.mark.parametrize(
    ("limit_seconds", "is_made"), [(0, True), (3600, True), (1, False)], ids=["none", "far", "near"]
)
def test_no_attempt_begins_past_the_limit(monkeypatch, limit_seconds, is_made):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr("podwright.online.live.api_calls.asyncio.sleep", sleep)
    attempts = Attempts(
        1, first_ns=60 * SECOND, longest_ns=60 * SECOND, limit_ns=limit_seconds * SECOND
    )
    error = UnreachableCluster("it ended")
    assert asyncio.run(attempts.wait(error)) == is_made
    assert len(waits) == is_made


def test_a_wait_is_at_least_what_the_server_demands(monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr("podwright.online.live.api_calls.asyncio.sleep", sleep)
    attempts = Attempts(1, first_ns=SECOND, longest_ns=SECOND)
    error = RejectedRequest("busy", status=429, retry_after_seconds=30)
    assert asyncio.run(attempts.wait(error))
    assert waits == [30]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RejectedRequest("busy", status=503, reason="ServiceUnavailable"), "ServiceUnavailable"),
        (RejectedRequest("busy", status=503), "503"),
        (UnreachableCluster("gone"), ""),
    ],
)
def test_the_reason_of_a_failed_call_is_that_of_the_reply_or_its_status(error, reason):
    assert call_error(error).reason == reason
