"""Create objects.

A creation runs through these steps: decode, complete (metadata, `managedFields`, admission),
prepare by the strategy of the kind, validate, admission again, store. A dry run omits the last one.

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
from podwright.cluster.api.admission import Attributes
from podwright.cluster.api.endpoints.access.authorization import refuse_escalation
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
from podwright.cluster.api.endpoints.kinds.admin_access import admin_access_problems
from podwright.cluster.api.endpoints.kinds.policy_expressions import with_expression_problems
from podwright.cluster.api.endpoints.kinds.service_allocation import check_address_owner
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.replies.stored_sizes import fitting
from podwright.cluster.api.endpoints.request import HttpReply, manager_of
from podwright.cluster.api.endpoints.writes import strategies
from podwright.cluster.api.endpoints.writes.admission_attributes import attributes_of
from podwright.cluster.api.endpoints.writes.creation_trials import Trial
from podwright.cluster.api.endpoints.writes.write_steps import (
    add_warnings,
    allocated,
    invalid_object,
    stored_object,
)
from podwright.cluster.api.gated_fields import without_comparisons, without_disabled
from podwright.cluster.api.identity import uid_at, with_generated_name
from podwright.cluster.api.rejections import (
    Rejection,
    already_exists,
    forbidden,
    invalid,
    no_unique_name,
    unclassified_error,
)
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import POD, AlreadyExists, Stored

_SYSTEM_METADATA: Final = (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "resourceVersion",
    "selfLink", "uid",
)  # fmt: skip
_NAMES: Final = ("metadata.generateName", "metadata.name")
_ADDRESS_FIELDS: Final = ("spec.clusterIP", "spec.ipFamil")
_NOT_HEADLESS: Final = "may not be set to 'None' for"
"""In the one error about addresses that upstream finds after the allocation."""


def create(backend: Backend, call: Call) -> HttpReply:
    """Create an object from the body of a request."""
    check_encoding(call.request)
    options = write_options(call.request, "CreateOptions")
    document = in_namespace(call, body_of(backend, call, options.field_validation))
    made, attributes, _ = _created(backend, call, document, options, tracks_fields=True)

    def attempt(body: bytes, now_ns: int) -> Trial | None:
        return _tried(backend, call, options, body, now_ns)

    backend.prepared.learn(
        call.request, call.info, attributes, attempt, has_new_spec=call.has_new_spec
    )
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
        _, _, stored = _created(backend, tried, document, options, tracks_fields=True)
    except Rejection:
        return None
    served = call.resource.served(stored.object.raw)
    return Trial(stored.object, served, object_reply(tried, served, 201))


def create_document(
    backend: Backend,
    call: Call,
    document: Document,
    options: WriteOptions,
    *,
    tracks_fields: bool = True,
) -> Document:
    """Create an object and return it in the version of the request.

    Parameters
    ----------
    tracks_fields : bool
        Whether the write owns its fields; an apply request has set their owners itself.

    Raises
    ------
    Rejection
        The object is not valid, exists, or admission rejects it.
    """
    made, _, _ = _created(backend, call, document, options, tracks_fields=tracks_fields)
    return made


def _created(
    backend: Backend,
    call: Call,
    document: Document,
    options: WriteOptions,
    *,
    tracks_fields: bool,
) -> tuple[Document, Attributes, Stored]:
    """Create an object, and return it, the write as admission left it, and the stored object."""
    resource = call.resource
    has_version = _is_version((document.get("metadata") or {}).get("resourceVersion"))
    document = with_distinct_owners(call, _with_new_metadata(backend, call, document))
    if resource.is_terminating:
        text = "create not allowed while custom resource definition is terminating"
        raise forbidden(resource.group, resource.plural, name_of(document), text)
    if tracks_fields:
        document = backend.field_management.updated(
            resource,
            None,
            document,
            manager=manager_of(call.request, options.field_manager),
            subresource="",
            now_ns=call.now_ns,
        )
    attributes = attributes_of(call, "CREATE", document, None, options)
    backend.admission.admit(attributes)
    assert attributes.object is not None, "admission keeps the object of a creation"
    refuse_escalation(backend.escalation, attributes, call.info.name)
    # What decoding and field management made is in Go's form; what others made may not be.
    is_made = attributes.object["metadata"] is document["metadata"]
    named = _named(backend, resource, attributes.object)
    attributes.name = attributes.name or name_of(named)
    document = strategies.prepared_for_create(resource, named, call.now_ns)
    if disabled := backend.disabled_fields.get(resource.storage):
        document = without_disabled(disabled, document, None)
    if call.request.is_restored and named.get("status"):
        document = strategies.with_part(document, "status", named["status"])
    if resource.storage == POD:
        document, warnings = with_apparmor_profiles(document)
        call.warnings += warnings
    document = with_requestor(resource, document, call.user)
    is_made = is_made and document["metadata"] is named["metadata"]
    if strategies.key_of(resource) == ("", "Service") and not options.is_dry_run:
        check_address_owner(document)
    document = _validated(
        backend, call, document, has_metadata_in_form=is_made, is_dry_run=options.is_dry_run
    )
    if not call.info.subresource:  # Upstream's storage of a status allocates nothing.
        document = allocated(backend, resource, document, None, is_dry_run=options.is_dry_run)
    add_warnings(call, document, None)
    if has_version and not options.is_dry_run and call.info.verb == "create":
        raise unclassified_error("resourceVersion should not be set on objects to be created")
    attributes.object = document
    backend.admission.validate(attributes)
    call.warnings += attributes.warnings
    stored = _store_new(backend, call, document, is_dry_run=options.is_dry_run)
    made = resource.served(stored.object.raw)
    return (_with_sent_version(call, made) if options.is_dry_run else made), attributes, stored


def _is_version(text: str | None) -> bool:
    return bool(text) and str(text).isdecimal() and int(str(text)) > 0


def _with_new_metadata(backend: Backend, call: Call, document: Document) -> Document:
    metadata = dict(document.get("metadata") or {})
    for name in _SYSTEM_METADATA:
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


def _validated(
    backend: Backend,
    call: Call,
    document: Document,
    *,
    has_metadata_in_form: bool,
    is_dry_run: bool,
) -> Document:
    """Return a prepared new object in Go's form.

    Raises
    ------
    Rejection
        The object is not valid.
    """
    resource = call.resource
    row = resource.kind.row
    check_kind_of_object(resource, document)
    is_checked = row.metadata_checks != (0, 0)
    with interlude():
        if call.has_new_spec:
            document = resource.kind.go_form(document)
            found = resource.kind.validation_problems(document)
        else:
            document, found = backend.specs.stored(
                resource, document, has_metadata_in_form=has_metadata_in_form
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
        found = _after_allocation(backend, resource, document, found, is_dry_run=is_dry_run)
        if resource.storage == DEFINITION:
            # Their rule of names is one of the whole definition.
            of_names = sum(path in _NAMES for path, _, _ in problems)
            problems[of_names:of_names] = [each for each in found if each[0] in _NAMES]
            found = [each for each in found if each[0] not in _NAMES]
        raise invalid_object(call, document, [*problems, *found])
    return document


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
    is_external = (document.get("spec") or {}).get("type") == "ExternalName"
    addresses = [
        each
        for each in found
        if not is_external and each[0].startswith(_ADDRESS_FIELDS) and _NOT_HEADLESS not in each[1]
    ]
    if addresses:
        raise invalid(resource.error_group, resource.name, name_of(document), addresses)
    document = allocated(backend, resource, document, None, is_dry_run=is_dry_run)
    return resource.kind.validation_problems(document)


def _store_new(backend: Backend, call: Call, document: Document, *, is_dry_run: bool) -> Stored:
    resource = call.resource
    if not is_dry_run:
        document = fitting(call, document)
    obj = stored_object(backend, resource, document)
    try:
        # Admission may have written meanwhile, so that the uid of the next version is another.
        return backend.storage.create(
            obj,
            call.now_ns,
            uid=obj.uid,
            is_restored=call.request.is_restored,
            is_dry_run=is_dry_run,
        )
    except AlreadyExists as error:
        has_prefix = bool((document.get("metadata") or {}).get("generateName"))
        taken = no_unique_name if has_prefix else already_exists
        raise taken(
            resource.group, resource.plural, obj.name, is_terminating=error.is_terminating
        ) from None


def _with_sent_version(call: Call, document: Document) -> Document:
    """Return an object of a dry run, which has no version but the one that was sent."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name != "resourceVersion"
    }
    sent = (call.sent.get("metadata") or {}).get("resourceVersion")
    if sent and isinstance(sent, str):
        metadata["resourceVersion"] = sent
    return document | {"metadata": metadata}
