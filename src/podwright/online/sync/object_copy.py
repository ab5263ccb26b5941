"""What is copied of an object of the source.

Upstream: kube-scheduler-simulator simulator/resourceapplier/resourceapplier.go;
pkg/controller/resourceclaim/controller.go,
pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from podwright.apimachinery.objects import (
    DELETE_PROTECTION,
    SOURCE_UID,
    Document,
    without_label_keys,
)
from podwright.online.sync.source_kinds import SourceKind

_OF_THE_SERVER: Final = (
    "uid", "generation", "resourceVersion", "selfLink", "managedFields", "deletionTimestamp",
    "deletionGracePeriodSeconds",
)  # fmt: skip


def created_copy(
    kind: SourceKind,
    obj: Document,
    *,
    keeps_owners: bool = False,
    keeps_accounts: bool = False,
) -> Document:
    """Return what a destination that is an API server gets of an object of the source.

    The metadata that a server sets is left out, and finalizers, because the controllers that
    remove them work at the source; the uid of the source is in an annotation. Owners are left out,
    since their uids are others at the destination, whose garbage collector would delete the copy.
    Pods have no service account, whose injected token volumes are left out too, no containers for
    debugging, which cannot be created with a pod, and no requirements of selectors that keys of
    labels stand for: the destination adds these again.

    Parameters
    ----------
    kind : SourceKind
    obj : Document
        Without `kind` and `apiVersion`, as in lists, or with them.
    keeps_owners, keeps_accounts : bool
        Whether pods keep them.
    """
    left_out = (*_OF_THE_SERVER, "finalizers")
    metadata = {k: v for k, v in obj["metadata"].items() if k not in left_out}
    if kind.resource != "pods":
        metadata.pop("ownerReferences", None)
    if uid := obj["metadata"].get("uid"):
        metadata["annotations"] = {**(metadata.get("annotations") or {}), SOURCE_UID: uid}
    copy = _copied(kind, obj, metadata, keeps_owners=keeps_owners, keeps_accounts=keeps_accounts)
    if kind.resource == "pods":
        spec = {k: v for k, v in copy["spec"].items() if k != "ephemeralContainers"}
        copy["spec"] = without_label_keys(spec, metadata.get("labels") or {})
    return copy


def stored_copy(kind: SourceKind, obj: Document, *, keeps_owners: bool = False) -> Document:
    """Return what a file gets of an object of the source: as `created_copy`, with its identity.

    Its uid and version show that an API server has stored the object, so that it
    is not validated again.
    """
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ("managedFields", "selfLink")}
    return _copied(kind, obj, metadata, keeps_owners=keeps_owners)


def _copied(
    kind: SourceKind,
    obj: Document,
    metadata: Document,
    *,
    keeps_owners: bool = False,
    keeps_accounts: bool = False,
) -> Document:
    rest = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata")}
    if kind.resource == "pods":
        metadata.pop("finalizers", None)
        if not keeps_owners:
            metadata.pop("ownerReferences", None)
        if not keeps_accounts:
            rest["spec"] = without_account(rest.get("spec") or {})
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **rest}


def without_account(spec: Document) -> Document:
    """Return the spec of a pod without its service account, and without its token volume."""
    spec = {k: v for k, v in spec.items() if k not in ("serviceAccountName", "serviceAccount")}
    volumes = spec.get("volumes") or []
    injected = {each["name"] for each in volumes if _is_token(each)}
    if not injected:
        return spec
    spec["volumes"] = [each for each in volumes if each["name"] not in injected]
    if not spec["volumes"]:
        del spec["volumes"]
    for field in ("containers", "initContainers", "ephemeralContainers"):
        if spec.get(field):
            spec[field] = [_without_mounts(each, injected) for each in spec[field]]
    return spec


def _is_token(volume: Document) -> bool:
    """Whether a volume is the one that the admission of service accounts injects."""
    name = volume.get("name", "")
    sources = (volume.get("projected") or {}).get("sources") or ()
    return name.startswith("kube-api-access-") and any("serviceAccountToken" in s for s in sources)


def _without_mounts(container: Document, injected: set[str]) -> Document:
    mounts: list[Any] = container.get("volumeMounts") or []
    kept = [each for each in mounts if each.get("name") not in injected]
    container = {key: value for key, value in container.items() if key != "volumeMounts"}
    return {**container, "volumeMounts": kept} if kept else container


# What is copied of resource claims: their devices belong to pods, which may be left out or move.
#
# A claim that was made for one pod, from a template or for extended resources, goes with that pod:
# a destination creates it again. Devices stay allocated for the pods that keep their nodes: such a
# pod names the copies of the claims that were made from its templates, and owns that of its
# extended resources.

_STATUS: Final = ("allocation", "reservedFor", "devices")
_POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
_EXTENDED: Final = "resource.kubernetes.io/extended-resource-claim"
_MADE_FOR_PODS: Final = frozenset({_POD_CLAIM_NAME, _EXTENDED})


def pod_of(claim: Document) -> str | None:
    """Return the uid of the pod that controls a claim."""
    for owner in claim["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") == "Pod":
            uid: str | None = owner.get("uid")
            return uid
    return None


def has_devices(claim: Document) -> bool:
    """Return whether devices are allocated to a claim."""
    return bool((claim.get("status") or {}).get("allocation"))


def claims_of(pod: Document) -> Mapping[str, str]:
    """Return the names of a pod's claims, by the name in `spec.resourceClaims`.

    That of its extended resources is not among them.
    """
    statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    made = {each["name"]: each.get("resourceClaimName") for each in statuses}
    entries = (pod.get("spec") or {}).get("resourceClaims") or ()
    names = ((e["name"], e.get("resourceClaimName") or made.get(e["name"])) for e in entries)
    return {entry: name for entry, name in names if name}


def extended_status(pod: Document) -> Document | None:
    """Return which claim provides the extended resources of a pod, and with which requests."""
    found: Document | None = (pod.get("status") or {}).get("extendedResourceClaimStatus")
    return found


def is_of_extended_resources(annotations: Mapping[str, str] | None) -> bool:
    """Return whether a scheduler made the claim with these annotations for extended resources."""
    return (annotations or {}).get(_EXTENDED) == "true"


def is_made_for_pod(claim: Document) -> bool:
    """Return whether a claim was made for one pod; its controller or scheduler creates such."""
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
    uids = {obj["metadata"].get("uid") for _, obj in given}
    found = []
    for kind, obj in given:
        if kind.resource != "resourceclaims":
            found.append((kind, obj))
        elif not is_made_for_pod(obj) or pod_of(obj) in uids:
            found.append((kind, _with_users(obj, uids)))
    return found


def with_devices(claim: Document) -> Document:
    """Return a claim whose devices stay allocated; its users have other uids at the destination.

    The controller of claims reserves them for the pods that have a node, and frees them when these
    have ended, if the claim has the finalizer of a scheduler.
    """
    status = {k: v for k, v in claim["status"].items() if k != "reservedFor"}
    return {
        **claim,
        "metadata": {**claim["metadata"], "finalizers": [DELETE_PROTECTION]},
        "status": status,
    }


def independent(claim: Document) -> Document:
    """Return a claim that was made for a pod as a claim with its own name.

    Its owner has another uid at the destination.
    """
    left_out = ("ownerReferences", "generateName")
    metadata = {k: v for k, v in claim["metadata"].items() if k not in left_out}
    annotations = {k: v for k, v in metadata["annotations"].items() if k != _POD_CLAIM_NAME}
    return {**claim, "metadata": {**metadata, "annotations": annotations}}


def owned(claim: Document, pod: Document) -> Document:
    """Return a claim for the extended resources of a pod of the destination, which owns it."""
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    copy = with_devices(claim)
    return {
        **copy,
        "metadata": {**copy["metadata"], "ownerReferences": [owner]},
        "status": {
            **copy["status"],
            "reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
        },
    }


def allocated(claim: Document, source: Document, pod: Document) -> Document:
    """Return a claim of the destination with the devices of one of the source, for a pod."""
    metadata = {k: v for k, v in claim["metadata"].items() if k != "resourceVersion"}
    user = {
        "resource": "pods",
        "name": pod["metadata"]["name"],
        "uid": pod["metadata"]["uid"],
    }
    finalizers = {*(metadata.get("finalizers") or ()), DELETE_PROTECTION}
    return {
        **claim,
        "metadata": {**metadata, "finalizers": sorted(finalizers)},
        "status": {"allocation": source["status"]["allocation"], "reservedFor": [user]},
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
