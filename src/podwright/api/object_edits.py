"""Changed copies of objects whose kinds are not all typed, and actions about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from podwright.objects import (
    Document,
    KubernetesObject,
    Unknown,
    decode,
    encode,
)

T = TypeVar("T", bound=KubernetesObject)


def section(obj: KubernetesObject, section: str) -> Document:
    """Return `metadata`, `spec` or `status` of an object's document, empty if it has none."""
    return cast(Document, encode(obj).get(section) or {})


def patched(obj: T, **sections: Mapping[str, Any]) -> T:
    """Return a copy in which fields of sections have other values; None removes a field.

    Examples
    --------
    >>> from podwright.testing import make_pod
    >>> patched(make_pod("web"), status={"phase": "Failed"}).status.phase
    'Failed'
    """
    document = dict(encode(obj))
    for section, fields in sections.items():
        merged = {**(document.get(section) or {}), **fields}
        document[section] = {key: value for key, value in merged.items() if value is not None}
    if type(obj) is Unknown and "metadata" not in sections:
        return msgspec.structs.replace(obj, raw=document)  # nothing else of it is read
    return cast(T, decode(document, source=f"{obj.kind} {obj.key}"))


def merge_patched(obj: T, patch: Document) -> T:
    """Return an object after a JSON merge patch of its document.

    Notes
    -----
    Upstream: RFC 7386, as `application/merge-patch+json` has it.
    """
    return cast(T, decode(_merged(encode(obj), patch), source=f"{obj.kind} {obj.key}"))


def _merged(document: Document, patch: Document) -> Document:
    merged = dict(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            inner = merged.get(name)
            merged[name] = _merged(inner if isinstance(inner, dict) else {}, value)
        else:
            merged[name] = value
    return merged


def annotations_patch(obj: KubernetesObject, **changes: str | None) -> Document:
    """Return the annotations of an object with changes, as a field of `metadata`."""
    merged = {**(section(obj, "metadata").get("annotations") or {}), **changes}
    kept = {key: value for key, value in merged.items() if value is not None}
    return {"annotations": kept or None}


def finalizers_without(obj: KubernetesObject, finalizer: str) -> Document:
    """Return the finalizers of an object but one, as a field of `metadata`."""
    kept = [each for each in obj.metadata.finalizers if each != finalizer]
    return {"finalizers": kept or None}


def conditions_with(conditions: Iterable[Document], condition: Document) -> list[Document]:
    """Return conditions with one set; its transition time stays while its status does."""
    written = list(conditions)
    for index, present in enumerate(written):
        if present.get("type") == condition["type"]:
            if present.get("status") == condition["status"]:
                condition = condition | {"lastTransitionTime": present.get("lastTransitionTime")}
            written[index] = condition
            return written
    return [*written, condition]
