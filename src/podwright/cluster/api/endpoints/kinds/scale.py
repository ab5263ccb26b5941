"""The subresource `scale`: the number of replicas of a workload as a separate object.

Upstream: pkg/registry/apps/deployment/storage/storage.go, ScaleREST;
staging/src/k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    LabelSelector,
    LabelSelectorRequirement,
    Requirement,
    label_selector,
    labels_as_selector,
)
from podwright.apimachinery.patching import (
    PatchError,
    object_entries,
    scale_entries,
    unclassified,
)
from podwright.apimachinery.schema import built_in, validate_object_meta
from podwright.apimachinery.schema.structural import AccessError, ScalePaths, integer_at, text_at
from podwright.cluster.api.endpoints.calls import Backend, Call, find, served
from podwright.cluster.api.endpoints.decoding.sent_objects import body_of, check_name, in_namespace
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.negotiation import body_media_type
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply, manager_of
from podwright.cluster.api.endpoints.writes.patch import (
    APPLY_PATCH,
    applied_by,
    patched_by,
    status_of,
)
from podwright.cluster.api.endpoints.writes.sent_writes import attributes_of
from podwright.cluster.api.endpoints.writes.update import MakeNew, update_document
from podwright.cluster.api.rejections import (
    Rejection,
    bad_request,
    conflict,
    internal,
    invalid,
    unclassified_error,
)
from podwright.cluster.api.versions.resources import Resource

_PATH: Final = ("spec", "replicas")
_UNNAMED: Final = (
    'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
)
_BEFORE: Final = "failed to create manager for existing fields: failed to convert live object"
_AFTER: Final = "failed to convert new object"
_UNCONVERTED: Final = (
    "{step} (/{name}; autoscaling/v1, Kind=Scale) to proper version:"
    " request to convert CR to an invalid group/version: autoscaling/v1"
)
_UNSET: Final = -(2**31)
"""The replicas that stand for absent ones, which a request must set."""


@cache
def scale_resource() -> Resource:
    """Return the Scale as a resource, for decoding."""
    kind = built_in().find("autoscaling/v1", "Scale")
    assert kind is not None, "the table has no Scale"
    return Resource(kind=kind, storage=kind.group_kind, storage_kind=kind)


def scale_of(resource: Resource, document: Document) -> Document:
    """Return the Scale of a workload, without managed fields: replies do not have them."""
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    status: Document = document.get("status") or {}
    own = {
        name: metadata[name]
        for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if name in metadata
    }
    kind = scale_resource().kind
    if resource.scale_paths is not None:
        return kind.go_form(
            {"kind": "Scale", "apiVersion": kind.api_version, "metadata": own}
            | _custom_scale(document, resource.scale_paths)
        )
    scale: Document = {
        "kind": "Scale",
        "apiVersion": kind.api_version,
        "metadata": own,
        "spec": {"replicas": spec.get("replicas", 0)},
        "status": {
            "replicas": status.get("replicas", 0),
            "selector": _selector_text(spec.get("selector")),
        },
    }
    return kind.go_form(scale)


def _with_entries(resource: Resource, scale: Document, document: Document) -> Document:
    """Return a Scale with the managed fields of its workload."""
    entries = scale_entries(document["metadata"].get("managedFields"), _paths(resource))
    return scale | {"metadata": scale["metadata"] | ({"managedFields": entries} if entries else {})}


def _paths(resource: Resource) -> Mapping[str, tuple[str, ...]]:
    """Return the path of the replicas in each version of a workload."""
    return resource.scale_replicas or {resource.kind.api_version: _PATH}


def _custom_scale(document: Document, paths: ScalePaths) -> Document:
    """Return the spec and the status of the Scale of a custom resource.

    Raises
    ------
    Rejection
        A value on a path has a wrong type.
    """
    try:
        replicas = integer_at(document, paths.replicas)
        status: Document = {"replicas": integer_at(document, paths.status_replicas) or 0}
        if paths.selector and (selector := text_at(document, paths.selector)):
            status |= {"selector": selector}
    except AccessError as error:
        raise unclassified_error(str(error)) from None
    return {"spec": {"replicas": _UNSET if replicas is None else replicas}, "status": status}


def _selector_text(selector: Document | None) -> str:
    if selector is None:
        return ""
    if selector.keys() <= {"matchLabels", "matchExpressions"} and all(
        isinstance(value, dict | list) for value in selector.values()
    ):
        expressions = tuple(
            LabelSelectorRequirement(each["key"], each["operator"], tuple(each.get("values") or ()))
            for each in selector.get("matchExpressions") or ()
        )
        labels: dict[str, str] = selector.get("matchLabels") or {}
        compiled = label_selector(LabelSelector(labels, expressions))
        return ",".join(_requirement_text(each, labels) for each in compiled.requirements)
    return str(labels_as_selector(selector))


def _requirement_text(requirement: Requirement, labels: dict[str, str]) -> str:
    """Return a requirement as Go prints it, where `a in (b)` of an expression is not `a=b`."""
    operator, values = requirement.operator, requirement.values
    if operator not in ("In", "NotIn") or len(values) != 1:
        return str(requirement)
    if operator == "In" and labels.get(requirement.key) == values[0]:
        return str(requirement)
    return f"{requirement.key} {operator.lower()} ({values[0]})"


def get_scale(backend: Backend, call: Call) -> HttpReply:
    """Return the Scale of the named object."""
    scale = scale_of(call.resource, served(call, find(backend, call)))
    paths = call.resource.scale_paths
    if paths is not None and (scale.get("spec") or {}).get("replicas") == _UNSET:
        raise internal(f'the spec replicas field "{paths.replicas}" does not exist')
    return object_reply(_of_scale(call), scale)


def update_scale(backend: Backend, call: Call) -> HttpReply:
    """Replace the Scale of the named object."""
    options = write_options(call.request, "UpdateOptions")
    scale_call = _of_scale(call)
    try:
        sent = in_namespace(call, body_of(scale_call, options.field_validation))
    except Rejection as error:
        if call.resource.is_custom and "cannot be handled as a Scale" in str(error):
            # Upstream cannot name the kind in the scheme of custom resources.
            raise bad_request(_UNNAMED) from None
        raise
    check_name(call, sent)
    uid = (sent.get("metadata") or {}).get("uid") or ""
    return _write(backend, call, options, lambda _current: sent, uid=uid)


def patch_scale(backend: Backend, call: Call) -> HttpReply:
    """Patch the Scale of the named object."""
    media_type = body_media_type(call.request.header("content-type"))
    is_apply = media_type == APPLY_PATCH
    options = write_options(call.request, "PatchOptions", is_apply=is_apply)
    scale_call = _of_scale(call)
    try:
        if is_apply:
            make = applied_by(backend, scale_call, options)
            make = _unconvertible(make) if call.resource.is_custom else make
        else:
            make = patched_by(scale_call, options, media_type)
        return _write(backend, call, options, make, tracks_fields=not is_apply)
    except PatchError as error:
        raise status_of(error) from None


def _unconvertible(make: MakeNew) -> MakeNew:
    """Return a function that applies a Scale of a custom resource as upstream does.

    Upstream converts what an apply changes to the version of the custom resource, which fails.
    """

    def checked(current: Document | None) -> Document:
        assert current is not None, "a Scale creates nothing"
        if not current["metadata"].get("managedFields"):
            raise unclassified(_UNCONVERTED.format(step=_BEFORE, name=""))
        after = make(current)
        if after.get("spec") != current.get("spec"):
            raise unclassified(_UNCONVERTED.format(step=_AFTER, name=current["metadata"]["name"]))
        return after

    return checked


def _of_scale(call: Call) -> Call:
    return msgspec.structs.replace(call, resource=scale_resource())


def _write(
    backend: Backend,
    call: Call,
    options: WriteOptions,
    make_scale: MakeNew,
    *,
    uid: str = "",
    tracks_fields: bool = True,
) -> HttpReply:
    """Write the Scale of the named object and return it."""
    resource, fields = call.resource, backend.field_management

    def make(current: Document | None) -> Document:
        assert current is not None, "a Scale creates nothing"
        before = _with_entries(resource, scale_of(resource, current), current)
        after = make_scale(before)
        if tracks_fields:
            after = fields.updated(
                scale_resource(),
                before,
                after,
                manager=manager_of(call.request, options.field_manager),
                subresource="scale",
                now_ns=call.now_ns,
            )
        attributes = attributes_of(call, "UPDATE", after, before, options)
        backend.admission.admit(attributes)
        after = attributes.object or {}
        _check(call, after, current)
        return _with_scale(resource, current, after, is_tracked=fields.is_on)

    document, _ = update_document(
        backend,
        call,
        make,
        options,
        uid=uid,
        may_create=False,
        tracks_fields=False,
        part_of=partial(scale_of, resource),
    )
    return object_reply(_of_scale(call), scale_of(resource, document))


def _check(call: Call, scale: Document, current: Document) -> None:
    """Check a changed Scale: its metadata and its replicas, and the uid of a patched one.

    Upstream: pkg/apis/autoscaling/validation/validation.go, ValidateScale
    """
    resource, name = call.resource, call.info.name
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if resource.scale_paths is not None:
        # The object itself is validated, with the error at the path of its replicas.
        if replicas == _UNSET:
            path = resource.scale_paths.replicas
            raise bad_request(f'the spec replicas field "{path}" cannot be empty')
        return
    metadata: Document = scale["metadata"]
    problems = validate_object_meta(metadata, name_rule="subdomain", is_namespaced=True)
    if replicas < 0:
        text = f"Invalid value: {replicas}: must be greater than or equal to 0"
        problems.append(("spec.replicas", text, replicas))
    if problems:
        raise invalid("autoscaling", "Scale", name, problems)
    sent, uid = metadata.get("uid"), current["metadata"].get("uid")
    if sent and sent != uid:
        text = f"Precondition failed: UID in precondition: {sent}, UID in object meta: {uid}"
        raise conflict(resource.group, f"{resource.plural}/scale", name, text)


def _with_scale(
    resource: Resource, document: Document, scale: Document, *, is_tracked: bool
) -> Document:
    metadata = dict(document["metadata"])
    sent: Document = scale["metadata"]
    version = sent.get("resourceVersion", "")
    # Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go,
    # UpdatedObject
    if version or not resource.is_custom:
        metadata["resourceVersion"] = version
    if is_tracked:
        version = resource.kind.api_version
        entries = object_entries(
            metadata.get("managedFields"), sent.get("managedFields"), version, _paths(resource)
        )
        if entries:
            metadata["managedFields"] = entries
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    path = _paths(resource)[resource.kind.api_version]
    return _with_value(document | {"metadata": metadata}, path, replicas)


def _with_value(document: Document, path: Sequence[str], value: int) -> Document:
    """Return a document with a value at a path, with the objects around it.

    Raises
    ------
    Rejection
        A value on the path is not an object.
    """
    name, *rest = path
    if not rest:
        return document | {name: value}
    inner = document.get(name)
    if inner is not None and not isinstance(inner, dict):
        text = f"value cannot be set because .{name} is not a map[string]interface{{}}"
        raise unclassified_error(text)
    return document | {name: _with_value(inner or {}, rest, value)}
