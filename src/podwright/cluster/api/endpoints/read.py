"""Get and list, with field selectors in the version of the request.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/get.go;
staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, ListPredicate;
staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go; pkg/apis/*/v1/conversion.go (the
conversions of field labels)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, FieldSelector, KubernetesObject
from podwright.cluster.api.endpoints.calls import (
    Backend,
    Call,
    find,
    served,
)
from podwright.cluster.api.endpoints.options import ListOptions, list_options, parsed_version
from podwright.cluster.api.endpoints.replies.responses import (
    PART_OBJECTS,
    list_in_parts,
    list_reply,
    object_reply,
    parts_of,
)
from podwright.cluster.api.endpoints.request import HttpReply, is_true
from podwright.cluster.api.preconditions import check_path_segment
from podwright.cluster.api.rejections import (
    Rejection,
    bad_request,
    expired,
    version_too_large,
)
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import Expired, FutureVersion, InvalidContinue, ObjectReader, Page

_CONTINUE_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)
_EXACT_EXPIRED: Final = "The resourceVersion for the provided list is too old."


def get(backend: Backend, call: Call) -> HttpReply:
    """Return the named object."""
    if is_true(call.request.parameters.get("export")):
        raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    check_path_segment(call.info.name)
    version = parsed_version(call.request.parameter("resourceVersion"))
    current = backend.store.resource_version
    if version > current:
        raise version_too_large(version, current, call.resource.name)
    return object_reply(call, served(call, find(backend, call)))


def list_objects(backend: Backend, call: Call) -> HttpReply:
    """Return the objects of a collection, or one page of them."""
    options = list_options(call.request, is_watch=False)
    resource = call.resource
    # A conversion by a webhook can fail, which a reply that has started cannot say.
    can_fail = resource.is_custom and resource.from_storage is not None
    has_parts = backend.sends_lists_in_parts and not can_fail
    objects: Sequence[KubernetesObject]
    if has_parts and _is_long(backend, call) and is_whole_list(options):
        reader = reader_of(backend, call, options)
        objects = reader.read(PART_OBJECTS)
        metadata: Document = {"resourceVersion": str(reader.version)}
        if not reader.is_done:
            return list_in_parts(call, chain([objects], reader.parts(PART_OBJECTS)), metadata)
    else:
        page = page_of(backend, call, options)
        objects, metadata = page.objects, list_metadata(page)
        if has_parts and len(objects) > PART_OBJECTS:
            return list_in_parts(call, parts_of(objects), metadata)
    return list_reply(call, [resource.served(each.raw) for each in objects], metadata)


def _is_long(backend: Backend, call: Call) -> bool:
    """Whether a list of the collection can have more than one part."""
    count = backend.store.count(call.resource.storage, call.info.namespace or None)
    return count > PART_OBJECTS


def is_whole_list(options: ListOptions) -> bool:
    """Whether a list shows the current state, without pages."""
    if options.continue_token or options.version_match == "Exact":
        return False
    return options.resource_version == "0" or not options.limit


def reader_of(backend: Backend, call: Call, options: ListOptions) -> ObjectReader:
    """Return a reader of the selected objects of a collection, as they are now.

    Raises
    ------
    Rejection
        A version is too large or not valid, or a selector has an unknown field.
    """
    store, resource = backend.store, call.resource
    version = _list_version(options.resource_version)
    if version > store.resource_version:
        raise version_too_large(version, store.resource_version, resource.name)
    return store.reader(
        resource.storage,
        namespace=call.info.namespace or None,
        labels=options.labels,
        fields=stored_fields(resource, options.fields),
    )


def list_metadata(page: Page) -> Document:
    """Return the metadata of a list."""
    metadata: Document = {"resourceVersion": str(page.resource_version)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    if page.remaining_count is not None:
        metadata["remainingItemCount"] = page.remaining_count
    return metadata


def page_of(backend: Backend, call: Call, options: ListOptions) -> Page:
    """Return the selected objects of a collection, or one page of them.

    Raises
    ------
    Rejection
        A version is too old, too large or not valid, or a selector has an unknown field.
    """
    store, resource = backend.store, call.resource
    fields = stored_fields(resource, options.fields)
    limit = options.limit
    at: int | None = None
    if options.continue_token:
        check_token(options.continue_token)
        if options.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
    else:
        version = _list_version(options.resource_version)
        if version > store.resource_version:
            raise version_too_large(version, store.resource_version, resource.name)
        if options.resource_version == "0" and options.version_match != "Exact":
            limit = 0
        if _is_of_one_object(call, fields):
            limit = 0
        is_exact = options.version_match == "Exact" or (not options.version_match and bool(limit))
        at = version if is_exact and version else None
    try:
        return store.list(
            resource.storage,
            namespace=call.info.namespace or None,
            labels=options.labels,
            fields=fields,
            limit=limit or None,
            continue_token=options.continue_token,
            at=at,
        )
    except FutureVersion as error:
        raise version_too_large(error.requested, error.current) from None
    except InvalidContinue as error:
        raise bad_request(f"invalid continue token: {error}") from None
    except Expired as error:
        raise _expired(error) from None


def _is_of_one_object(call: Call, fields: FieldSelector) -> bool:
    """Whether a list is that of one key, which upstream reads without pages.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, ListPredicate
    """
    if call.resource.namespaced and not call.info.namespace:
        return False
    return any(
        each.field == "metadata.name" and each.value and not each.is_negated
        for each in fields.requirements
    )


def _list_version(text: str) -> int:
    try:
        return parsed_version(text)
    except Rejection as error:
        raise bad_request(f"invalid resource version: {error.status['message']}") from None


def _expired(error: Expired) -> Rejection:
    if error.continue_token:
        return expired(_CONTINUE_EXPIRED, error.continue_token)
    return expired(_EXACT_EXPIRED)


def check_token(token: str) -> None:
    """Reject a continue token that is not base64, with Go's message.

    Raises
    ------
    Rejection
        The token is not base64.
    """
    position = _first_invalid(token)
    if position == len(token):
        if position % 4 != 1:
            return
        position -= 1  # one letter alone does not make a byte
    raise bad_request(
        "invalid continue token: continue key is not valid: illegal base64 data at input byte"
        f" {position}"
    )


def _first_invalid(token: str) -> int:
    for index, letter in enumerate(token):
        if not (letter.isascii() and (letter.isalnum() or letter in "-_")):
            return index
    return len(token)


# ---------------------------------------------------------------------------------- field selectors

_EVENT_FIELDS: Final = {
    "reportingController": "reportingComponent",
}


def stored_fields(resource: Resource, selector: FieldSelector) -> FieldSelector:
    """Return a field selector with the names of the stored version.

    Raises
    ------
    Rejection
        The version does not have a field.
    """
    if resource.is_custom:
        _check_custom(resource, selector)
        return selector
    own = resource.kind.row.selectable
    known = {"metadata.name", *own}
    if resource.namespaced or not own:
        known.add("metadata.namespace")
    for each in selector.requirements:
        if each.field not in known:
            raise bad_request(_not_supported(resource, each.field))
    if selector.is_empty or resource.from_storage is None:
        return selector
    return FieldSelector(
        tuple(
            msgspec.structs.replace(each, field=_stored_name(resource, each.field))
            for each in selector.requirements
        )
    )


def _not_supported(resource: Resource, name: str) -> str:
    if not resource.kind.row.selectable:
        # Upstream: apimachinery/pkg/runtime/conversion.go, DefaultMetaV1FieldSelectorConversion
        return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    if (resource.group, resource.name) == ("batch", "Job"):
        return f'field label "{name}" not supported for Job'
    if (resource.group, resource.name) == ("resource.k8s.io", "ResourceSlice"):
        kind = f"{resource.kind.api_version}, Kind={resource.name}"
        return f"field label not supported for {kind}: {name}"
    return f"field label not supported: {name}"


def _check_custom(resource: Resource, selector: FieldSelector) -> None:
    """Reject a field that the definition of a custom resource does not select by.

    Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/converter.go
    """
    known = {"metadata.name", *resource.kind.row.selectable}
    if resource.namespaced:
        known.add("metadata.namespace")
    for each in selector.requirements:
        if each.field not in known:
            raise bad_request(f"field label not supported: {each.field}")


def _stored_name(resource: Resource, name: str) -> str:
    if resource.group != "events.k8s.io":
        return name
    if name.startswith("regarding."):
        return f"involvedObject.{name.removeprefix('regarding.')}"
    return _EVENT_FIELDS.get(name, name)
