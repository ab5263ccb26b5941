"""Replace objects; patches and subresources are written by the same stages.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/update.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.decoding.sent_objects import body_of, check_name, in_namespace
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.create import create_document
from podwright.cluster.api.endpoints.writes.sent_writes import sent_write
from podwright.cluster.api.pipeline import executed
from podwright.cluster.api.preconditions import check_is_version, other_value
from podwright.cluster.api.stages.write import PartOf

MakeNew: TypeAlias = Callable[[Document | None], Document]
"""Returns the new object in the version of the request; the argument is the stored one, or None
if it does not exist."""


def update(backend: Backend, call: Call) -> HttpReply:
    """Replace the named object, or the part of it that a subresource is."""
    options = write_options(call.request, "UpdateOptions")
    document = in_namespace(call, body_of(call, options.field_validation))
    check_name(call, document)
    uid = (document.get("metadata") or {}).get("uid")
    made, is_new = update_document(backend, call, lambda _current: document, options, uid=uid)
    return object_reply(call, made, 201 if is_new else 200)


def update_document(
    backend: Backend,
    call: Call,
    make: MakeNew,
    options: WriteOptions,
    *,
    uid: str | None = None,
    may_create: bool | None = None,
    tracks_fields: bool = True,
    part_of: PartOf | None = None,
) -> tuple[Document, bool]:
    """Update the named object and return it, and whether it is new.

    Parameters
    ----------
    make : callable
        Returns the new object.
    uid : str, optional
        A precondition.
    may_create : bool, optional
        Whether an absent object is created; by default as its kind allows for an update.
    tracks_fields : bool
        Whether the write owns the fields that it changes; an apply request has done that itself.
    part_of : callable, optional
        Returns the part of an object that the request is about; `make` has run the mutating
        admission of the part.

    Raises
    ------
    Rejection
        The object does not exist, does not fit, or is not valid.
    """
    resource = call.resource
    current = backend.store.get(resource.storage, call.key)
    if current is None:
        if may_create is None:
            may_create = resource.kind.row.creates_on_update
        if not may_create:
            raise call.missing()
        if uid:
            raise other_value(resource, call.key, "UID", uid, "", is_dry_run=options.is_dry_run)
        fresh = in_namespace(call, make(None))
        check_is_version((fresh.get("metadata") or {}).get("resourceVersion") or "")
        return create_document(backend, call, fresh, options, tracks_fields=tracks_fields)[0], True
    if uid and uid != current.uid:
        raise other_value(
            resource, call.key, "UID", uid, current.uid, is_dry_run=options.is_dry_run
        )
    old = resource.served(current.raw)
    new = in_namespace(call, make(old))
    write = sent_write(
        call, new, current, options, old=old, tracks_fields=tracks_fields, part_of=part_of
    )
    return resource.served(executed(backend, "update", write).object.raw), False
