"""Replace objects; patches and subresources are written by the same steps.

An update passes the stages of `UPDATE`, several of which are those of a creation.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/update.go;
staging/src/k8s.io/apiserver/pkg/registry/rest/update.go;
staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.endpoints.access.certificate_requests import signer_problems
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.custom_resources import check_kind_of_object
from podwright.cluster.api.endpoints.decoding.sent_objects import (
    body_of,
    check_name,
    in_namespace,
    with_distinct_owners,
)
from podwright.cluster.api.endpoints.kinds.admin_access import admin_access_problems
from podwright.cluster.api.endpoints.kinds.policy_expressions import with_expression_problems
from podwright.cluster.api.endpoints.kinds.service_allocation import check_addresses
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.create import create_document
from podwright.cluster.api.endpoints.writes.write_steps import (
    ObjectWrite,
    admit,
    admit_valid,
    allocate,
    fitting,
    invalid_object,
    own,
    stored_object,
    warn,
    with_empty_parts,
)
from podwright.cluster.api.gated_fields import without_comparisons, without_disabled
from podwright.cluster.api.pipeline import Stage, replace
from podwright.cluster.api.preconditions import check_is_version, check_version, other_value
from podwright.cluster.api.rejections import (
    conflict,
    invalid,
)
from podwright.cluster.api.strategies import preparation as strategies
from podwright.cluster.api.versions.resources import Resource

MakeNew: TypeAlias = Callable[[Document | None], Document]
"""Returns the new object in the version of the request; the argument is the stored one, or None
if it does not exist."""

_KEPT_EXPRESSIONS: Final = ("ResourceClaim",)
"""Kinds whose expressions are immutable, and are not checked again."""


def update(backend: Backend, call: Call) -> HttpReply:
    """Replace the named object, or the part of it that a subresource is."""
    options = write_options(call.request, "UpdateOptions")
    document = in_namespace(call, body_of(backend, call, options.field_validation))
    check_name(call, document)
    uid = (document.get("metadata") or {}).get("uid") or ""
    made, is_new = update_document(backend, call, lambda _current: document, options, uid=uid)
    return object_reply(call, made, 201 if is_new else 200)


def update_document(
    backend: Backend,
    call: Call,
    make: MakeNew,
    options: WriteOptions,
    *,
    uid: str = "",
    may_create: bool | None = None,
    tracks_fields: bool = True,
) -> tuple[Document, bool]:
    """Update the named object and return it, and whether it is new.

    Parameters
    ----------
    make : callable
        Returns the new object.
    uid : str
        A precondition; "" for none.
    may_create : bool, optional
        Whether an absent object is created; by default as its kind allows for an update.
    tracks_fields : bool
        Whether the write owns the fields that it changes; an apply request has done that itself.

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
        check_no_uid(call, fresh)
        check_is_version((fresh.get("metadata") or {}).get("resourceVersion") or "")
        return create_document(backend, call, fresh, options, tracks_fields=tracks_fields)[0], True
    if uid and uid != current.uid:
        raise other_value(
            resource, call.key, "UID", uid, current.uid, is_dry_run=options.is_dry_run
        )
    old = resource.served(current.raw)
    write = ObjectWrite(
        now_ns=call.now_ns,
        body=None,
        is_dry_run=options.is_dry_run,
        current=current,
        call=call,
        options=options,
        new=with_distinct_owners(call, in_namespace(call, make(old))),
        old=old,
        tracks_fields=tracks_fields,
    )
    return resource.served(backend.executed("update", write).object.raw), False


def _prepare(backend: Backend, write: ObjectWrite) -> None:
    """Check the version, and prepare the object as its kind does."""
    call, resource, old = write.call, write.call.resource, write.old
    assert old is not None, "an update has a stored object"
    new = _checked_version(resource, write.new, write.current)
    new = with_stored_metadata(new, old)
    # Before the generation is counted.
    new = _without_disabled(backend, resource, new, old)
    if strategies.key_of(resource) == strategies.COMPARED_EXACTLY:
        spec = with_empty_parts(new.get("spec"), call.sent.get("spec"))
        new = strategies.with_part(new, "spec", spec)
    write.new = strategies.prepared_for_update(
        resource, new, old, call.now_ns, call.info.subresource
    )


