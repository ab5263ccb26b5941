"""Steps that creations and updates share: warnings, errors, allocation, the typed object."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, InvalidObject, KubernetesObject
from podwright.apimachinery.schema import Kind, Problem, decode, printed
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.custom_resources import write_warnings
from podwright.cluster.api.endpoints.decoding.sent_objects import name_of
from podwright.cluster.api.endpoints.writes import strategies
from podwright.cluster.api.rejections import Rejection, invalid
from podwright.cluster.api.versions.resources import Resource

_EMPTY_IN_ERRORS: Final = frozenset(
    {"spec.capacity", "spec.template.metadata.labels", "spec.versions"}
)
"""Maps and lists that may not be empty: errors print whether an empty one was sent or none."""


def add_warnings(call: Call, new: Document, old: Document | None) -> None:
    """Add the warnings about a valid object, which a rejection by admission has too."""
    resource, subresource = call.resource, call.info.subresource
    with interlude():
        if isinstance(resource.kind, Kind):
            call.warnings += resource.kind.write_warnings(new, old, subresource=subresource)
        if not subresource:
            call.warnings += write_warnings(resource, new, old)


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


def allocated(
    backend: Backend,
    resource: Resource,
    document: Document,
    stored: Document | None,
    *,
    is_dry_run: bool,
) -> Document:
    """Return a valid object with what is allocated to it, such as the address of a Service."""
    allocate = backend.allocators.get(strategies.key_of(resource))
    if allocate is None:
        return document if stored else strategies.as_read(resource, document)
    return resource.kind.go_form(allocate(document, stored, is_dry_run=is_dry_run))


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
