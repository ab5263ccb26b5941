"""A user's operations as requests to the API server.

Nodes that fail or are drained need no request: no object changes by that alone.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import KubernetesObject, PodwrightError, encode, quoted
from podwright.apimachinery.patching import (
    PatchError,
    json_patched,
    merge_patched,
    strategic_merged,
)
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api import (
    ApplyObject,
    CreateObject,
    DeleteObject,
    PatchObject,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.store import ObjectStore, kind_of
from podwright.simulation.world.inputs.operations import (
    Apply,
    Cordon,
    Create,
    Delete,
    Drain,
    FailNode,
    Operation,
    Patch,
    Put,
    RestoreNode,
    Scale,
    Update,
    is_placed,
    may_update,
)

USER = "kubernetes-admin"
"""The user that makes the requests of operations, as kubeadm names it."""


class MissingObject(PodwrightError):  # noqa: N818 - named for what it is
    """The object of an operation that a user wrote does not exist; the text says where."""


class MissingObjects(msgspec.Struct, frozen=True, kw_only=True):
    """The operations of a run that found no object.

    Attributes
    ----------
    count : int
    first : str
        A sentence about the first of them.
    """

    count: int = 0
    first: str = ""

    def and_one(self, sentence: str) -> MissingObjects:
        """Return these and one more."""
        return MissingObjects(count=self.count + 1, first=self.first or sentence)

    @property
    def remark(self) -> str:
        """A sentence about all of them; empty if there are none."""
        others = self.count - 1
        return self.first + (f" (and {others} more that found no object)" if others > 0 else "")


def require_object(store: ObjectStore, operation: Operation) -> None:
    """Check that the object of an operation with a place exists.

    Raises
    ------
    MissingObject
        If it does not.
    """
    match operation:
        case Patch(kind, key) | Delete(kind, key) | Scale(kind, key):
            pass
        case Cordon(key) | Drain(key) | FailNode(key) | RestoreNode(key):
            kind = ("", "Node")
        case _:
            return
    if operation.place and store.get(kind, key) is None:
        raise MissingObject(f"{operation.place}: {kind[1]} {quoted(key)} does not exist")


ObjectOperation: TypeAlias = Apply | Create | Put | Update | Patch | Delete | Cordon | Scale


def request_of(store: ObjectStore, operation: ObjectOperation) -> WriteRequest | None:
    """Return the request of an operation; None if it changes no object."""
    match operation:
        case Apply(obj, "status"):
            return _status_patch(store, obj)
        case Apply(obj):
            return ApplyObject(obj, "main", USER)
        case Create(obj):
            return CreateObject(obj, USER)
        case Put(obj):
            return ApplyObject(obj, "whole", USER)
        case Update(obj):
            if may_update(store.get(kind_of(obj), obj.key)):
                return ApplyObject(obj, "main", USER)
            return None
        case _:
            return _request_by_name(store, operation)


def _request_by_name(
    store: ObjectStore, operation: Patch | Delete | Cordon | Scale
) -> WriteRequest | None:
    match operation:
        case Patch():
            return _update(store, operation)
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


def _update(store: ObjectStore, operation: Patch) -> UpdateObject | None:
    there = store.get(operation.object_kind, operation.key)
    if there is None:
        return None
    document, patch = encode(there), operation.patch
    try:
        if operation.patch_type == "merge":
            patched = merge_patched(document, patch)
        elif operation.patch_type == "json":
            patched = json_patched(document, patch)
        else:
            kind = built_in().of(*operation.object_kind)
            assert kind is not None, "names of custom kinds are not known"
            patched = strategic_merged(kind, document, patch)
    except PatchError as error:
        name = f"{there.kind} {quoted(there.key)}"
        raise PodwrightError(f"{name} cannot be patched: {error}") from error
    return UpdateObject(decode(patched), "main", USER)


def _status_patch(store: ObjectStore, obj: KubernetesObject) -> PatchObject | None:
    if store.get(kind_of(obj), obj.key) is None:
        return None
    patch = {"status": encode(obj).get("status") or {}}
    return PatchObject(kind_of(obj), obj.key, patch, USER, "status")
