"""The actions of the machine as requests to an API server, without I/O.

Upstream: pkg/scheduler/framework/api_calls/, pkg/scheduler/framework/plugins/defaultbinder,
pkg/scheduler/framework/preemption/preemption.go; pkg/scheduler/util/utils.go, `PatchPodStatus`;
staging/src/k8s.io/client-go/rest/with_retry.go;
staging/src/k8s.io/client-go/tools/events/event_broadcaster.go, event_recorder.go;
pkg/scheduler/framework/preemption/executor.go, podExecutorPreemptor.
"""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    EventSeries,
    KubernetesObject,
    NamespacedName,
    PodGroup,
    RecentEvent,
    encode,
    timestamp_text_micro,
)
from podwright.apimachinery.schema import built_in
from podwright.online.client.cluster import Backoff, RejectedRequest, UnreachableCluster
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    ApiCall,
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

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

Verb = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class ApiRequest(msgspec.Struct, frozen=True):
    """One request.

    Attributes
    ----------
    verb : str
    path : str
    body : Document
    content_type : str
    has_object : bool
        Whether the reply is the object that the machine waits for.
    """

    verb: Verb
    path: str
    body: Document
    content_type: str = JSON
    has_object: bool = False


def request_of(call: ApiCall) -> ApiRequest:
    """Return the request that an action is."""
    match call:
        case Bind(pod=pod, uid=uid, node=node):
            namespace, _, name = pod.rpartition("/")
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": name, "namespace": namespace, "uid": uid},
                "target": {"kind": "Node", "name": node},
            }
            return ApiRequest("POST", f"{pod_path(pod)}/binding", binding)
        case PatchPodStatus(pod=pod):
            return ApiRequest("PATCH", f"{pod_path(pod)}/status", _status_patch(call), STRATEGIC)
        case PatchPodGroupStatus(pod_group=group, condition=condition):
            namespace, _, name = group.rpartition("/")
            path = f"/apis/{PodGroup.api_version}/namespaces/{namespace}/podgroups/{name}/status"
            conditions: Document = {"conditions": [msgspec.to_builtins(condition)]}
            return ApiRequest("PATCH", path, {"status": conditions}, STRATEGIC)
        case DeletePod(pod=pod, uid=uid):
            return ApiRequest("DELETE", pod_path(pod), {"preconditions": {"uid": uid}})
        case UpdateVolume(volume=obj) | UpdateClaim(claim=obj):
            return ApiRequest("PUT", object_path(obj), encode(obj), has_object=True)
        case PatchExtendedClaim(pod=pod, uid=uid):
            patch = {"metadata": {"uid": uid}, "status": call.status}
            return ApiRequest("PATCH", f"{pod_path(pod)}/status", patch, MERGE)
        case PatchPodMetadata(pod=pod, uid=uid, annotations=annotations, labels=labels):
            metadata = {"uid": uid, "annotations": annotations, "labels": labels}
            return ApiRequest("PATCH", pod_path(pod), {"metadata": metadata}, MERGE)
        case WriteResourceClaim():
            return _claim_request(call)


def _claim_request(call: WriteResourceClaim) -> ApiRequest:
    claim, path = call.claim, object_path(call.claim)
    match call.operation:
        case "get":
            return ApiRequest("GET", path, {}, has_object=True)
        case "create":
            collection = object_path(claim, is_collection=True)
            return ApiRequest("POST", collection, encode(claim), has_object=True)
        case "update":
            return ApiRequest("PUT", path, encode(claim), has_object=True)
        case "updateStatus":
            return ApiRequest("PUT", f"{path}/status", encode(claim), has_object=True)
        case "release":
            users = [{"$patch": "delete", "uid": call.pod_uid}]
            patch = {"metadata": {"uid": claim.uid}, "status": {"reservedFor": users}}
            return ApiRequest("PATCH", f"{path}/status", patch, STRATEGIC, has_object=True)
        case "delete":
            return ApiRequest("DELETE", path, {"preconditions": {"uid": claim.uid}})


def pod_path(pod: NamespacedName) -> str:
    """Return the path of a pod."""
    namespace, _, name = pod.rpartition("/")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def object_path(obj: KubernetesObject, *, is_collection: bool = False) -> str:
    """Return the path of an object, or of the collection that it is in."""
    kind = built_in().find(obj.api_version, obj.kind)
    assert kind is not None, f"{obj.kind} is not a kind of the API"
    root = "/apis/" if "/" in obj.api_version else "/api/"
    within = f"namespaces/{obj.namespace}/" if kind.row.namespaced else ""
    path = f"{root}{obj.api_version}/{within}{kind.row.resource}"
    return path if is_collection else f"{path}/{obj.name}"


def _status_patch(call: PatchPodStatus) -> Document:
    """Return a patch that fails for another pod of the same name."""
    status: Document = {}
    if call.condition is not None:
        status["conditions"] = [msgspec.to_builtins(call.condition)]
        # Without it, a new condition would precede those that the pod has.
        order = [{"type": each} for each in call.condition_types]
        status["$setElementOrder/conditions"] = order
    if call.nominated_node is not None:
        status["nominatedNodeName"] = call.nominated_node or None
    return {"metadata": {"uid": call.uid}, "status": status}


# Which failures of requests pass, and how long a request is repeated meanwhile.
#
# A server that starts refuses what it will allow: its RBAC has no roles yet (403), it cannot
# verify tokens (401), it is overloaded (429), or etcd does not answer (5xx). None of them says
# anything about the request.

