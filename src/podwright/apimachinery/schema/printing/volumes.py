"""Cells of volumes, claims, classes and CSI objects.

Upstream: pkg/printers/internalversion/printers.go, printPersistentVolume and others;
pkg/apis/core/helper/helpers.go; pkg/apis/storage/util/helpers.go
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.apimachinery.objects import Document, format_quantity
from podwright.apimachinery.schema.printing.conversions import NONE, UNSET

_MODES = {
    "ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}  # fmt: skip
_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASSES = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_ATTRIBUTES_CLASSES = ("volumeattributesclass.alpha.kubernetes.io/is-default-class",)


def phase(obj: Document) -> str:
    """Return the phase of a volume or claim, or that it is being deleted."""
    if (obj.get("metadata") or {}).get("deletionTimestamp"):
        return "Terminating"
    return str((obj.get("status") or {}).get("phase") or "")


def storage_class(obj: Document) -> str:
    """Return the storage class of a volume or claim; the old annotation comes first."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if _CLASS in annotations:
        return str(annotations[_CLASS])
    return str((obj.get("spec") or {}).get("storageClassName") or "")


def volume_capacity(volume: Document) -> str:
    """Return the size of a volume."""
    return _storage((volume.get("spec") or {}).get("capacity"))


def volume_modes(volume: Document) -> str:
    """Return the access modes of a volume, abbreviated."""
    return _modes((volume.get("spec") or {}).get("accessModes"))


def claim_of_volume(volume: Document) -> str:
    """Return the namespace and the name of the claim that a volume is bound to."""
    reference = (volume.get("spec") or {}).get("claimRef")
    if reference is None:
        return ""
    return f"{reference.get('namespace') or ''}/{reference.get('name') or ''}"


def claim_capacity(claim: Document) -> str:
    """Return the size of the volume that a claim is bound to; "" if it is bound to none."""
    if not (claim.get("spec") or {}).get("volumeName"):
        return ""
    return _storage((claim.get("status") or {}).get("capacity"))


def claim_modes(claim: Document) -> str:
    """Return the access modes of the volume that a claim is bound to."""
    if not (claim.get("spec") or {}).get("volumeName"):
        return ""
    return _modes((claim.get("status") or {}).get("accessModes"))


def class_name(storage_class: Document) -> str:
    """Return the name of a storage class, marked if it is the default."""
    return _marked(storage_class, _DEFAULT_CLASSES)


def attributes_class_name(attributes_class: Document) -> str:
    """Return the name of a class of volume attributes, marked if it is the default."""
    return _marked(attributes_class, _DEFAULT_ATTRIBUTES_CLASSES)


def token_audiences(driver: Document) -> str:
    """Return the audiences of the tokens that a CSI driver requests."""
    requests = (driver.get("spec") or {}).get("tokenRequests")
    if requests is None:
        return UNSET
    return ",".join(each.get("audience") or "" for each in requests)


def lifecycle_modes(driver: Document) -> str:
    """Return the life cycle modes of a CSI driver."""
    return ",".join((driver.get("spec") or {}).get("volumeLifecycleModes") or ()) or NONE


def _storage(amounts: Document | None) -> str:
    return format_quantity((amounts or {}).get("storage") or "0")


def _modes(modes: Iterable[str] | None) -> str:
    present = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in present)


def _marked(obj: Document, annotations: Iterable[str]) -> str:
    metadata = obj.get("metadata") or {}
    name = str(metadata.get("name") or "")
    present = metadata.get("annotations") or {}
    return f"{name} (default)" if any(present.get(key) == "true" for key in annotations) else name
