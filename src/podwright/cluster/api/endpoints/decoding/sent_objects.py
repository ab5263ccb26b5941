"""Objects in the bodies of writes: in Go's form, with defaults, with the path's namespace and name.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,rest}.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, with_raw_text
from podwright.apimachinery.schema import Kind
from podwright.cluster.api.endpoints.calls import Call
from podwright.cluster.api.endpoints.custom_resources import (
    cannot_be_custom,
    check_custom_kind,
    check_custom_version,
)
from podwright.cluster.api.endpoints.decoding.bodies import read_object
from podwright.cluster.api.endpoints.decoding.body_fields import (
    FieldValidation,
    StrictDecodingError,
    TypeMismatchError,
    cannot_be_handled,
    check_fields,
)
from podwright.cluster.api.endpoints.decoding.body_kinds import check_kind
from podwright.cluster.api.endpoints.decoding.json_bodies import JsonError, with_go_numbers
from podwright.cluster.api.endpoints.replies.negotiation import JSON, body_media_type
from podwright.cluster.api.rejections import Rejection, bad_request
from podwright.cluster.api.stages.preparation import name_of
from podwright.cluster.api.versions.resources import with_reset_owners
from podwright.cluster.store import GroupKind

_OTHER_NAMESPACE: Final = (
    "the namespace of the provided object does not match the namespace sent on the request"
)


_PARAMETERS: Final = ("spec", "devices", "config", "*", "opaque", "parameters")
RAW_PARTS: Final[Mapping[GroupKind, tuple[str, ...]]] = {
    ("apps", "ControllerRevision"): ("data",),
    ("resource.k8s.io", "ResourceClaim"): _PARAMETERS,
    ("resource.k8s.io", "ResourceClaimTemplate"): ("spec", *_PARAMETERS),
}
"""By kind, the part that may not change, of which upstream keeps the text."""


def body_of(call: Call, validation: FieldValidation) -> Document:
    """Return the body of a write, in Go's form and with defaults.

    Raises
    ------
    Rejection
        The body is not an object of the kind.
    """
    with interlude():
        return _body_of(call, validation)


def _body_of(call: Call, validation: FieldValidation) -> Document:
    resource = call.resource
    api_version = resource.kind.api_version
    decoded = read_object(call.request, resource.name, api_version=api_version)
    if resource.is_custom:
        document = check_custom_kind(decoded.document, resource.kind, call.request.body)
        try:
            document = with_go_numbers(document, call.request.body)
        except JsonError as error:
            raise cannot_be_custom(resource.kind, document, error) from None
    else:
        document = check_kind(decoded.document, resource.kind, call.request.body)
        document = with_reset_owners(document)
        path = RAW_PARTS.get(resource.storage)
        is_json = body_media_type(call.request.header("content-type")) == JSON
        if path is not None and is_json:
            document = with_raw_text(document, call.request.body, path)
    call.sent = document
    try:
        warnings = check_fields(document, resource.kind, decoded, validation=validation)
    except (StrictDecodingError, TypeMismatchError) as error:
        if resource.is_custom:
            raise cannot_be_custom(resource.kind, document, error) from None
        raise cannot_be_handled(resource.kind, error) from None
    call.warnings += warnings
    if resource.is_custom:
        check_custom_version(document, resource.kind)
    if problem := resource.conversion_problem(document):
        raise cannot_be_handled(resource.kind, ValueError(problem))
    has_known_fields = not warnings and validation != "Ignore"
    if has_known_fields and isinstance(resource.kind, Kind):
        document = resource.kind.with_shared_spec(document, only_repeated=True)
    call.formed = made = resource.completed(document)
    return made


def in_namespace(call: Call, document: Document) -> Document:
    """Return a document with the namespace of the path.

    Raises
    ------
    Rejection
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


def check_name(call: Call, document: Document) -> None:
    """Reject a body whose name is not the one on the path.

    Raises
    ------
    Rejection
        The names differ.
    """
    name = name_of(document)
    if not name:
        raise no_name(call)
    if name != call.info.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.info.name})"
        )


def no_name(call: Call) -> Rejection:
    """Return the error of a body without a name."""
    return bad_request(
        f"the name of the object ({call.info.name} based on URL) was undeterminable: name must be"
        " provided"
    )