def _without_disabled(
    backend: Backend, resource: Resource, new: Document, old: Document
) -> Document:
    disabled = backend.disabled_fields.get(resource.storage)
    return new if disabled is None else without_disabled(disabled, new, old)


def _check(backend: Backend, write: ObjectWrite) -> None:
    """Validate the prepared object, which is in Go's form then."""
    call, resource, new, old = write.call, write.call.resource, write.new, write.old
    assert old is not None, "an update has a stored object"
    check_kind_of_object(resource, new, old)
    with interlude():
        new = write.new = resource.kind.go_form(new)
        problems = _problems_of(backend, call, new, old)
        if problems:
            exact = with_empty_parts(new, call.sent)
            exact = _without_disabled(backend, resource, exact, old)
            problems = _problems_of(backend, call, exact, old)
    if resource.storage in backend.allocators and not call.info.subresource:
        check_addresses(new, problems)
    problems = [*admin_access_problems(backend.store, resource, new, old), *problems]
    if problems:
        raise invalid_object(call, new, problems)


def _encode(backend: Backend, write: ObjectWrite) -> None:
    """Return the object as the store keeps it."""
    assert write.old is not None, "an update has a stored object"
    new = write.call.resource.as_stored(write.new)
    new = backend.field_management.settled(write.old, new)
    if not write.is_dry_run:
        before_bytes = backend.store.encodings.size_of(write.current.raw)
        new = fitting(write.call, new, before_bytes=before_bytes)
    write.body = stored_object(backend, write.call.resource, new)


UPDATE: Final[tuple[Stage, ...]] = (
    own,
    admit,
    _prepare,
    _check,
    allocate,
    warn,
    admit_valid,
    _encode,
    replace,
)
"""The stages of an update over HTTP, of a subresource as well."""


def _problems_of(backend: Backend, call: Call, new: Document, old: Document) -> list[Problem]:
    """Return what is wrong with a changed object in Go's form."""
    resource, subresource = call.resource, call.info.subresource
    problems = strategies.update_problems(resource, new, old, subresource)
    if not subresource and resource.name not in _KEPT_EXPRESSIONS:
        problems = with_expression_problems(problems, resource, new)
    if not backend.compares_taints:
        problems = without_comparisons(resource.storage, new, old, problems)
    if subresource == "status" and not problems:
        problems = signer_problems(backend.authorizers, call.user, resource, new, old)
    return problems


def check_no_uid(call: Call, document: Document) -> None:
    """Reject an object with a uid where none is stored.

    Raises
    ------
    Rejection
        The object has a uid.
    """
    metadata = document.get("metadata")
    sent = metadata.get("uid") if isinstance(metadata, dict) else None
    if sent:
        resource = call.resource
        text = f"uid mismatch: the provided object specified uid {sent}, and no existing object"
        raise conflict(resource.group, resource.plural, call.info.name, f"{text} was found")


def _checked_version(resource: Resource, new: Document, current: KubernetesObject) -> Document:
    metadata: Document = new.get("metadata") or {}
    sent, stored = metadata.get("resourceVersion") or "", current.metadata.resource_version
    if sent == stored:
        return new
    check_version(resource.group, resource.plural, current.name, sent, stored)
    if resource.is_custom or resource.kind.row.needs_resource_version:
        text = "Invalid value: 0: must be specified for an update"
        problem = ("metadata.resourceVersion", text, 0)
        # Upstream names the resource here instead of the kind.
        raise invalid(resource.group, resource.plural, current.name, [problem])
    return new | {"metadata": metadata | {"resourceVersion": stored}}


def with_stored_metadata(new: Document, old: Document) -> Document:
    """Return a changed object with the metadata that no update changes."""
    metadata = dict(new.get("metadata") or {})
    stored: Document = old.get("metadata") or {}
    if not metadata.get("uid"):
        metadata["uid"] = stored.get("uid")
    for name in ("generation", "creationTimestamp"):
        if name in stored:
            metadata[name] = stored[name]
        else:
            metadata.pop(name, None)
    if "deletionTimestamp" in stored:
        metadata["deletionTimestamp"] = stored["deletionTimestamp"]
    if metadata.get("deletionGracePeriodSeconds") is None:
        metadata.pop("deletionGracePeriodSeconds", None)
        if "deletionGracePeriodSeconds" in stored:
            metadata["deletionGracePeriodSeconds"] = stored["deletionGracePeriodSeconds"]
    return new | {"metadata": metadata}
