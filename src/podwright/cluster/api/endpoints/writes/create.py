"""Create objects.

A creation is decoded, and passes the stages of `CREATE`. The last one does nothing in a dry run.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go;
staging/src/k8s.io/apiserver/pkg/registry/rest/create.go;
staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, timestamp_text
from podwright.apimachinery.schema import (
    Problem,
    qualifies_finalizers,
    validate_object_meta,
    with_apparmor_profiles,
)
from podwright.cluster.api.endpoints.access.certificate_requests import with_requestor
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.custom_resources import DEFINITION, check_kind_of_object
from podwright.cluster.api.endpoints.decoding.bodies import check_encoding
from podwright.cluster.api.endpoints.decoding.sent_objects import (
    body_of,
    in_namespace,
    name_of,
    with_distinct_owners,
)
from podwright.cluster.api.endpoints.forms import Trial
from podwright.cluster.api.endpoints.kinds.admin_access import admin_access_problems
from podwright.cluster.api.endpoints.kinds.policy_expressions import with_expression_problems
from podwright.cluster.api.endpoints.kinds.service_allocation import (
    check_address_owner,
    check_addresses,
)
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
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
)
from podwright.cluster.api.gated_fields import without_comparisons, without_disabled
from podwright.cluster.api.identity import uid_at, with_generated_name
from podwright.cluster.api.pipeline import Stage, create as store_new
from podwright.cluster.api.rejections import (
    Rejection,
    already_exists,
    forbidden,
    unclassified_error,
)
from podwright.cluster.api.strategies import preparation as strategies
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import POD, AlreadyExists

_SYSTEM_METADATA: Final = ("creationTimestamp", "resourceVersion", "selfLink", "uid")
_DELETION_METADATA: Final = ("deletionGracePeriodSeconds", "deletionTimestamp")
"""Removed from the body of a create; an update or apply that creates stores them, as upstream."""
_NAMES: Final = ("metadata.generateName", "metadata.name")


def create(backend: Backend, call: Call) -> HttpReply:
    """Create an object from the body of a request."""
    check_encoding(call.request)
    options = write_options(call.request, "CreateOptions")
    document = in_namespace(call, body_of(backend, call, options.field_validation))
    made, write = create_document(backend, call, document, options)
    assert write.attributes is not None, "the object was admitted"

    def attempt(body: bytes, now_ns: int) -> Trial | None:
        return _tried(backend, call, options, body, now_ns)

    backend.forms.learn(call.request, call.info, write.attributes, attempt)
    return object_reply(call, made, 201)


def _tried(
    backend: Backend, call: Call, options: WriteOptions, body: bytes, now_ns: int
) -> Trial | None:
    """Return what the creation of another object would lead to; None if it would be rejected."""
    replace = msgspec.structs.replace
    request = replace(call.request, body=body)
    tried = replace(call, request=request, now_ns=now_ns, warnings=list(call.resource.warnings))
    options = replace(options, is_dry_run=True)
    try:
        document = in_namespace(tried, body_of(backend, tried, options.field_validation))
        write = create_document(backend, tried, document, options)[1]
    except Rejection:
        return None
    assert write.stored is not None, "the last stage writes"
    stored = write.stored
    served = call.resource.served(stored.object.raw)
    return Trial(stored.object, served, object_reply(tried, served, 201))


def create_document(
    backend: Backend,
    call: Call,
    document: Document,
    options: WriteOptions,
    *,
    tracks_fields: bool = True,
) -> tuple[Document, ObjectWrite]:
    """Create an object; return it in the version of the request, and its write.

    Parameters
    ----------
    tracks_fields : bool
        Whether the write owns its fields; an apply request has set their owners itself.

    Raises
    ------
    Rejection
        The object is not valid, exists, or admission rejects it.
    """
    resource = call.resource
    write = ObjectWrite(
        now_ns=call.now_ns,
        body=None,
        is_restored=call.request.is_restored,
        is_dry_run=options.is_dry_run,
        call=call,
        options=options,
        new=document,
        tracks_fields=tracks_fields,
    )
    try:
        stored = backend.executed("create", write)
    except AlreadyExists as error:
        has_prefix = bool((write.new.get("metadata") or {}).get("generateName"))
        raise already_exists(
            resource.group,
            resource.plural,
            name_of(write.new),
            is_terminating=error.is_terminating,
            has_prefix=has_prefix,
        ) from None
    made = resource.served(stored.object.raw)
    return (_with_sent_version(call, made) if options.is_dry_run else made), write


def _set_metadata(backend: Backend, write: ObjectWrite) -> None:
    """Set the metadata that the server sets."""
    call, resource = write.call, write.call.resource
    write.new = with_distinct_owners(call, _with_new_metadata(backend, call, write.new))
    if resource.is_terminating:
        text = "create not allowed while custom resource definition is terminating"
        raise forbidden(resource.group, resource.plural, name_of(write.new), text)


def _prepare(backend: Backend, write: ObjectWrite) -> None:
    """Name the object, and prepare it as its kind does."""
    call, resource, attributes = write.call, write.call.resource, write.attributes
    assert attributes is not None, "the object was admitted"
    named = _named(backend, resource, write.new)
    attributes.name = attributes.name or name_of(named)
    document = strategies.prepared_for_create(resource, named, call.now_ns)
    if disabled := backend.disabled_fields.get(resource.storage):
        document = without_disabled(disabled, document, None)
    if write.is_restored and named.get("status"):
        document = strategies.with_part(document, "status", named["status"])
    if resource.storage == POD:
        document, warnings = with_apparmor_profiles(document)
        call.warnings += warnings
    document = with_requestor(resource, document, call.user)
    write.is_in_form = write.is_in_form and document["metadata"] is named["metadata"]
    if strategies.key_of(resource) == ("", "Service") and not write.is_dry_run:
        check_address_owner(document)
    write.new = document


def _check_sent_version(backend: Backend, write: ObjectWrite) -> None:
    """Reject a version in the body, which upstream's storage does not expect."""
    del backend
    call = write.call
    version = str((call.sent.get("metadata") or {}).get("resourceVersion") or "")
    has_version = version.isdecimal() and int(version) > 0
    if has_version and not write.is_dry_run and call.info.verb == "create":
        raise unclassified_error("resourceVersion should not be set on objects to be created")


