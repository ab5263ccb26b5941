"""What is copied of an object of the source.

Upstream: simulator/resourceapplier/resourceapplier.go (kube-scheduler-simulator)
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import SOURCE_UID, Document
from podwright.online.sync.source_kinds import SourceKind

_OF_THE_SERVER: Final = (
    "uid", "generation", "resourceVersion", "selfLink", "managedFields", "deletionTimestamp",
    "deletionGracePeriodSeconds",
)  # fmt: skip
_TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


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
    Pods have no service account, whose injected token volumes are left out too, and no containers
    for debugging, which cannot be created with a pod.

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
        copy["spec"] = {k: v for k, v in copy["spec"].items() if k != "ephemeralContainers"}
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
    kept = [
        each
        for each in mounts
        if each.get("name") not in injected or each.get("mountPath") != _TOKEN_PATH
    ]
    if len(kept) == len(mounts):
        return container
    container = {key: value for key, value in container.items() if key != "volumeMounts"}
    return {**container, "volumeMounts": kept} if kept else container
