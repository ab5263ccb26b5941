"""What is copied of resource claims: their devices belong to pods, which may be left out or move.

A claim that was made for one pod, from a template or for extended resources, goes with that pod: a
destination makes it anew. Devices stay allocated for the pods that keep their nodes: such a pod
names the copies of the claims that were made from its templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from podwright.objects import Document
from podwright.sync.source_kinds import SourceKind

_STATUS: Final = ("allocation", "reservedFor", "devices")
_POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
_MADE_FOR_PODS: Final = frozenset(
    {_POD_CLAIM_NAME, "resource.kubernetes.io/extended-resource-claim"}
)
_FINALIZER: Final = "resource.kubernetes.io/delete-protection"


def pod_of(claim: Document) -> str | None:
    """Return the uid of the pod that controls a claim."""
    for owner in claim["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") == "Pod":
            uid: str | None = owner.get("uid")
            return uid
    return None


def entry_of(claim: Document) -> str | None:
    """Return the name in `spec.resourceClaims` of the pod for which a template made a claim."""
    found: str | None = (claim["metadata"].get("annotations") or {}).get(_POD_CLAIM_NAME)
    return found


def is_made_for_pod(claim: Document) -> bool:
    """Return whether a claim was made for one pod, whose controller or scheduler makes it anew."""
    metadata = claim["metadata"]
    return pod_of(claim) is not None and not _MADE_FOR_PODS.isdisjoint(
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
        elif not is_made_for_pod(obj) or pod_of(obj) in uids:
            found.append((kind, _with_users(obj, uids)))
    return found


def without_users(claim: Document) -> Document:
    """Return a claim whose devices stay allocated; its users have other uids at the destination.

    The controller of claims reserves them for the pods that have a node.
    """
    status = {k: v for k, v in claim["status"].items() if k != "reservedFor"}
    return {**claim, "status": status}


def independent(claim: Document) -> Document:
    """Return a claim that was made for a pod as a claim with a name of its own.

    Its owner has another uid at the destination. The finalizer makes the controller of claims free
    the devices when the pod has ended there.
    """
    left_out = ("ownerReferences", "generateName")
    metadata = {k: v for k, v in claim["metadata"].items() if k not in left_out}
    annotations = {k: v for k, v in metadata["annotations"].items() if k != _POD_CLAIM_NAME}
    return {
        **without_users(claim),
        "metadata": {**metadata, "annotations": annotations, "finalizers": [_FINALIZER]},
    }


def with_named_claims(pod: Document, claims: Mapping[str, str]) -> Document:
    """Return a pod with names of claims instead of their templates.

    Parameters
    ----------
    claims : mapping of str to str
        By the name in `spec.resourceClaims`.
    """
    entries = [
        {"name": each["name"], "resourceClaimName": claims[each["name"]]}
        if each["name"] in claims
        else each
        for each in pod["spec"].get("resourceClaims") or ()
    ]
    return {**pod, "spec": {**pod["spec"], "resourceClaims": entries}}


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
