"""Patch: JSON patch, merge patch, strategic merge patch and server-side apply.

The room `patching` computes the patched document; here it is decoded as if it had been sent.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, patched_raw
from podwright.apimachinery.patching import (
    ApplyConflictError,
    PatchError,
    applied_rest,
    gvk_text,
    json_patch_warnings,
    json_patched,
    merge_patched,
    printed,
    strategic_merged,
    unclassified,
)
from podwright.apimachinery.schema import Kind, Problem
from podwright.apimachinery.schema.structural import CustomKind
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.decoding.bodies import check_size
from podwright.cluster.api.endpoints.decoding.body_fields import (
    StrictDecodingError,
    TypeMismatchError,
    check_fields,
)
from podwright.cluster.api.endpoints.decoding.go_type_errors import (
    conversion_error,
    go_kind,
    with_wrapped_number,
)
from podwright.cluster.api.endpoints.decoding.json_bodies import (
    Decoded,
    JsonError,
    read_json,
    with_go_numbers,
)
from podwright.cluster.api.endpoints.decoding.sent_objects import (
    RAW_PARTS,
    check_name,
    in_namespace,
    no_name,
)
from podwright.cluster.api.endpoints.decoding.yaml_bodies import field_warnings, read_yaml_value
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.negotiation import body_media_type
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.replies.shown_patches import (
    of_other_kind,
    shown_applied,
    shown_json_patched,
    shown_merge_patched,
)
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.writes.update import MakeNew, update_document
from podwright.cluster.api.rejections import (
    Rejection,
    bad_request,
    conflict,
    invalid,
    unsupported_content_type,
    unsupported_media_type,
)
from podwright.cluster.api.versions.resources import Resource

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
_CUSTOM_TYPES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def check_patch_type(request: HttpRequest, resource: Resource) -> None:
    """Reject a patch of an unknown type.

    Raises
    ------
    Rejection
        The Content-Type is not that of a patch.
    """
    media_type = body_media_type(request.header("content-type") or "application/octet-stream")
    if resource.is_custom and media_type not in _CUSTOM_TYPES:
        raise unsupported_media_type(_CUSTOM_TYPES)
    if media_type not in _TYPES:
        raise unsupported_content_type()


def patch(backend: Backend, call: Call) -> HttpReply:
    """Patch the named object, or the part of it that a subresource is.

    Raises
    ------
    Rejection
        The patch cannot be applied, or the result is not valid.
    """
    media_type = body_media_type(call.request.header("content-type"))
    is_apply = media_type == APPLY_PATCH
    options = write_options(call.request, "PatchOptions", is_apply=is_apply)
    check_size(call.request)
    try:
        if is_apply:
            document, is_new = _apply(backend, call, options)
        else:
            document, is_new = _patch(backend, call, options, media_type)
    except PatchError as error:
        raise status_of(error) from None
    return object_reply(call, document, 201 if is_new else 200)


def status_of(error: PatchError) -> Rejection:
    """Return the error of a patch as a Status."""
    details: Document | None = {} if error.has_details else None
    if isinstance(error, ApplyConflictError):
        details = {"causes": error.causes}
    return Rejection(error.code, error.reason, error.message, details)


# ----------------------------------------------------------------------------- patches


def _patch(
    backend: Backend, call: Call, options: WriteOptions, media_type: str
) -> tuple[Document, bool]:
    make = patched_by(call, options, media_type)
    return update_document(backend, call, make, options, may_create=False)


def patched_by(call: Call, options: WriteOptions, media_type: str) -> MakeNew:
    """Return the function that applies the patch in a body to a document.

    It reads the body, and rejects one that is not JSON: an object that is missing comes first.
    """

    @cache
    def read() -> Decoded:
        decoded = _read(call.request, media_type)
        if media_type == JSON_PATCH and options.field_validation == "Ignore":
            _check_operations(decoded.document)
        return decoded

    def make(current: Document | None) -> Document:
        assert current is not None, "a patch creates nothing"
        with interlude():
            return patched_from(current, read())

    def patched_from(current: Document, decoded: Decoded) -> Document:
        patched = patched_document(call.resource, current, decoded.document, media_type)
        problems = list(decoded.duplicates)
        if media_type == JSON_PATCH:
            problems = [f"json patch {each}" for each in problems]
            problems += json_patch_warnings(decoded.document or [])

        def shown() -> str:
            return _shown(call.resource, current, decoded.document, media_type)

        is_converted = media_type == STRATEGIC_MERGE_PATCH
        return decoded_patch(call, patched, options, problems, shown, is_converted=is_converted)

    return make


def patched_document(
    resource: Resource, current: Document, patch_value: Any, media_type: str
) -> Document:
    """Return a document after a patch of a type.

    Raises
    ------
    PatchError
        The patch cannot be applied.
    """
    if media_type == JSON_PATCH:
        return json_patched(current, patch_value)
    if media_type == MERGE_PATCH:
        return merge_patched(current, patch_value)
    kind = resource.kind
    assert isinstance(kind, Kind), "custom resources have no strategic merge patches"
    return strategic_merged(kind, current, patch_value)


def _shown(resource: Resource, current: Document, patch_value: Any, media_type: str) -> str:
    if media_type == JSON_PATCH:
        return shown_json_patched(resource.kind, current, patch_value)
    if media_type == MERGE_PATCH:
        return shown_merge_patched(resource.kind, current, patch_value)
    assert isinstance(resource.kind, Kind), "custom resources have no such patches"
    return printed(applied_rest(resource.kind, current, patch_value))


_TIMES: Final = frozenset({"creationTimestamp", "deletionTimestamp"})


def decoded_patch(
    call: Call,
    patched: Document,
    options: WriteOptions,
    found: Sequence[str],
    shown: Callable[[], str],
    *,
    is_converted: bool = False,
    applied_to: str = "",
) -> Document:
    """Return a patched document in Go's form and with defaults.

    Parameters
    ----------
    found : sequence of str
        Unknown and duplicate fields of the patch itself.
    shown : callable
        Returns the invalid value of messages.
    is_converted : bool
        Whether upstream converts the patched document instead of decoding it.
    applied_to : str
        The object in messages about values that an applied configuration cannot have.

    Raises
    ------
    Rejection
        The document is not an object of the kind.
    """
    resource = call.resource
    if path := RAW_PARTS.get(resource.storage):
        keeps_order = not is_converted and not applied_to
        patched = patched_raw(patched, path, keeps_order=keeps_order)
    own = (resource.kind.api_version, resource.name)
    if not is_converted:
        patched = _as_sent(call, patched)
    if is_converted:
        # Upstream's converter knows the type, and does not look at the two fields.
        patched = patched | {"apiVersion": own[0], "kind": own[1]}
    elif not _is_decodable(resource, patched):
        raise _invalid_patch(shown, of_other_kind(resource, patched))
    validation = options.field_validation
    # Upstream does not decode an applied custom resource.
    checked = "Ignore" if applied_to and resource.is_custom else validation
    try:
        warnings = check_fields(
            patched, resource.kind, validation=checked, is_converted=is_converted
        )
    except StrictDecodingError as error:
        raise _invalid_patch(shown, StrictDecodingError([*found, *sorted(error.found)])) from None
    except TypeMismatchError as error:
        mismatch: ValueError = error
        is_decoded = not (is_converted or applied_to)
        accepted = None if is_decoded else _accepted(resource, error.problem, patched)
        if accepted is not None:
            return decoded_patch(
                call, accepted, options, found, shown, is_converted=is_converted,
                applied_to=applied_to,
            )  # fmt: skip
        if applied_to:
            raise unclassified(_not_converted(resource, applied_to, error)) from None
        if is_converted:
            mismatch = ConversionError(conversion_error(resource.kind, error.problem))
        raise _invalid_patch(shown, mismatch) from None
    if found and validation == "Strict":
        raise _invalid_patch(shown, StrictDecodingError(list(found)))
    if validation == "Warn":
        # The fields of a patched document have no order of their own.
        call.warnings += [*field_warnings(found), *sorted(warnings)]
    _check_conversion(resource, patched, shown, is_converted=is_converted, applied_to=applied_to)
    call.sent = patched
    call.formed = document = resource.completed(patched)
    in_namespace(call, document)
    check_name(call, document)
    return document


def _as_sent(call: Call, patched: Document) -> Document:
    """Return a patched document that Go decodes: numbers without a type, or the kind."""
    if call.resource.is_custom:
        try:
            return with_go_numbers(patched, call.request.body)
        except JsonError as error:
            raise bad_request(f"error decoding patch: {error}") from None
    return _with_kind(call, patched)


def _accepted(resource: Resource, problem: Problem, document: Document) -> Document | None:
    """Return a document that upstream accepts as if it were another, because it does not decode it.

    Upstream's accessors of metadata ignore what is not a time; the schema of a custom resource has
    no type for it.
    """
    if not resource.is_custom:
        return with_wrapped_number(resource.kind, problem, document)
    section, _, name = problem[0].partition(".")
    if section != "metadata" or name not in _TIMES:
        return None
    return document | {section: {key: one for key, one in document[section].items() if key != name}}


def _place(call: Call, configuration: Document) -> str:
    metadata: Document = configuration.get("metadata") or {}
    gvk = gvk_text(call.resource.kind.api_version, call.resource.name)
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {gvk}"


def _not_converted(resource: Resource, place: str, error: TypeMismatchError) -> str:
    """Return the message of a configuration with a value that Go's struct cannot have.

    Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go,
    Apply
    """
    kind = gvk_text(resource.kind.api_version, resource.name)
    return (
        f"failed to convert new object ({place}) to proper version: unable to convert unstructured"
        f" object to {kind}: {conversion_error(resource.kind, error.problem)}"
    )


def _check_conversion(
    resource: Resource,
    patched: Document,
    shown: Callable[[], str],
    *,
    is_converted: bool,
    applied_to: str,
) -> None:
    """Reject a document that cannot be converted to the internal version.

    Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go,
    Apply
    """
    if not (problem := resource.conversion_problem(patched)):
        return
    if applied_to:
        raise unclassified(f"failed to convert to unversioned ({applied_to}): {problem}")
    if is_converted:
        raise unclassified(problem)
    raise _invalid_patch(shown, ValueError(problem))


def _is_decodable(resource: Resource, patched: Document) -> bool:
    """Whether upstream decodes a document of an apiVersion and a kind for a resource."""
    sent = (patched.get("apiVersion"), patched.get("kind"))
    if sent == (resource.kind.api_version, resource.name):
        return True
    # A custom resource of another kind is decoded, and found to be invalid later.
    return resource.is_custom and all(isinstance(each, str) and bool(each) for each in sent)


def _with_kind(call: Call, patched: Document) -> Document:
    """Return a patched document with a kind: upstream's decoder knows which it expects.

    Without `apiVersion` the decoder reads the document as one of the internal version, which
    has its metadata elsewhere.
    """
    if patched.get("apiVersion") in (None, ""):
        raise no_name(call)
    if patched.get("kind") in (None, ""):
        return patched | {"kind": call.resource.name}
    return patched


class ConversionError(ValueError):
    """A value that upstream's converter cannot convert."""


