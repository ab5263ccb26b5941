"""The API calls of the scheduler, executed as write requests.

Upstream: pkg/registry/core/pod/storage/storage.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    DELETE_PROTECTION,
    Document,
    KubernetesObject,
    Object,
    Pod,
    PodGroup,
    PodwrightError,
    ResourceClaim,
    decode_pod,
    encode,
    with_condition,
    with_fields,
    with_nominated_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import (
    SCHEDULER_USER,
    Api,
    BindPod,
    CreateObject,
    DeleteObject,
    Rejection,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.store import POD, NotFound, ObjectStore
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    ApiCall,
    Bind,
    CallDone,
    DeletePod,
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    UpdateClaim,
    UpdateVolume,
    WriteResourceClaim,
)

RESOURCE_CLAIM: Final = ("resource.k8s.io", "ResourceClaim")


def execute(api: Api, call: ApiCall, now_ns: int) -> CallDone:
    """Execute an API call of the scheduler and return the result event."""
    try:
        if isinstance(call, WriteResourceClaim) and call.operation == "get":
            return CallDone(call.call, obj=_claim_now(api.store, call.claim))
        if isinstance(call, WriteResourceClaim) and call.operation == "delete":
            _remove_finalizer(api, call.claim, now_ns)
        request = _request_of(api.store, call)
        reply = api.handle(request, SCHEDULER_USER, now_ns)
        reply.raise_for_error()
    except NotFound as error:
        return CallDone(call.call, CallError(str(error), "NotFound"))
    except PodwrightError as error:
        if isinstance(error, Rejection) and error.reason in ("NotFound", "Conflict", ""):
            return CallDone(call.call, CallError(str(error), error.reason))
        # A claim may have changed so that the write is invalid; the pod is tried again then.
        # A patch of metadata has what a user's plugin wrote.
        if not isinstance(call, WriteResourceClaim | PatchPodMetadata):
            raise
        return CallDone(call.call, CallError(str(error), "Invalid"))
    if isinstance(call, WriteResourceClaim) and call.operation == "delete":
        return CallDone(call.call)
    if isinstance(call, UpdateVolume | UpdateClaim | WriteResourceClaim):
        assert reply.stored is not None, "a reply has an object or an error"
        return CallDone(call.call, obj=_typed(reply.stored.object))
    return CallDone(call.call, obj=None)


class _BindingArguments(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    pod_name: str
    pod_namespace: str
    pod_uid: str = msgspec.field(name="PodUID")
    node: str


def bind_for_extender(api: Api, call: ExtenderCall, now_ns: int) -> ExtenderReply:
    """Bind the pod that an extender is asked to bind, and return the reply that it would give."""
    asked = msgspec.json.decode(call.body, type=_BindingArguments)
    pod = f"{asked.pod_namespace}/{asked.pod_name}"
    request = BindPod(pod, asked.node, asked.pod_uid, SCHEDULER_USER)
    error = api.handle(request, SCHEDULER_USER, now_ns).error
    answer = {} if error is None else {"Error": str(error)}
    return ExtenderReply(status=200, body=msgspec.json.encode(answer))


def _request_of(store: ObjectStore, call: ApiCall) -> WriteRequest:
    match call:
        case Bind():
            return BindPod(call.pod, call.node, call.uid, SCHEDULER_USER)
        case PatchPodStatus():
            return UpdateObject(_patched(store, call), "status", SCHEDULER_USER)
        case PatchPodGroupStatus():
            return UpdateObject(_patched_group(store, call), "status", SCHEDULER_USER)
        case DeletePod():
            return DeleteObject("", "Pod", call.pod, call.uid, SCHEDULER_USER)
        case UpdateVolume(volume=obj) | UpdateClaim(claim=obj):
            return UpdateObject(obj, "main", SCHEDULER_USER)
        case WriteResourceClaim():
            return _claim_request(store, call)
        case PatchExtendedClaim():
            return UpdateObject(_with_extended_claim(store, call), "status", SCHEDULER_USER)
        case PatchPodMetadata():
            return UpdateObject(call.applied_to(_pod_of(store, call)), "main", SCHEDULER_USER)


def _remove_finalizer(api: Api, claim: ResourceClaim, now_ns: int) -> None:
    present = _present(api.store, claim)
    finalizers = tuple(each for each in present.metadata.finalizers if each != DELETE_PROTECTION)
    if len(finalizers) != len(present.metadata.finalizers):
        freed = with_fields(present, "metadata", finalizers=finalizers)
        api.handle(
            UpdateObject(freed, "main", SCHEDULER_USER), SCHEDULER_USER, now_ns
        ).raise_for_error()


def _claim_request(store: ObjectStore, call: WriteResourceClaim) -> WriteRequest:
    claim = call.claim
    match call.operation:
        case "get":
            raise AssertionError("a claim that is read is not written")
        case "create":
            return CreateObject(claim, SCHEDULER_USER)
        case "update":
            return UpdateObject(claim, "main", SCHEDULER_USER)
        case "updateStatus":
            return UpdateObject(claim, "status", SCHEDULER_USER)
        case "release":
            present = _present(store, claim)
            users = tuple(user for user in present.status.reserved_for if user.uid != call.pod_uid)
            return UpdateObject(
                with_fields(present, "status", reserved_for=users), "status", SCHEDULER_USER
            )
        case "delete":
            return DeleteObject(*RESOURCE_CLAIM, claim.key, claim.metadata.uid, SCHEDULER_USER)


def _claim_now(store: ObjectStore, claim: ResourceClaim) -> ResourceClaim:
    """Return the claim of this name, also if it is another one by now."""
    present = store.get(ResourceClaim, claim.key)
    if present is None:
        raise NotFound(RESOURCE_CLAIM, claim.key)
    return present


def _present(store: ObjectStore, claim: ResourceClaim) -> ResourceClaim:
    present = _claim_now(store, claim)
    if present.uid != claim.uid:
        raise NotFound(RESOURCE_CLAIM, claim.key)
    return present


def _pod_of(
    store: ObjectStore, call: PatchExtendedClaim | PatchPodMetadata | PatchPodStatus
) -> Pod:
    pod = store.get(Pod, call.pod)
    if pod is None or (call.uid and pod.uid != call.uid):
        raise NotFound(POD, call.pod)
    return pod


def _with_extended_claim(store: ObjectStore, call: PatchExtendedClaim) -> Pod:
    document = encode(_pod_of(store, call))
    status: Document = dict(document.get("status") or {})
    return decode_pod(document | {"status": status | call.status})


def _typed(obj: KubernetesObject) -> Object:
    return obj  # type: ignore[return-value]  # what a store holds is of one of these classes


def _patched(store: ObjectStore, call: PatchPodStatus) -> Pod:
    patched = _pod_of(store, call)
    if call.condition is not None:
        patched = with_condition(patched, call.condition)
    if call.nominated_node is not None:
        patched = with_nominated_node_name(patched, call.nominated_node)
    return patched


def _patched_group(store: ObjectStore, call: PatchPodGroupStatus) -> KubernetesObject:
    group = store.get(PodGroup, call.pod_group)
    if group is None:
        raise NotFound(("scheduling.k8s.io", "PodGroup"), call.pod_group)
    document = encode(group)
    status: Document = dict(document.get("status") or {})
    others = [
        each for each in status.get("conditions") or () if each["type"] != call.condition.type
    ]
    status["conditions"] = [*others, msgspec.to_builtins(call.condition)]
    return decode(document | {"status": status})
