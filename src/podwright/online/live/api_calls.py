"""The actions of the machine as requests to an API server, without I/O.

Upstream: pkg/scheduler/framework/api_calls/, pkg/scheduler/framework/plugins/defaultbinder,
pkg/scheduler/framework/preemption/preemption.go; pkg/scheduler/util/utils.go, `PatchPodStatus`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    PodGroup,
    encode,
)
from podwright.apimachinery.schema import built_in
from podwright.scheduler.machine import (
    ApiCall,
    Bind,
    DeletePod,
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
