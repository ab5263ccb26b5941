"""The stages that creations and updates over HTTP share, and what they have in common otherwise.

A creation or an update is an `ObjectWrite`. The lists of their stages are in `create` and `update`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, InvalidObject, KubernetesObject
from podwright.apimachinery.schema import Kind, Problem, decode, printed
from podwright.cluster.api.admission import Operation
from podwright.cluster.api.endpoints.access.authorization import refuse_escalation
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.custom_resources import write_warnings
from podwright.cluster.api.endpoints.decoding.sent_objects import name_of
from podwright.cluster.api.endpoints.options import WriteOptions
from podwright.cluster.api.endpoints.request import manager_of
from podwright.cluster.api.endpoints.writes.admission_attributes import attributes_of
from podwright.cluster.api.pipeline import Write
from podwright.cluster.api.rejections import Rejection, invalid
from podwright.cluster.api.stored_sizes import REQUEST_MAX_BYTES, storable
from podwright.cluster.api.strategies import preparation as strategies
from podwright.cluster.api.versions.resources import Resource

_FEW_BYTES: Final = REQUEST_MAX_BYTES // 8
"""A body of this length, and an object of this size, make no object that is too large."""

_EMPTY_IN_ERRORS: Final = frozenset(
    {"spec.capacity", "spec.template.metadata.labels", "spec.versions"}
)
"""Maps and lists that may not be empty: errors print whether an empty one was sent or none."""


class ObjectWrite(Write, kw_only=True, eq=False, gc=False):
    """A creation or an update over HTTP.

    Attributes
    ----------
    call : Call
    options : WriteOptions
    new : dict
        The new object in the version of the request.
    old : dict or None
        The stored object in that version; None for a creation.
    tracks_fields : bool
        Whether the write owns the fields that it changes; an apply request has done that itself.
    is_in_form : bool
        Whether the metadata is in Go's form: what decoding and field management made is, what
        others made may not be.
    """

    call: Call
    options: WriteOptions
    new: Document
    old: Document | None = None
    tracks_fields: bool = True
    is_in_form: bool = False


def own(backend: Backend, write: ObjectWrite) -> None:
    """Give the sender the fields that it changes."""
    if write.tracks_fields:
        call = write.call
        write.new = backend.field_management.updated(
            call.resource,
            write.old,
            write.new,
            manager=manager_of(call.request, write.options.field_manager),
            subresource="" if write.old is None else call.info.subresource,
            now_ns=write.now_ns,
        )


def admit(backend: Backend, write: ObjectWrite) -> None:
    """Run the plugins that mutate, and check that no role gives more than its writer has."""
    call, sent = write.call, write.new
    operation: Operation = "CREATE" if write.old is None else "UPDATE"
    attributes = attributes_of(call, operation, sent, write.old, write.options)
    backend.admission.admit(attributes)
    assert attributes.object is not None, "admission keeps the object of a write"
    refuse_escalation(backend.escalation, attributes, call.info.name)
    write.attributes, write.new = attributes, attributes.object
    write.is_in_form = write.new.get("metadata") is sent.get("metadata")


def allocate(backend: Backend, write: ObjectWrite) -> None:
    """Allocate addresses to a valid object; upstream's storage of a status allocates nothing."""
    call = write.call
    if not call.info.subresource:
        new = backend.allocated(call.resource, write.new, write.old, is_dry_run=write.is_dry_run)
        write.new = new if write.old else strategies.as_read(call.resource, new)


def warn(backend: Backend, write: ObjectWrite) -> None:
    """Add the warnings about a valid object, which a rejection by admission has too."""
    del backend
    call, new, old = write.call, write.new, write.old
    resource, subresource = call.resource, call.info.subresource
    with interlude():
        if isinstance(resource.kind, Kind):
            call.warnings += resource.kind.write_warnings(new, old, subresource=subresource)
        if not subresource:
            call.warnings += write_warnings(resource, new, old)


def admit_valid(backend: Backend, write: ObjectWrite) -> None:
    """Run the plugins that validate."""
    attributes = write.attributes
    assert attributes is not None, "the object was admitted"
    attributes.object = write.new
    backend.admission.validate(attributes)
    write.call.warnings += attributes.warnings


def invalid_object(call: Call, document: Document, problems: Iterable[Problem]) -> Rejection:
    """Return the error of an object that is not valid.

    Maps and lists are printed as they were sent: an empty one is not null. Go's form of an object,
    which is validated, does not have empty ones.
    """
    resource = call.resource
    with interlude():
        shown = [_with_empty_value(each, call.sent) for each in problems]
        return invalid(resource.error_group, resource.name, name_of(document), shown)


def with_empty_parts(document: Any, sent: Any) -> Any:
    """Return a document in Go's form with the empty maps and lists that were sent.

    Go keeps them until the object is stored: they are not null in messages.
    """
    if isinstance(document, dict) and isinstance(sent, dict):
        found = {name: with_empty_parts(value, sent.get(name)) for name, value in document.items()}
        return found | {
            name: value
            for name, value in sent.items()
            if value in ({}, []) and document.get(name) is None
        }
    if isinstance(document, list) and isinstance(sent, list) and len(document) == len(sent):
        return [with_empty_parts(each, one) for each, one in zip(document, sent, strict=True)]
    return document


def _with_empty_value(problem: Problem, sent: Document) -> Problem:
    path, message, value = problem
    text, _, rest = message.partition(": null: ")
    if value is not None or not rest or path not in _EMPTY_IN_ERRORS:
        return problem
    empty = _value_at(sent, path)
    return (path, f"{text}: {printed(empty)}: {rest}", empty) if empty in ({}, []) else problem


def _value_at(document: Document, path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def stored_object(backend: Backend, resource: Resource, document: Document) -> KubernetesObject:
    """Return a document of the request's version as the store keeps it.

    Raises
    ------
    Rejection
        The document violates a rule of the typed objects.
    """
    stored = resource.stored(document)
    try:
        with interlude():
            return backend.specs.decoded(stored)
    except InvalidObject as error:
        if any(each.path.startswith("status") for each in error.errors):
            # The API does not check all values of a status; what the typed object cannot hold
            # stays in its document.
            bare = {name: part for name, part in stored.items() if name != "status"}
            return msgspec.structs.replace(decode(bare), raw=stored)
        problems = [(each.path, each.message, each.value) for each in error.errors]
        raise invalid(resource.error_group, resource.name, name_of(document), problems) from None


def fitting(call: Call, document: Document, *, before_bytes: int = 0) -> Document:
    """Return an object as etcd can store it; see `storable`.

    Parameters
    ----------
    call : Call
    document : dict
        The object that will be stored.
    before_bytes : int
        The size of the object that it replaces.

    Raises
    ------
    Rejection
        It is too large.
    """
    body = call.request.body
    # Aliases, and operations of a JSON patch, say much in few bytes.
    says_much = b"&" in body or b'"copy"' in body
    if not says_much and len(body) + before_bytes <= _FEW_BYTES:
        return document
    return storable(document, is_custom=call.resource.is_custom)
