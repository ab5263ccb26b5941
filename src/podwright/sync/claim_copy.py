"""What is copied of resource claims: their devices belong to pods, which may be left out or move.

A claim that was made for one pod, from a template or for extended resources, goes with that pod: a
destination makes it anew. Devices stay allocated for the pods that keep their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podwright.objects import Document
from podwright.sync.source_kinds import SourceKind

_STATUS: Final = ("allocation", "reservedFor", "devices")
_MADE_FOR_PODS: Final = frozenset(
    {"resource.kubernetes.io/pod-claim-name", "resource.kubernetes.io/extended-resource-claim"}
)


def is_made_for_pod(claim: Document) -> bool:
    """Return whether a claim was made for one pod, whose controller or scheduler makes it anew."""
    metadata = claim["metadata"]
    return _owner_of(claim) is not None and not _MADE_FOR_PODS.isdisjoint(
        metadata.get("annotations") or ()
    )


def settled(objects: Iterable[tuple[SourceKind, Document]]) -> list[tuple[SourceKind, Document]]:
    """Return the objects of a copy with the claims that fit its pods.

    A claim that was made for a pod which is not in the copy is left out. The last user that is
    not in the copy takes the devices with it. Claims without users stay as they are.

    Parameters
    ----------
    objects : iterable of tuple
        Each with its kind.
    """
    given = list(objects)
    uids = {obj["metadata"].get("uid") for kind, obj in given if kind.resource == "pods"}
    found = []
    for kind, obj in given:
        if kind.resource != "resourceclaims":
            found.append((kind, obj))
        elif not is_made_for_pod(obj) or _owner_of(obj) in uids:
            found.append((kind, _with_users(obj, uids)))
    return found


def without_users(claim: Document) -> Document:
    """Return a claim whose devices stay allocated; its users have other uids at the destination.

    The controller of claims reserves them for the pods that have a node.
    """
    status = {k: v for k, v in claim["status"].items() if k != "reservedFor"}
    return {**claim, "status": status}


def _owner_of(claim: Document) -> str | None:
    """Return the uid of the pod that controls a claim."""
    for owner in claim["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") == "Pod":
            uid: str | None = owner.get("uid")
            return uid
    return None


def _with_users(claim: Document, uids: set[str | None]) -> Document:
    """Return a claim without the pods that are not in the copy."""
    status = claim.get("status") or {}
    users = status.get("reservedFor") or []
    kept = [user for user in users if user.get("resource") != "pods" or user.get("uid") in uids]
    if len(kept) == len(users):
        return claim
    if kept:
        return {**claim, "status": {**status, "reservedFor": kept}}
    return {**claim, "status": {k: v for k, v in status.items() if k not in _STATUS}}