FailedRequest: TypeAlias = RejectedRequest | UnreachableCluster


class RetryTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long requests are repeated, and the waits between, in nanoseconds without jitter.

    Attributes
    ----------
    first_ns, longest_ns : int
        The waits between attempts double.
    call_ns : int
        How long a call is repeated that the server has not executed.
    event_first_ns, event_longest_ns : int
        The waits between attempts to write an Event.
    """

    first_ns: int = SECOND_NS // 5
    longest_ns: int = 5 * SECOND_NS
    call_ns: int = 20 * SECOND_NS
    event_first_ns: int = SECOND_NS
    event_longest_ns: int = 10 * SECOND_NS


class Attempts:
    """The attempts of one request.

    Parameters
    ----------
    seed : int
        Of the jitter.
    first_ns, longest_ns : int
        The waits between attempts.
    limit_ns : int
        Since the first attempt, after which no further one follows; 0: no limit.
    """

    def __init__(self, seed: int, *, first_ns: int, longest_ns: int, limit_ns: int = 0) -> None:
        self._backoff = Backoff(seed, first_ns=first_ns, longest_ns=longest_ns)
        self._end_ns = time.monotonic_ns() + limit_ns if limit_ns else 0

    async def wait(self, error: FailedRequest) -> bool:
        """Wait before the next attempt, as long as the server demands; False: there is none."""
        wait_ns = self._backoff.next_ns()
        if isinstance(error, RejectedRequest):
            wait_ns = max(wait_ns, int(error.retry_after_seconds * SECOND_NS))
        if self._end_ns and time.monotonic_ns() + wait_ns > self._end_ns:
            return False
        await asyncio.sleep(wait_ns / SECOND_NS)
        return True


def is_passing(error: FailedRequest) -> bool:
    """Whether the same request may succeed later.

    A refusal by admission, also with status 403, is final: only RBAC names a right.
    """
    if isinstance(error, UnreachableCluster):
        return True
    is_refused = error.status == HTTPStatus.UNAUTHORIZED or bool(error.missing_right)
    return is_refused or error.is_passing


def may_be_executed(error: FailedRequest) -> bool:
    """Whether the request may have been executed: its reply was lost, or the server has failed.

    A server that waits for etcd without effect does not know whether the write takes place.
    """
    if isinstance(error, UnreachableCluster):
        return True
    return error.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def call_error(error: FailedRequest) -> CallError:
    """Return the result of a failed call: its text is for Events, without what to do."""
    if isinstance(error, UnreachableCluster):
        return CallError(error.cause)
    return CallError(error.cause, error.reason or str(error.status))


# Events of the scheduler as objects; a repeated one is a series.
#
# A preempted pod's Event has no `related`: upstream passes a wrapper of the preemptor to its
# recorder, which makes no reference of it.

_NOTE_BYTES_MAX: Final = 1_024


class EventWriter:
    """Makes the requests of Events, without I/O.

    Parameters
    ----------
    host : str
        The name of the computer, which ends the reportingInstance.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._series: EventSeries[EmitEvent] = EventSeries()
        self._count = 0

    def counts_due(self, now_ns: int) -> list[ApiRequest]:
        """Return the requests that write the counts of series that are due."""
        return [_counted(series) for series in self._series.due(now_ns)]

    def request(self, event: EmitEvent, now_ns: int) -> ApiRequest | None:
        """Return the request that writes an Event; None if it is only counted."""
        signature = _signature(event)
        recent = self._series.repeated(signature, now_ns)
        if recent is not None:
            return _counted(recent) if recent.count == 2 else None
        namespace, _, name = event.pod.rpartition("/")
        self._count += 1
        own = f"{name[:200]}.{now_ns + self._count:x}"
        collection = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self._series.begin(signature, f"{collection}/{own}", now_ns)
        return ApiRequest("POST", collection, self._document(event, own, now_ns))

    def creation(self, event: EmitEvent, patch: ApiRequest, now_ns: int) -> ApiRequest:
        """Return the request that creates the object of a series that is absent."""
        path, _, own = patch.path.rpartition("/")
        return ApiRequest("POST", path, self._document(event, own, now_ns) | patch.body)

    def failed(self, event: EmitEvent) -> None:
        """Take note that an Event was not written: the next one is not a series."""
        self._series.forget(_signature(event))

    def _document(self, event: EmitEvent, own: str, now_ns: int) -> Document:
        namespace, _, name = event.pod.rpartition("/")
        regarding = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": namespace,
            "name": name,
            "uid": event.uid,
            "resourceVersion": event.resource_version,
        }
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": own, "namespace": namespace},
            "eventTime": timestamp_text_micro(now_ns),
            "reportingController": event.controller,
            "reportingInstance": f"{event.controller}-{self._host}",
            "action": event.action,
            "reason": event.reason,
            "type": event.type,
            "note": _cut(event.note),
            "regarding": regarding,
        }


def _counted(series: RecentEvent) -> ApiRequest:
    return ApiRequest("PATCH", series.path, series.series, MERGE)


def _signature(event: EmitEvent) -> EmitEvent:
    """Return what equal Events have in common: all but the note (upstream: `getKey`)."""
    return msgspec.structs.replace(event, note="", related="")


def _cut(note: str) -> str:
    data = note.encode()
    if len(data) <= _NOTE_BYTES_MAX:
        return note
    return data[: _NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