def _with_new_metadata(backend: Backend, call: Call, document: Document) -> Document:
    metadata = dict(document.get("metadata") or {})
    is_create = call.info.verb == "create"
    for name in (*_SYSTEM_METADATA, *_DELETION_METADATA) if is_create else _SYSTEM_METADATA:
        metadata.pop(name, None)
    if not metadata.get("generation"):
        metadata.pop("generation", None)
    store = backend.store
    version = store.resource_version + 1
    metadata["uid"] = uid_at(store.seed, version)
    created = timestamp_text(call.now_ns)
    generation = 1
    if call.request.is_restored:
        sent: Document = document.get("metadata") or {}
        created = sent.get("creationTimestamp") or created
        generation = max(sent.get("generation") or 0, 1)
    metadata["creationTimestamp"] = created
    if call.resource.kind.row.has_generation or call.resource.is_custom:
        metadata["generation"] = generation
    return document | {"metadata": metadata}


def _named(backend: Backend, resource: Resource, document: Document) -> Document:
    """Return a new object with a name; one from `generateName` is drawn after admission."""
    metadata: Document = document.get("metadata") or {}
    has_no_name = not metadata.get("name") and not metadata.get("generateName")
    if has_no_name and strategies.key_of(resource) == ("", "LimitRange"):
        # Upstream: pkg/registry/core/limitrange/strategy.go, PrepareForCreate
        name = metadata.get("uid", "")
        return document | {"metadata": {"name": name} | metadata | {"name": name}}
    store = backend.store
    return with_generated_name(
        document,
        taken=store.keys(resource.storage),
        seed=store.seed,
        version=store.resource_version + 1,
    )


