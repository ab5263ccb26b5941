"""The machine's calls, made on a store: what the API server does with them.

Upstream: pkg/registry/core/pod/storage/storage.go
"""

from __future__ import annotations

from typing import Final, TypeAlias, get_args

from podwright.framework.binding import CallError
from podwright.machine import (
    Bind,
    CallDone,
    DeletePod,
    PatchPodGroupStatus,
    PatchPodStatus,
    UpdateClaim,
    UpdateVolume,
)
from podwright.objects import (
    Condition,
    Document,
    KubernetesObject,
    Object,
    Pod,
    PodGroup,
    decode,
    encode,
    with_condition,
    with_nominated_node_name,
)
from podwright.store import Conflict, NotFound, ObjectStore, version_number

ApiCall: TypeAlias = (
    Bind | PatchPodStatus | PatchPodGroupStatus | DeletePod | UpdateVolume | UpdateClaim
)

API_CALLS: Final = get_args(ApiCall)
"""The classes of calls."""


def make_call(store: ObjectStore, call: ApiCall, now_ns: int) -> CallDone:
    """Make a call and return its answer; what it changes is in the store's history."""
    try:
        obj = _made(store, call, now_ns)
    except NotFound as error:
        return CallDone(call.call, CallError(str(error), "NotFound"))
    except Conflict as error:
        return CallDone(call.call, CallError(str(error), "Conflict"))
    return CallDone(call.call, obj=obj)


def _made(store: ObjectStore, call: ApiCall, now_ns: int) -> Object | None:
    match call:
        case Bind():
            store.bind(call.pod, call.node, now_ns, uid=call.uid)
        case PatchPodStatus():
            _patch(store, call)
        case PatchPodGroupStatus():
            _patch_group(store, call)
        case DeletePod():
            store.delete(Pod, call.pod, now_ns, uid=call.uid)
        case UpdateVolume(volume=obj) | UpdateClaim(claim=obj):
            expected = obj.metadata.resource_version
            stored = store.update(obj, expected=version_number(expected) if expected else None)
            return _typed(stored.object)
    return None


def _typed(obj: KubernetesObject) -> Object:
    return obj  # type: ignore[return-value]  # what a store holds is of one of these classes


def _patch(store: ObjectStore, call: PatchPodStatus) -> None:
    pod = store.get(Pod, call.pod)
    if pod is None or (call.uid and pod.uid != call.uid):
        raise NotFound(("", "Pod"), call.pod)
    patched = pod
    if call.condition is not None:
        patched = with_condition(patched, call.condition)
    if call.nominated_node is not None:
        patched = with_nominated_node_name(patched, call.nominated_node)
    store.update(patched, scope="status")


def _patch_group(store: ObjectStore, call: PatchPodGroupStatus) -> None:
    group = store.get(PodGroup, call.pod_group)
    if group is None:
        raise NotFound(("scheduling.k8s.io", "PodGroup"), call.pod_group)
    document = encode(group)
    status: Document = dict(document.get("status") or {})
    others = [
        each for each in status.get("conditions") or () if each["type"] != call.condition.type
    ]
    status["conditions"] = [*others, _plain(call.condition)]
    store.update(decode(document | {"status": status}), scope="status")


def _plain(condition: Condition) -> Document:
    fields = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
    }
    return {name: value for name, value in fields.items() if value}