def _invalid_patch(shown: Callable[[], str], error: ValueError) -> Rejection:
    value = shown()
    message = f"Invalid value: {msgspec.json.encode(value).decode()}: {error}"
    return invalid("", "", "", [("patch", message, value)])


def _check_operations(patch: Any) -> None:
    """Reject a JSON patch that upstream's library cannot decode, whose operations nothing checked.

    Raises
    ------
    Rejection
        The patch is not a list of objects.
    """
    wrong, go_type = patch, "jsonpatch.Patch"
    if isinstance(patch, list):
        wrong, go_type = None, "jsonpatch.Operation"
        wrong = next((each for each in patch if not isinstance(each, dict | None)), None)
    if wrong is not None:
        raise bad_request(
            f"json: cannot unmarshal {go_kind(wrong)} into Go value of type {go_type}"
        )


def _read(request: HttpRequest, media_type: str) -> Decoded:
    try:
        return read_json(request.body)
    except JsonError as error:
        prefix = "" if media_type == STRATEGIC_MERGE_PATCH else "error decoding patch: "
        raise bad_request(f"{prefix}{error}") from None


# ------------------------------------------------------------------------------- apply

_UNREADABLE: Final = (
    "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {}"
    " into Go value of type map[string]interface {{}}"
)


def _apply(backend: Backend, call: Call, options: WriteOptions) -> tuple[Document, bool]:
    subresource, row = call.info.subresource, call.resource.kind.row
    return update_document(
        backend,
        call,
        applied_by(backend, call, options),
        options,
        may_create=not subresource or (subresource == "status" and row.creates_on_update),
        tracks_fields=False,
    )


