"""Create, update and patch of objects.

Each write runs through the same steps: decode, complete (`managedFields`, admission), prepare by
the strategy of the kind, validate, admission again, store. A dry run leaves out the last one.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go;
pkg/registry/rest/{create,update}.go; pkg/registry/generic/registry/store.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import msgspec

from podwright.api.admission import Attributes, Operation, Rejected
from podwright.api.endpoints import strategies
from podwright.api.endpoints.authorization import refuse_escalation
from podwright.api.endpoints.bodies import (
    FieldValidation,
    StrictDecodingError,
    TypeMismatchError,
    cannot_be_handled,
    check_fields,
    check_kind,
    read_object,
)
from podwright.api.endpoints.calls import Backend, Call
from podwright.api.endpoints.certificate_requests import with_requestor
from podwright.api.endpoints.conversions import ROUND_TRIPS
from podwright.api.endpoints.creation_trials import Trial
from podwright.api.endpoints.custom_resources import (
    DEFINITION,
    cannot_be_custom,
    check_custom_kind,
    check_custom_version,
    check_kind_of_object,
    write_warnings,
)
from podwright.api.endpoints.field_management import manager_of
from podwright.api.endpoints.options import (
    DeleteOptions,
    WriteOptions,
    write_options,
)
from podwright.api.endpoints.policy_expressions import expression_problems
from podwright.api.endpoints.registry_keys import precondition_failed
from podwright.api.endpoints.request import HttpReply
from podwright.api.endpoints.resources import Resource
from podwright.api.endpoints.responses import object_reply
from podwright.api.endpoints.status_errors import (
    ApiError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
)
from podwright.api.identity import generated_name, uid_at
from podwright.objects import Document, InvalidObject, KubernetesObject, timestamp_text
from podwright.schema import (
    Kind,
    Problem,
    decode,
    printed,
    validate_object_meta,
    with_apparmor_profiles,
)
from podwright.store import POD, AlreadyExists, Stored

MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
_OTHER_NAMESPACE: Final = (
    "the namespace of the provided object does not match the namespace sent on the request"
)
_SYSTEM_METADATA: Final = (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "resourceVersion",
    "selfLink", "uid",
)  # fmt: skip

MakeNew: TypeAlias = Callable[[Document | None], Document]
"""Returns the new object in the version of the request; the argument is the stored one, or None
if it does not exist."""


# ---------------------------------------------------------------------------- decoding


def body_of(backend: Backend, call: Call, validation: FieldValidation) -> Document:
    """Return the body of a write, in Go's form and with defaults.

    Raises
    ------
    ApiError
        The body is not an object of the kind.
    """
    resource = call.resource
    api_version = resource.kind.api_version
    texts = backend.specs.texts
    decoded = read_object(call.request, resource.name, api_version=api_version, texts=texts)
    if resource.is_custom:
        document = check_custom_kind(decoded.document, resource.kind, call.request.body)
    else:
        document = check_kind(decoded.document, resource.kind, call.request.body)
    call.sent = document
    call.has_new_spec = decoded.has_new_spec
    if decoded.shares_spec and (made := backend.specs.made_before(resource, document)):
        return made
    is_known = not decoded.has_new_spec and backend.specs.knows(resource, document)
    # The types and fields of a known spec are right.
    checked = document | {"spec": None} if is_known else document
    try:
        warnings = check_fields(
            checked, resource.kind, decoded.duplicates, order=decoded.order, validation=validation
        )
    except (StrictDecodingError, TypeMismatchError) as error:
        if resource.is_custom:
            raise cannot_be_custom(resource.kind, document, error) from None
        raise cannot_be_handled(resource.kind, error) from None
    call.warnings += warnings
    if resource.is_custom:
        check_custom_version(document, resource.kind)
    if validation == "Ignore" or warnings or decoded.has_new_spec:
        return completed(resource, document)
    return backend.specs.completed(
        resource,
        document,
        lambda each: completed(resource, each),
        is_known_text=decoded.shares_spec,
    )


def completed(resource: Resource, document: Document) -> Document:
    """Return a document whose types are right in Go's form and with defaults."""
    kind = resource.kind
    made = kind.go_form(kind.with_defaults(kind.go_form(document)))
    fix = ROUND_TRIPS.get((resource.group, resource.name))
    return made if fix is None else fix(made)


_EMPTY_IN_ERRORS: Final = frozenset(
    {"spec.capacity", "spec.template.metadata.labels", "spec.versions"}
)
"""Maps and lists that may not be empty: errors print whether an empty one was sent or none."""


