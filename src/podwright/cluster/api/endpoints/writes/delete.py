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
from podwright.cluster.api.bootstrap_objects import SYSTEM_PRIORITY_CLASSES
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.decoding.bodies import read_object
from podwright.cluster.api.endpoints.decoding.body_kinds import type_meta
from podwright.cluster.api.endpoints.options import delete_options, list_options
from podwright.cluster.api.endpoints.read import is_whole_list, list_metadata, page_of, reader_of
from podwright.cluster.api.endpoints.replies.responses import (
    PART_OBJECTS,
    list_in_parts,
    list_reply,
    object_reply,
    parts_of,
)
from podwright.cluster.api.endpoints.request import HttpReply, Steps, is_true
from podwright.cluster.api.endpoints.writes.sent_writes import attributes_of
from podwright.cluster.api.pipeline import executed
from podwright.cluster.api.rejections import (
    bad_request,
    forbidden,
    success,
)
from podwright.cluster.api.stages.write import Write
from podwright.cluster.api.strategies import preparation as strategies
from podwright.cluster.store import Stored

_PRESERVED: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background"
    " to remove them or set propagationPolicy=Orphan to suppress this warning"
)


def delete(backend: Backend, call: Call) -> HttpReply:
    """Delete the named object, or mark it as terminating."""
    options = delete_options(_options_body(call), call.request)
    _warn_about_pods(call, options)
    _check_system_class(call)
    current = backend.store.get(call.resource.storage, call.key)
    if current is None:
        raise call.missing()
    stored = delete_object(backend, call, current, options)
    return _deleted(call, stored, options)


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
    Rejection
        A precondition does not hold, or admission rejects the deletion.
    """
    attributes = attributes_of(call, "DELETE", None, call.resource.served(current.raw), options)
    write = Write(
        kind=call.resource.storage,
        key=current.key,
        now_ns=call.now_ns,
        body=options,
        is_dry_run=options.is_dry_run,
        attributes=attributes,
    )
    return executed(backend, "delete", write)


def _deleted(call: Call, stored: Stored, options: DeleteOptions) -> HttpReply:
    resource, obj = call.resource, stored.object
    is_accepted = stored.outcome != "deleted" and options.orphans is False
    if stored.outcome == "deleted" and not resource.kind.row.returns_deleted:
        details = {
            "name": obj.name,
            "group": resource.group,
            "kind": resource.plural,
            "uid": obj.uid,
        }
        found = {name: value for name, value in details.items() if value}
        return object_reply(call, success(found))
    return object_reply(call, resource.served(obj.raw), 202 if is_accepted else 200)


def delete_collection(backend: Backend, call: Call) -> Steps:
    """Delete the selected objects of a collection one by one, and return them as they were."""
    is_watch = is_true(call.request.parameters.get("watch"))
    options = list_options(call.request, is_watch=is_watch)
    body = _options_body(call)
    deleting = delete_options(body, call.request)
    if body is None:
        # In the query, it is the version of the list.
        deleting = msgspec.structs.replace(deleting, resource_version=None)
    _warn_about_pods(call, deleting)
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
        if resource.namespaced and not call.info.namespace:
            # The path has an empty one. Upstream: registry/generic/registry/store.go,
            # `NamespaceKeyFunc`
            raise bad_request("Namespace parameter required.")
        delete_object(backend, call, current, deleting)
        items.append(obj)
        yield
    if backend.sends_lists_in_parts and len(items) > PART_OBJECTS:
        return list_in_parts(call, parts_of(items), metadata)
    return list_reply(call, [resource.served(obj.raw) for obj in items], metadata)
