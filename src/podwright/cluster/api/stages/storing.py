"""The last stages: the object as the store keeps it, and its write.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, InvalidObject, KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.api.deletion import DeleteOptions, propagation_of
from podwright.cluster.api.preconditions import deletion_conflict
from podwright.cluster.api.rejections import Rejection, invalid, not_found
from podwright.cluster.api.stages.preparation import name_of
from podwright.cluster.api.stages.write import Parts, SentWrite, ServedParts, Write
from podwright.cluster.api.stored_sizes import REQUEST_MAX_BYTES, storable
from podwright.cluster.api.strategies import preparation as strategies
from podwright.cluster.api.versions.resources import Resource, plural_of

_FEW_BYTES: Final = REQUEST_MAX_BYTES // 8
"""A body of this length, and an object of this size, make no object that is too large."""


def find(parts: Parts, write: Write) -> Rejection | None:
    """Find the stored object."""
    write.current = current = parts.storage.store.get(write.kind, write.key)
    if current is None:
        return not_found(write.kind[0], plural_of(write.kind), write.key.rpartition("/")[2])
    return None


def check_deletion(_parts: Parts, write: Write) -> Rejection | None:
    """Check the preconditions of a deletion."""
    return deletion_conflict(write.kind, write.current, write.body)


def allocate(parts: ServedParts, write: SentWrite) -> None:
    """Allocate addresses to a valid object; upstream's storage of a status allocates nothing."""
    facts = write.attributes
    if not facts.subresource:
        resource, old = facts.resource, facts.old
        new = parts.allocated(resource, write.new, old, is_dry_run=write.is_dry_run)
        write.new = new if old else strategies.as_read(resource, new)


def encode(parts: ServedParts, write: SentWrite) -> None:
    """Encode the object as the store keeps it; its uid stays, though admission may have written."""
    facts, before_bytes = write.attributes, 0
    new = facts.resource.as_stored(write.new)
    if facts.old is not None:
        new = parts.field_management.settled(facts.old, new)
    if not write.is_dry_run:
        if write.current is not None:
            before_bytes = parts.store.encodings.size_of(write.current.raw)
        new = _fitting(write, new, before_bytes)
    write.new = new
    has_own_writes = "status" in facts.resource.kind.row.subresources
    keeps_status = has_own_writes and facts.subresource != "status"
    write.body = _stored_object(facts.resource, new, write.current if keeps_status else None)
    write.uid = write.body.uid


def _stored_object(
    resource: Resource, document: Document, current: KubernetesObject | None
) -> KubernetesObject:
    """Return a document of the request's version as the store keeps it.

    Parameters
    ----------
    current : KubernetesObject, optional
        The stored object whose status is kept, which another version may not have whole.

    Raises
    ------
    Rejection
        The document violates a rule of the typed objects.
    """
    stored = resource.stored(document)
    if resource.to_storage is not None and current is not None and "status" in current.raw:
        stored = stored | {"status": current.raw["status"]}
    try:
        with interlude():
            return decode(stored)
    except InvalidObject as error:
        if any(each.path.startswith("status") for each in error.errors):
            # The API does not check all values of a status; what the typed object cannot hold
            # stays in its document.
            bare = {name: part for name, part in stored.items() if name != "status"}
            return msgspec.structs.replace(decode(bare), raw=stored)
        problems = [(each.path, each.message, each.value) for each in error.errors]
        raise invalid(resource.error_group, resource.name, name_of(document), problems) from None


def _fitting(write: SentWrite, document: Document, before_bytes: int) -> Document:
    """Return an object as etcd can store it in place of one of a size; see `storable`.

    Raises
    ------
    Rejection
        It is too large.
    """
    # Aliases, and operations of a JSON patch, say much in few bytes.
    says_much = b"&" in write.text or b'"copy"' in write.text
    if not says_much and len(write.text) + before_bytes <= _FEW_BYTES:
        return document
    return storable(document, is_custom=write.attributes.resource.is_custom)


def create(parts: Parts, write: Write) -> Rejection | None:
    """Store the new object."""
    write.stored = parts.storage.create(
        write.body,
        write.now_ns,
        uid=write.uid,
        owners=write.owners,
        is_restored=write.is_restored,
        is_dry_run=write.is_dry_run,
    )
    return None


def replace(parts: Parts, write: Write) -> Rejection | None:
    """Store the next version of the current object, which is complete but for its version."""
    write.stored = parts.storage.replace(write.current, write.body, is_dry_run=write.is_dry_run)
    return None


def delete(parts: Parts, write: Write) -> Rejection | None:
    """Remove the object, or mark it as terminating."""
    current: KubernetesObject = write.current
    options: DeleteOptions = write.body
    storage = parts.storage
    mark = parts.marks.get(write.kind)
    marked = None if mark is None else mark(current.raw, write.now_ns)
    if marked is not None:
        write.stored = storage.replace(current, decode(marked), is_dry_run=write.is_dry_run)
        return None
    write.stored = storage.delete(
        current,
        write.now_ns,
        grace_seconds=options.grace_seconds,
        propagation=propagation_of(write.kind, current, options),
        is_dry_run=write.is_dry_run,
    )
    return None