def _check(backend: Backend, write: ObjectWrite) -> None:
    """Validate the prepared object, which is in Go's form then.

    Raises
    ------
    Rejection
        The object is not valid.
    """
    call, resource, document = write.call, write.call.resource, write.new
    row = resource.kind.row
    check_kind_of_object(resource, document)
    is_checked = any(step.endswith("metadata") for step in row.validation_of_update)
    with interlude():
        if call.has_new_spec:
            document = resource.kind.go_form(document)
            found = resource.kind.validation_problems(document)
        else:
            document, found = backend.specs.stored(
                resource, document, has_metadata_in_form=write.is_in_form
            )
        qualifies = (
            is_checked
            and not resource.is_custom
            and resource.storage != DEFINITION
            and qualifies_finalizers(resource.group)
        )
        problems = validate_object_meta(
            document.get("metadata") or {},
            name_rule=row.name_rule if is_checked else "path",
            is_namespaced=row.namespaced,
            qualifies_finalizers=qualifies,
        )
        if row.namespaced and not call.namespace:  # The one in the path is empty.
            of_names = sum(path in _NAMES for path, _, _ in problems)
            problems.insert(of_names, ("metadata.namespace", "Required value", ""))
        if not row.validation and resource.to_storage is not None and not resource.is_custom:
            found = resource.storage_kind.validation_problems(resource.stored(document))
        found = with_expression_problems(found, resource, document)
    if not backend.compares_taints:
        found = without_comparisons(resource.storage, document, None, found)
    problems = [*admin_access_problems(backend.store, resource, document, None), *problems]
    if found and not is_checked:
        problems = []  # The registry checks the metadata of a valid object only.
    if problems or found:
        found = _after_allocation(backend, resource, document, found, is_dry_run=write.is_dry_run)
        if resource.storage == DEFINITION:
            # Their rule of names is one of the whole definition.
            of_names = sum(path in _NAMES for path, _, _ in problems)
            problems[of_names:of_names] = [each for each in found if each[0] in _NAMES]
            found = [each for each in found if each[0] not in _NAMES]
        raise invalid_object(call, document, [*problems, *found])
    write.new = document


def _after_allocation(
    backend: Backend,
    resource: Resource,
    document: Document,
    found: list[Problem],
    *,
    is_dry_run: bool,
) -> list[Problem]:
    """Return what is wrong with an invalid object after upstream's allocation, or reject it there.

    Upstream: pkg/registry/core/service/storage/alloc.go, allocateCreate
    """
    if strategies.key_of(resource) not in backend.allocators:
        return found
    check_addresses(document, found)
    document = backend.allocated(resource, document, None, is_dry_run=is_dry_run)
    return resource.kind.validation_problems(document)


def _encode(backend: Backend, write: ObjectWrite) -> None:
    """Return the object as the store keeps it; its uid stays, though admission may have written."""
    write.new = write.call.resource.as_stored(write.new)
    if not write.is_dry_run:
        write.new = fitting(write.call, write.new)
    write.body = stored_object(backend, write.call.resource, write.new)
    write.uid = write.body.uid


CREATE: Final[tuple[Stage, ...]] = (
    _set_metadata,
    own,
    admit,
    _prepare,
    _check,
    allocate,
    warn,
    _check_sent_version,
    admit_valid,
    _encode,
    store_new,
)
"""The stages of a creation over HTTP."""


def _with_sent_version(call: Call, document: Document) -> Document:
    """Return an object of a dry run, which has no version but the one that was sent."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name != "resourceVersion"
    }
    sent = (call.sent.get("metadata") or {}).get("resourceVersion")
    if sent and isinstance(sent, str):
        metadata["resourceVersion"] = sent
    return document | {"metadata": metadata}
