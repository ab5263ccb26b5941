"""A user's operations as requests to the API server.

Nodes that fail or are drained need no request: no object changes by that alone.
"""

from __future__ import annotations

from typing import TypeAlias

from podwright.apimachinery.objects import KubernetesObject, encode
from podwright.cluster.api import (
    ApplyObject,
    DeleteObject,
    PatchObject,
    WriteRequest,
)
from podwright.cluster.store import ObjectStore, kind_of
from podwright.simulation.world.inputs.operations import (
    Apply,
    Cordon,
    Delete,
    Put,
    Scale,
    Update,
    is_placed,
    may_update,
)

USER = "kubernetes-admin"
"""The user that makes the requests of operations, as kubeadm names it."""

ObjectOperation: TypeAlias = Apply | Put | Update | Delete | Cordon | Scale


def request_of(store: ObjectStore, operation: ObjectOperation) -> WriteRequest | None:
    """Return the request of an operation; None if it changes no object."""
    match operation:
        case Apply(obj, "status"):
            return _status_patch(store, obj)
        case Apply(obj):
            return ApplyObject(obj, "main", USER)
        case Put(obj):
            return ApplyObject(obj, "whole", USER)
        case Update(obj):
            if may_update(store.get(kind_of(obj), obj.key)):
                return ApplyObject(obj, "main", USER)
        case Delete(kind, key, grace_seconds, only_pending):
            there = store.get(kind, key)
            if there is not None and not (only_pending and is_placed(there)):
                group, name = kind
                # As kubectl does.
                return DeleteObject(group, name, key, "", USER, grace_seconds, "Background")
        case Cordon(node, is_cordoned):
            if store.get(("", "Node"), node) is not None:
                patch = {"spec": {"unschedulable": is_cordoned or None}}
                return PatchObject(("", "Node"), node, patch, USER)
        case Scale(kind, key, replicas):
            if store.get(kind, key) is not None:
                return PatchObject(kind, key, {"spec": {"replicas": replicas}}, USER)
    return None


def _status_patch(store: ObjectStore, obj: KubernetesObject) -> PatchObject | None:
    if store.get(kind_of(obj), obj.key) is None:
        return None
    patch = {"status": encode(obj).get("status") or {}}
    return PatchObject(kind_of(obj), obj.key, patch, USER, "status")