def in_namespace(call: Call, document: Document) -> Document:
    """Return a document with the namespace of the path.

    Raises
    ------
    ApiError
        The document has another namespace.
    """
    metadata: Document = document.get("metadata") or {}
    requested, own = call.namespace, metadata.get("namespace") or ""
    if own == requested:
        return document
    if own and requested:
        raise bad_request(_OTHER_NAMESPACE)
    metadata = dict(metadata)
    if requested:
        metadata["namespace"] = requested
    else:
        metadata.pop("namespace", None)
    return document | {"metadata": metadata}


# ---------------------------------------------------------------------------- creation


def create(backend: Backend, call: Call) -> HttpReply:
    """Create an object from the body of a request."""
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
    except (ApiError, Rejected):
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
    ApiError
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
        raise forbidden(resource.group, resource.plural, _name_of(document), text)
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
    attributes.name = attributes.name or _name_of(named)
    document = strategies.prepared_for_create(resource, named, call.now_ns)
    if call.request.is_restored and named.get("status"):
        document = strategies.with_part(document, "status", named["status"])
    if resource.storage == POD:
        document, warnings = with_apparmor_profiles(document)
        call.warnings += warnings
    document = with_requestor(resource, document, call.user)
    is_made = is_made and document["metadata"] is named["metadata"]
    document = _validated(
        backend, call, document, has_metadata_in_form=is_made, is_dry_run=options.is_dry_run
    )
    document = _allocated(backend, resource, document, None, is_dry_run=options.is_dry_run)
    _warn(call, document, None)
    if has_version and not options.is_dry_run:
        # Upstream reports an internal error.
        raise bad_request("resourceVersion should not be set on objects to be created")
    attributes.object = document
    backend.admission.validate(attributes)
    call.warnings += attributes.warnings
    stored = _store_new(backend, call, document, is_dry_run=options.is_dry_run)
    made = resource.served(stored.object.raw)
    return (_with_sent_version(call, made) if options.is_dry_run else made), attributes, stored


def _warn(call: Call, new: Document, old: Document | None) -> None:
    """Add the warnings about a valid object, which a rejection by admission has too."""
    resource, subresource = call.resource, call.info.subresource
    if isinstance(resource.kind, Kind):
        call.warnings += resource.kind.write_warnings(new, old, subresource=subresource)
    if not subresource:
        call.warnings += write_warnings(resource, new, old)


def with_distinct_owners(call: Call, document: Document) -> Document:
    """Return an object whose owner references are distinct, with a warning if they were not.

    Upstream: endpoints/handlers/create.go, dedupOwnerReferencesAndAddWarning
    """
    owners = (document.get("metadata") or {}).get("ownerReferences") or ()
    if len(owners) < 2:
        return document
    kept: list[Document] = []
    repeated: dict[str, None] = {}
    for owner in owners:
        if owner in kept:
            repeated[str(owner.get("uid", ""))] = None
        else:
            kept.append(owner)
    if not repeated:
        return document
    call.warnings.append(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references"
        " in 1.20+, and may reject such requests as early as 1.24; please fix your requests;"
        f" duplicate UID(s) observed: {', '.join(repeated)}"
    )
    return document | {"metadata": document["metadata"] | {"ownerReferences": kept}}


def _is_version(text: str | None) -> bool:
    return bool(text) and str(text).isdecimal() and int(str(text)) > 0


