"""Objects as create and update requests store them, with the server's metadata.

Each function takes the current object and returns the next version; nothing here writes to the
store. The rules:

- The server sets `uid`, `creationTimestamp`, `generation`, `resourceVersion` and the deletion
  fields, and ignores their values in a body; there, `resourceVersion` and `uid` are
  preconditions.
- Where status is a subresource, an update of the object keeps `status`, and an update of the
  status keeps everything but status and metadata.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, BeforeCreate; update.go,
BeforeUpdate; staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, Update
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    timestamp_text,
)
from podwright.apimachinery.schema import KindRow
from podwright.cluster.store import METADATA_KEYS

T = TypeVar("T", bound=KubernetesObject)

Scope: TypeAlias = Literal["main", "status", "whole"]
"""What an update replaces: all but the status, the status, or both at once."""

Validate: TypeAlias = Callable[[KubernetesObject, KubernetesObject], None]
"""Checks a new version of an object against the stored one."""

OwnersOf: TypeAlias = Callable[[KubernetesObject, KubernetesObject], "list[Document] | None"]
"""Returns the managed fields of the new version, given second, of a stored object."""

_replace = msgspec.structs.replace
_KEPT = tuple(key for key in METADATA_KEYS.values() if key != "finalizers")
"""The metadata fields that no update changes."""
_OWNERS = "managedFields"
_KEPT_WITH_OWNERS = (*_KEPT, _OWNERS)


def created(
    obj: T,
    *,
    strategy: KindRow,
    name: str,
    uid: str,
    version: int,
    now_ns: int,
    owners: list[Document] | None = None,
    is_restored: bool = False,
) -> T:
    """Return a new object with the metadata that the server sets.

    Parameters
    ----------
    owners : list of dict, optional
        The managed fields, if they are kept.
    is_restored : bool
        Whether the object keeps its creation time and its generation.
    """
    text, generation, now = (
        str(version),
        # Of kinds that count no changes, upstream keeps what was sent.
        1 if strategy.has_generation else max(obj.metadata.generation, 0),
        timestamp_text(now_ns),
    )
    if is_restored:
        generation = max(obj.metadata.generation, generation)
        now = obj.metadata.creation_timestamp or now
    metadata = _replace(
        obj.metadata,
        name=name,
        uid=uid,
        resource_version=text,
        generation=generation,
        creation_timestamp=now,
    )
    document: dict[str, Any] = (obj.raw.get("metadata") or {}).copy()
    # A create request cannot set them.
    document.pop("generation", None)
    document.pop("selfLink", None)
    document["name"] = name
    document["uid"] = uid
    document["resourceVersion"] = text
    document["creationTimestamp"] = now
    if generation:
        document["generation"] = generation
    if owners:
        document[_OWNERS] = owners
    raw = obj.raw.copy()
    raw["metadata"] = document
    return _replace(obj, metadata=metadata, raw=raw)


def updated(
    current: T,
    new: T,
    *,
    scope: Scope,
    strategy: KindRow,
    version: int,
    keeps_owners: bool = False,
) -> T | None:
    """Return the object after an update, None if the update changes nothing.

    Parameters
    ----------
    keeps_owners : bool
        Whether the managed fields are those of the current object; otherwise those of the new one.
    """
    if scope == "status" and _shares_metadata(current, new):
        return _with_new_status(current, new, version)
    was, stored = current.metadata, current.raw["metadata"]
    document: dict[str, Any] = new.raw["metadata"].copy()
    for key in _KEPT_WITH_OWNERS if keeps_owners else _KEPT:
        kept = stored.get(key)
        if kept is not None:
            document[key] = kept
        elif key in document:
            del document[key]
    changes: dict[str, Any] = {}
    body, status_of = (current, new) if scope == "status" else (new, current)
    if scope == "status":
        # Upstream: old kubelets corrupt owner references through the status.
        changes["owner_references"] = was.owner_references
        if stored.get("ownerReferences"):
            document["ownerReferences"] = stored["ownerReferences"]
        else:
            document.pop("ownerReferences", None)
    raw = body.raw | {"metadata": document}
    has_other_status = scope == "status" or (scope == "main" and "status" in strategy.subresources)
    if has_other_status:
        raw.pop("status", None)
        if "status" in status_of.raw:
            raw["status"] = status_of.raw["status"]
    # Both documents have the stored `resourceVersion` here, so equality means that nothing changes.
    if raw == current.raw:
        return None
    raw = _as_before(raw, current.raw)
    document = raw["metadata"] = raw["metadata"].copy()
    generation = was.generation
    is_counted = strategy.has_generation and scope != "status"
    if is_counted and has_other_spec(new.raw, current.raw, strategy.counted_metadata):
        generation += 1
        document["generation"] = generation
    text = document["resourceVersion"] = str(version)
    metadata = _replace(
        new.metadata,
        name=was.name,
        namespace=was.namespace,
        uid=was.uid,
        resource_version=text,
        generation=generation,
        creation_timestamp=was.creation_timestamp,
        deletion_timestamp=was.deletion_timestamp,
        deletion_grace_period_seconds=was.deletion_grace_period_seconds,
        **changes,
    )
    if has_other_status and "status" in body.__struct_fields__:
        return _replace(body, metadata=metadata, raw=raw, status=getattr(status_of, "status"))  # noqa: B009 - not all kinds have it
    return _replace(body, metadata=metadata, raw=raw)


def _as_before(document: Document, before: Document) -> Document:
    """Return a document that shares equal values with its previous version, in the same order.

    The decision log stores the difference of two versions, and restores them in this form.
    """
    kept = {
        name: before[name] if name in before and before[name] == value else value
        for name, value in document.items()
    }
    return {name: kept[name] for name in before} if kept.keys() == before.keys() else kept


def _shares_metadata(current: T, new: T) -> bool:
    """Whether an object is a copy of the stored one with the same metadata."""
    return (
        new.metadata is current.metadata
        and new.raw.get("metadata") is current.raw["metadata"]
        and "status" in new.raw
    )


def _with_new_status(current: T, new: T, version: int) -> T | None:
    """Return the result of `updated` when only the status can differ; the fast path."""
    status = new.raw["status"]
    if current.raw.get("status") == status and "status" in current.raw:
        return None
    text = str(version)
    document = current.raw["metadata"].copy()
    document["resourceVersion"] = text
    raw = current.raw.copy()
    raw["metadata"] = document
    raw["status"] = status
    metadata = _replace(current.metadata, resource_version=text)
    if "status" not in current.__struct_fields__:
        return _replace(current, metadata=metadata, raw=raw)
    return _replace(current, metadata=metadata, raw=raw, status=getattr(new, "status"))  # noqa: B009 - not all kinds have it


def has_other_spec(
    new: Document,
    old: Document,
    counted_metadata: Iterable[str],
    dropped: Collection[str] = ("metadata", "status"),
) -> bool:
    """Whether anything differs that the generation counts; not all kinds have a `spec`.

    Parameters
    ----------
    counted_metadata : iterable of str
        The parts of the metadata that count too.
    dropped : collection of str
        The sections that do not count.
    """
    now, before = new.get("metadata") or {}, old.get("metadata") or {}
    if any((now.get(part) or {}) != (before.get(part) or {}) for part in counted_metadata):
        return True
    # An empty list is null, as in upstream's semantic comparison.
    rest, stored = (
        {
            name: None if value == [] else value
            for name, value in each.items()
            if name not in dropped
        }
        for each in (new, old)
    )
    return rest != stored
