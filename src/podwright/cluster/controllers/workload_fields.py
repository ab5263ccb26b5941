"""Access to the spec, status and annotations of workloads, whose status is not typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject, encode, timestamp_text
from podwright.apimachinery.schema import decode

T = TypeVar("T", bound=KubernetesObject)


def spec_of(obj: KubernetesObject) -> Document:
    """Return the spec of an object as a document."""
    spec: Document = obj.raw.get("spec") or {}
    return spec


def status_of(obj: KubernetesObject) -> Document:
    """Return the status of an object as a document."""
    status: Document = obj.raw.get("status") or {}
    return status


def number(value: Any, default: int) -> int:
    """Return a number of a document, or its default if it is absent."""
    return default if value is None else int(value)


def is_only_status(old: KubernetesObject | None, new: KubernetesObject | None) -> bool:
    """Whether a change leaves the spec and the relevant metadata as they were."""
    if old is None or new is None:
        return False
    was, now = old.metadata, new.metadata
    return (
        old.raw.get("spec") == new.raw.get("spec")
        and was.generation == now.generation
        and was.uid == now.uid
        and was.deletion_timestamp == now.deletion_timestamp
        and was.labels == now.labels
        and was.annotations == now.annotations
        and was.owner_references == now.owner_references
    )


def with_status(obj: T, status: Document) -> T:
    """Return an object with another status."""
    document = encode(obj) | {"status": status}
    if "status" in obj.__struct_fields__:
        return cast(T, decode(document, source=f"the status of {obj.kind} {obj.key}"))
    return msgspec.structs.replace(obj, raw=document)


def condition(
    kind: str, status: str, reason: str, message: str, now_ns: int, **others: Any
) -> Document:
    """Return a condition with a transition now; `others` are further fields."""
    since = {"lastTransitionTime": timestamp_text(now_ns)}
    return {"type": kind, "status": status, **others, **since, "reason": reason, "message": message}


def with_annotations(obj: T, annotations: Mapping[str, str]) -> T:
    """Return an object with its annotations replaced."""
    metadata = dict(obj.raw.get("metadata") or {})
    if annotations:
        metadata["annotations"] = dict(annotations)
    else:
        metadata.pop("annotations", None)
    return msgspec.structs.replace(
        obj,
        metadata=msgspec.structs.replace(obj.metadata, annotations=dict(annotations)),
        raw=obj.raw | {"metadata": metadata},
    )


def without_zeros(counts: Mapping[str, Any], always: Iterable[str]) -> Document:
    """Return counts as the API serializes them: zeros only for the required fields."""
    kept = tuple(always)
    return {name: value for name, value in counts.items() if value or name in kept}