def _allocated(
    backend: Backend,
    resource: Resource,
    document: Document,
    stored: Document | None,
    *,
    is_dry_run: bool,
) -> Document:
    allocate = backend.allocators.get(strategies.key_of(resource))
    if allocate is None:
        return document
    return resource.kind.go_form(allocate(document, stored, is_dry_run=is_dry_run))


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
    prefix = metadata.get("generateName")
    if metadata.get("name"):
        return document
    if not prefix:
        if strategies.key_of(resource) == ("", "LimitRange"):
            # Upstream: pkg/registry/core/limitrange/strategy.go, PrepareForCreate
            name = metadata.get("uid", "")
            return document | {"metadata": {"name": name} | metadata | {"name": name}}
        return document
    store = backend.store
    name = generated_name(
        prefix,
        namespace=metadata.get("namespace", ""),
        taken=store.keys(resource.storage),
        seed=store.seed,
        version=store.resource_version + 1,
    )
    # Go writes the name before the prefix.
    return document | {"metadata": {"name": name} | metadata | {"name": name}}


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
    ApiError
        The object is not valid.
    """
    resource = call.resource
    row = resource.kind.row
    check_kind_of_object(resource, document)
    if call.has_new_spec:
        document = resource.kind.go_form(document)
        found = resource.kind.validation_problems(document)
    else:
        document, found = backend.specs.stored(
            resource, document, has_metadata_in_form=has_metadata_in_form
        )
    is_checked = bool(row.metadata_checks)
    qualifies = is_checked and not resource.is_custom and resource.storage != DEFINITION
    problems = validate_object_meta(
        document.get("metadata") or {},
        name_rule=row.name_rule if is_checked else "path",
        is_namespaced=row.namespaced,
        qualifies_finalizers=qualifies,
    )
    if row.namespaced and not call.namespace:  # The one in the path is empty.
        problems = [("metadata.namespace", "Required value", ""), *problems]
    if not row.validation and resource.to_storage is not None and not resource.is_custom:
        found = resource.storage_kind.validation_problems(resource.stored(document))
    found = [*found, *expression_problems(resource, document)]
    if found and not is_checked:
        problems = []  # The registry checks the metadata of a valid object only.
    if problems or found:
        _check_allocation(backend, resource, document, found, is_dry_run=is_dry_run)
        shown = _with_empty_values([*problems, *found], call.sent)
        raise invalid(resource.error_group, resource.name, _name_of(document), shown)
    return document


def _check_allocation(
    backend: Backend,
    resource: Resource,
    document: Document,
    found: list[Problem],
    *,
    is_dry_run: bool,
) -> None:
    """Reject an invalid object for what upstream allocates before it validates the rest.

    Upstream: pkg/registry/core/service/storage/alloc.go, allocateCreate
    """
    if strategies.key_of(resource) not in backend.allocators:
        return
    addresses = [each for each in found if each[0].startswith(_ADDRESS_FIELDS)]
    if addresses:
        raise invalid(resource.error_group, resource.name, _name_of(document), addresses)
    _allocated(backend, resource, document, None, is_dry_run=is_dry_run)


_ADDRESS_FIELDS: Final = ("spec.clusterIP", "spec.ipFamil")


def _with_empty_values(problems: Iterable[Problem], sent: Document) -> list[Problem]:
    """Return errors that print a map or a list as it was sent: an empty one is not null.

    Go's form of an object, which is validated, does not have empty ones.
    """
    return [_with_empty_value(each, sent) for each in problems]


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


def _store_new(backend: Backend, call: Call, document: Document, *, is_dry_run: bool) -> Stored:
    resource = call.resource
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
        raise already_exists(
            resource.group, resource.plural, obj.name, is_terminating=error.is_terminating
        ) from None


def stored_object(backend: Backend, resource: Resource, document: Document) -> KubernetesObject:
    """Return a document of the request's version as the store keeps it.

    Raises
    ------
    ApiError
        The document violates a rule of the typed objects.
    """
    stored = resource.stored(document)
    try:
        return backend.specs.decoded(stored)
    except InvalidObject as error:
        if any(each.path.startswith("status") for each in error.errors):
            # The API does not check all values of a status; what the typed object cannot hold
            # stays in its document.
            bare = {name: part for name, part in stored.items() if name != "status"}
            return msgspec.structs.replace(decode(bare), raw=stored)
        problems = [(each.path, each.message, each.value) for each in error.errors]
        raise invalid(resource.error_group, resource.name, _name_of(document), problems) from None


def attributes_of(
    call: Call,
    operation: Operation,
    new: Document | None,
    old: Document | None,
    options: WriteOptions | DeleteOptions,
) -> Attributes:
    """Return a write as admission sees it."""
    name = call.info.name or _name_of(new or {})
    namespace = call.info.namespace
    if not namespace and call.resource.name == "Namespace" and not call.resource.group:
        namespace = name
    return Attributes(
        operation=operation,
        resource=call.resource,
        subresource=call.info.subresource,
        namespace=namespace,
        name=name,
        object=new,
        old=old,
        user=call.user,
        options=_options_document(operation, options),
        is_dry_run=options.is_dry_run,
        now_ns=call.now_ns,
        warnings=[],
    )


_OPTIONS_KINDS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}


def _options_document(operation: Operation, options: WriteOptions | DeleteOptions) -> Document:
    """Return the options of a request as admission sees them."""
    kind = _OPTIONS_KINDS.get(operation, "DeleteOptions")
    document: Document = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if isinstance(options, DeleteOptions):
        return options.document | document
    if options.is_dry_run:
        document["dryRun"] = ["All"]
    if options.field_manager:
        document["fieldManager"] = options.field_manager
    return document


def _name_of(document: Document) -> str:
    return str((document.get("metadata") or {}).get("name") or "")


def _with_sent_version(call: Call, document: Document) -> Document:
    """Return an object of a dry run, which has no version but the one that was sent."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name != "resourceVersion"
    }
    sent = (call.sent.get("metadata") or {}).get("resourceVersion")
    if sent and isinstance(sent, str):
        metadata["resourceVersion"] = sent
    return document | {"metadata": metadata}


