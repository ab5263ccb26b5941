"""Warnings about volumes, storage classes, drivers and capacities.

Upstream: pkg/api/persistentvolume/util.go; pkg/api/storage/util.go;
pkg/registry/storage/csidriver/strategy.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.warnings.nodes import (
    DEPRECATED_LABELS,
    selector_warnings,
    term_warnings,
)

_OLD_ANNOTATIONS: Final = {
    "volume.beta.kubernetes.io/storage-class": (
        'deprecated since v1.8; use "storageClassName" attribute instead'
    ),
    "volume.beta.kubernetes.io/mount-options": (
        'deprecated since v1.31; use "mountOptions" attribute instead'
    ),
}
_OLD_SOURCES: Final = {
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
"""By field, in upstream's order: its name in the text, and the text."""

_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to"
    " prevent possible logging of tokens in volume attributes"
)


def volume_warnings(volume: Document, old: Document | None) -> list[str]:
    """Return the warnings about a PersistentVolume."""
    del old
    notes = (volume.get("metadata") or {}).get("annotations") or {}
    spec: Document = volume.get("spec") or {}
    found = [
        f"metadata.annotations[{key}]: {text}"
        for key, text in _OLD_ANNOTATIONS.items()
        if key in notes
    ]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead,"
            " the recommended approach is to use dynamic provisioning."
        )
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
        found += term_warnings(f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", term)
    found += [
        f"spec.{name}: {text}"
        for field, (name, text) in _OLD_SOURCES.items()
        if spec.get(field) is not None
    ]
    return found


def class_warnings(storage_class: Document, old: Document | None) -> list[str]:
    """Return the warnings about a StorageClass."""
    del old
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{number}].key:"
        f" {DEPRECATED_LABELS[expression['key']]}"
        for index, term in enumerate(storage_class.get("allowedTopologies") or ())
        for number, expression in enumerate(term.get("matchLabelExpressions") or ())
        if expression.get("key") in DEPRECATED_LABELS
    ]


def capacity_warnings(capacity: Document, old: Document | None) -> list[str]:
    """Return the warnings about a CSIStorageCapacity."""
    del old
    return selector_warnings("nodeTopology", capacity.get("nodeTopology"))


def driver_warnings(driver: Document, old: Document | None) -> list[str]:
    """Return the warnings about a CSIDriver that starts to receive tokens."""
    spec: Document = driver.get("spec") or {}
    tokens = spec.get("tokenRequests")
    before = None if old is None else (old.get("spec") or {}).get("tokenRequests")
    if not tokens or tokens == before or spec.get("serviceAccountTokenInSecrets") is not None:
        return []
    return [_TOKENS]
