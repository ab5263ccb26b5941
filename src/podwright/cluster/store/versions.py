"""Copies of objects with changed metadata, in the struct and in the document."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from podwright.apimachinery.objects import KubernetesObject, encode
from podwright.apimachinery.schema import decode

T = TypeVar("T", bound=KubernetesObject)

_replace = msgspec.structs.replace

METADATA_KEYS = {
    "name": "name",
    "namespace": "namespace",
    "uid": "uid",
    "resource_version": "resourceVersion",
    "generation": "generation",
    "creation_timestamp": "creationTimestamp",
    "deletion_timestamp": "deletionTimestamp",
    "deletion_grace_period_seconds": "deletionGracePeriodSeconds",
    "finalizers": "finalizers",
}
"""The fields of `ObjectMeta` that the server sets, and their names in a document."""


def with_document(obj: KubernetesObject) -> KubernetesObject:
    """Return the object with its document, which is encoded from the struct if it has none.

    A store restores objects from their documents, so every stored object needs one.
    """
    if obj.raw:
        return obj
    return decode(encode(obj), source=f"{obj.kind} {obj.key}")


def with_metadata(obj: T, **changes: Any) -> T:
    """Return a copy with changed metadata, in the struct and in the document.

    None, an empty text, an empty tuple and generation 0 remove the field.
    """
    document: dict[str, Any] = dict(obj.raw.get("metadata") or {})
    for name, value in changes.items():
        if value is None or value in ("", ()) or (name == "generation" and not value):
            document.pop(METADATA_KEYS[name], None)
        else:
            document[METADATA_KEYS[name]] = list(value) if isinstance(value, tuple) else value
    metadata = _replace(obj.metadata, **changes)
    return _replace(obj, metadata=metadata, raw=obj.raw | {"metadata": document})


def at_version(obj: T, version: int) -> T:
    """Return a copy with another `resourceVersion`."""
    text = str(version)
    document = obj.raw["metadata"].copy()
    document["resourceVersion"] = text
    raw = obj.raw.copy()
    raw["metadata"] = document
    return _replace(obj, metadata=_replace(obj.metadata, resource_version=text), raw=raw)