# ------------------------------------------------------------------------------ update


def update(backend: Backend, call: Call) -> HttpReply:
    """Replace the named object, or the part of it that a subresource is."""
    options = write_options(call.request, "UpdateOptions")
    document = in_namespace(call, body_of(backend, call, options.field_validation))
    check_name(call, document)
    uid = (document.get("metadata") or {}).get("uid") or ""
    made, is_new = update_document(backend, call, lambda _current: document, options, uid=uid)
    return object_reply(call, made, 201 if is_new else 200)


def check_name(call: Call, document: Document) -> None:
    """Reject a body whose name is not the one on the path.

    Raises
    ------
    ApiError
        The names differ.
    """
    name = _name_of(document)
    if not name:
        raise no_name(call)
    if name != call.info.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.info.name})"
        )


def no_name(call: Call) -> ApiError:
    """Return the error of a body without a name."""
    return bad_request(
        f"the name of the object ({call.info.name} based on URL) was undeterminable: name must be"
        " provided"
    )


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
    ApiError
        The object does not exist, does not fit, or is not valid.
    """
    resource, info = call.resource, call.info
    current = backend.store.get(resource.storage, call.key)
    if current is None:
        if may_create is None:
            may_create = not info.subresource and strategies.creates_on_update(resource)
        if not may_create:
            raise call.missing()
        fresh = in_namespace(call, make(None))
        check_no_uid(call, fresh)
        made = create_document(backend, call, fresh, options, tracks_fields=tracks_fields)
        return made, True
    if uid and uid != current.uid:
        raise _other_uid(resource, call, uid, current.uid, is_dry_run=options.is_dry_run)
    old = resource.served(current.raw)
    new = with_distinct_owners(call, in_namespace(call, make(old)))
    if tracks_fields:
        new = backend.field_management.updated(
            resource,
            old,
            new,
            manager=manager_of(call.request, options.field_manager),
            subresource=info.subresource,
            now_ns=call.now_ns,
        )
    attributes = attributes_of(call, "UPDATE", new, old, options)
    backend.admission.admit(attributes)
    assert attributes.object is not None, "admission keeps the object of an update"
    refuse_escalation(backend.escalation, attributes, info.name)
    new = _checked_version(resource, attributes.object, current)
    new = with_stored_metadata(new, old)
    new = strategies.prepared_for_update(resource, new, old, call.now_ns, info.subresource)
    check_kind_of_object(resource, new, old)
    new = resource.kind.go_form(new)
    problems = strategies.update_problems(resource, new, old, info.subresource)
    if not info.subresource:
        problems += expression_problems(resource, new)
    if problems:
        shown = _with_empty_values(problems, call.sent)
        raise invalid(resource.error_group, resource.name, _name_of(new), shown)
    if not info.subresource:
        new = _allocated(backend, resource, new, old, is_dry_run=options.is_dry_run)
    _warn(call, new, old)
    attributes.object = new
    backend.admission.validate(attributes)
    call.warnings += attributes.warnings
    new = backend.field_management.settled(old, new)
    replaced = backend.storage.replace(
        current, stored_object(backend, resource, new), is_dry_run=options.is_dry_run
    )
    made = resource.served(replaced.object.raw)
    return made, False


def check_no_uid(call: Call, document: Document) -> None:
    """Reject an object with a uid where none is stored.

    Raises
    ------
    ApiError
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
    name = current.name
    if sent and sent != "0":
        raise conflict(resource.group, resource.plural, name, MODIFIED)
    if not strategies.allows_unconditional_update(resource):
        text = "Invalid value: 0: must be specified for an update"
        problem = ("metadata.resourceVersion", text, 0)
        # Upstream names the resource here instead of the kind.
        raise invalid(resource.group, resource.plural, name, [problem])
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


def _other_uid(
    resource: Resource, call: Call, sent: str, stored: str, *, is_dry_run: bool
) -> ApiError:
    return conflict(
        resource.group,
        resource.plural,
        call.info.name,
        precondition_failed(resource, call.key, "UID", sent, stored, is_dry_run=is_dry_run),
    )