def applied_by(backend: Backend, call: Call, options: WriteOptions) -> MakeNew:
    """Return the function that applies the configuration in a body to a document.

    Raises
    ------
    Rejection
        The body is not a configuration.
    """
    resource = call.resource
    with interlude():
        decoded = read_yaml_value(call.request.body, resource.name, is_applied=True)
    configuration = decoded.document
    if configuration is None:
        raise bad_request("invalid object type: /, Kind=")
    if not isinstance(configuration, dict):
        raise bad_request(_UNREADABLE.format(go_kind(configuration)))
    _check_configuration(configuration)

    def make(current: Document | None) -> Document:
        with interlude():
            return apply_to(current)

    def apply_to(current: Document | None) -> Document:
        found = backend.field_management.applied(
            resource,
            current,
            configuration,
            manager=options.field_manager,
            force=bool(options.force),
            subresource=call.info.subresource,
            now_ns=call.now_ns,
        )
        if current is None:
            _check_no_uid(call, configuration)
        if decoded.duplicates and options.field_validation == "Strict":
            (error,) = decoded.duplicates
            raise bad_request(f"error strict decoding YAML: error converting YAML to JSON: {error}")
        shown = partial(shown_applied, resource.kind, found)
        place = _place(call, configuration)
        made = decoded_patch(call, found, options, decoded.duplicates, shown, applied_to=place)
        if isinstance(resource.kind, CustomKind):
            problems = resource.kind.null_problems(found, current)
            if problems:
                raise invalid(resource.error_group, resource.name, call.info.name, problems)
        return made

    return make


def _check_no_uid(call: Call, document: Document) -> None:
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


def _check_configuration(configuration: Document) -> None:
    """Reject a configuration without the form of an object.

    Raises
    ------
    Rejection
        `metadata` or a name in it has a wrong type.
    """
    metadata = configuration.get("metadata")
    if isinstance(metadata, dict):
        for name in ("uid", "resourceVersion"):
            if not isinstance(metadata.get(name) or "", str):
                raise bad_request(f"error decoding YAML: metadata.{name} must be a string")
