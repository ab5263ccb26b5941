"""Deletion of objects and of collections, with preconditions.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go;
staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go;
staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, Delete
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, Final, cast

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.api.bootstrap_objects import SYSTEM_PRIORITY_CLASSES
from podwright.cluster.api.deletion import FOREGROUND, ORPHAN, Propagation
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.custom_resources import (
    DEFINITION,
    check_definition_preconditions,
    marked_for_deletion,
)
from podwright.cluster.api.endpoints.decoding.bodies import read_object
from podwright.cluster.api.endpoints.decoding.body_kinds import type_meta
from podwright.cluster.api.endpoints.long_requests import Steps
from podwright.cluster.api.endpoints.options import DeleteOptions, delete_options, list_options
from podwright.cluster.api.endpoints.query import is_true
from podwright.cluster.api.endpoints.read import is_whole_list, list_metadata, page_of, reader_of
from podwright.cluster.api.endpoints.replies.responses import (
    PART_OBJECTS,
    list_in_parts,
    list_reply,
    object_reply,
    parts_of,
)
from podwright.cluster.api.endpoints.replies.status_errors import (
    bad_request,
    conflict,
    forbidden,
    success,
)
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes import strategies
from podwright.cluster.api.endpoints.writes.admission_attributes import attributes_of
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import Stored

_PRESERVED: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background"
    " to remove them or set propagationPolicy=Orphan to suppress this warning"
)

_WITHOUT_DEPENDENTS: Final = frozenset({("", "Event"), ("events.k8s.io", "Event")})
"""Kinds whose deletion ignores the propagation policy; upstream: `rest.Unsupported`."""


def delete(backend: Backend, call: Call) -> HttpReply:
    """Delete the named object, or mark it as terminating."""
    options = delete_options(_options_body(call), call.request)
    _warn_about_pods(call, options)
    _check_system_class(call)
    current = backend.store.get(call.resource.storage, call.key)
    if current is None:
        raise call.missing()
    stored = delete_object(backend, call, current, options)
    return _deleted(call, stored)


def _warn_about_pods(call: Call, options: DeleteOptions) -> None:
    """Warn that pods of jobs stay, whether or not the jobs exist.

    Upstream: pkg/registry/batch/job/storage/storage.go
    """
    is_job = strategies.key_of(call.resource) == ("batch", "Job")
    if is_job and options.propagation is None and options.orphans is None:
        call.warnings.append(_PRESERVED)


def _check_system_class(call: Call) -> None:
    """Check that the name is not that of a system priority class.

    Deletions of collections do not check it.

    Upstream: pkg/registry/scheduling/priorityclass/storage/storage.go
    """
    resource = call.resource
    is_class = strategies.key_of(resource) == ("scheduling.k8s.io", "PriorityClass")
    if is_class and call.info.name in SYSTEM_PRIORITY_CLASSES:
        message = "this is a system priority class and cannot be deleted"
        raise forbidden(resource.group, resource.plural, call.info.name, message)


def _options_body(call: Call) -> dict[str, Any] | None:
    """Return the DeleteOptions in the body; None if it has none."""
    request = call.request
    if not request.body:
        return None
    decoded = read_object(request, "DeleteOptions")
    document = decoded.document
    sent = type_meta(document, "DeleteOptions", request.body)
    name = sent["kind"] or "DeleteOptions"
    if name != "DeleteOptions":
        version = sent["apiVersion"] or "meta.k8s.io/v1"
        raise bad_request(
            f'no kind "{name}" is registered for version "{version}" in scheme'
            ' "pkg/apis/meta/internalversion/scheme/register.go:27"'
        )
    return cast(dict[str, Any], document)


def delete_object(
    backend: Backend, call: Call, current: KubernetesObject, options: DeleteOptions
) -> Stored:
    """Delete an object, or mark it as terminating.

    Raises
    ------
    ApiError
        A precondition does not hold, or admission rejects the deletion.
    """
    resource = call.resource
    if resource.storage == DEFINITION:
        check_definition_preconditions(current, options)
    old = resource.served(current.raw)
    attributes = attributes_of(call, "DELETE", None, old, options)
    attributes.name = current.name
    check_preconditions(resource, current, options)
    backend.admission.admit(attributes)
    backend.admission.validate(attributes)
    call.warnings += attributes.warnings
    if resource.storage == DEFINITION and (marked := marked_for_deletion(current.raw, call.now_ns)):
        return backend.storage.replace(current, decode(marked), is_dry_run=options.is_dry_run)
    return backend.storage.delete(
        resource.storage,
        current.key,
        call.now_ns,
        grace_seconds=options.grace_seconds,
        propagation=propagation_of(call, current, options),
        is_dry_run=options.is_dry_run,
    )


def propagation_of(
    call: Call, current: KubernetesObject, options: DeleteOptions
) -> Propagation | None:
    """Return what happens to the dependents of a deleted object; None for what its kind says.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go,
    shouldOrphanDependents
    """
    if strategies.key_of(call.resource) in _WITHOUT_DEPENDENTS:
        return None
    if options.propagation is not None:
        return cast(Propagation, options.propagation)
    if options.orphans is not None:
        return "Orphan" if options.orphans else "Background"
    if not call.resource.kind.row.orphans_dependents:
        return None
    has_own = any(each in (ORPHAN, FOREGROUND) for each in current.metadata.finalizers)
    return None if has_own else "Orphan"


def check_preconditions(
    resource: Resource, current: KubernetesObject, options: DeleteOptions
) -> None:
    """Check the uid and the version of an object to delete.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, BeforeDelete;
    pkg/registry/core/namespace/storage/storage.go, Delete
    """
    if resource.storage == ("", "Namespace"):
        _check_namespace(current, options)
    if options.uid is not None and options.uid != current.uid:
        raise conflict(
            resource.error_group,
            resource.name,
            current.name,
            f"the UID in the precondition ({options.uid}) does not match the UID in record"
            f" ({current.uid}). The object might have been deleted and then recreated",
        )
    version = current.metadata.resource_version
    if options.resource_version is not None and options.resource_version != version:
        raise conflict(
            resource.error_group,
            resource.name,
            current.name,
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match"
            f" the ResourceVersion in record ({version}). The object might have been modified",
        )


def _check_namespace(current: KubernetesObject, options: DeleteOptions) -> None:
    for field, sent, stored in (
        ("UID", options.uid, current.uid),
        ("ResourceVersion", options.resource_version, current.metadata.resource_version),
    ):
        if sent is not None and sent != stored:
            text = (
                f"Precondition failed: {field} in precondition: {sent}, {field} in object meta:"
                f" {stored}"
            )
            raise conflict("", "namespaces", current.name, text)


def _deleted(call: Call, stored: Stored) -> HttpReply:
    resource, obj = call.resource, stored.object
    if stored.outcome == "deleted" and not strategies.returns_deleted_object(resource):
        details = {
            "name": obj.name,
            "group": resource.group,
            "kind": resource.plural,
            "uid": obj.uid,
        }
        found = {name: value for name, value in details.items() if value}
        return object_reply(call, success(found))
    return object_reply(call, resource.served(obj.raw))


def delete_collection(backend: Backend, call: Call) -> Steps:
    """Delete the selected objects of a collection one by one, and return them as they were."""
    body = _options_body(call)
    deleting = delete_options(body, call.request)
    if body is None:
        # In the query, it is the version of the list.
        deleting = msgspec.structs.replace(deleting, resource_version=None)
    _warn_about_pods(call, deleting)
    is_watch = is_true(call.request.parameters.get("watch"))
    options = list_options(call.request, is_watch=is_watch)
    resource = call.resource
    found: Iterable[KubernetesObject]
    if is_whole_list(options):
        reader = reader_of(backend, call, options)
        found = chain.from_iterable(reader.parts(PART_OBJECTS))
        metadata: Document = {"resourceVersion": str(reader.version)}
    else:
        page = page_of(backend, call, options)
        found, metadata = page.objects, list_metadata(page)
    items: list[KubernetesObject] = []
    for obj in found:
        current = backend.store.get(resource.storage, obj.key)
        if current is None:
            continue
        delete_object(backend, call, current, deleting)
        items.append(obj)
        yield
    if backend.sends_lists_in_parts and len(items) > PART_OBJECTS:
        return list_in_parts(call, parts_of(items), metadata)
    return list_reply(call, [resource.served(obj.raw) for obj in items], metadata)
