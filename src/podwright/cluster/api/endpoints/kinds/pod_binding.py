"""Binding of pods: the subresource `pods/binding`, and the older collection `bindings`.

Upstream: pkg/registry/core/pod/storage/storage.go, BindingREST
"""

from __future__ import annotations

from typing import cast

import msgspec

from podwright.apimachinery.objects import Document, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints.calls import Backend, Call, find
from podwright.cluster.api.endpoints.decoding.sent_objects import body_of, in_namespace
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.registry_keys import precondition_failed
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.replies.status_errors import (
    bad_request,
    conflict,
    success,
    unclassified_error,
)
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.admission_attributes import attributes_of
from podwright.cluster.api.pods.binding import binding_error, bound
from podwright.cluster.api.versions.resources import Resource


def bind(backend: Backend, call: Call) -> HttpReply:
    """Bind the named pod to a node."""
    options = write_options(call.request, "CreateOptions")
    binding_call = _of_binding(backend, call)
    binding = in_namespace(call, body_of(backend, binding_call, options.field_validation))
    name = (binding.get("metadata") or {}).get("name") or ""
    if name != call.info.name:
        raise bad_request("name in URL does not match name in Binding object")
    return _bind(backend, call, binding, options, admitted=call)


def bind_by_collection(backend: Backend, call: Call) -> HttpReply:
    """Bind the pod that the body names."""
    options = write_options(call.request, "CreateOptions")
    binding = in_namespace(call, body_of(backend, call, options.field_validation))
    name = (binding.get("metadata") or {}).get("name") or ""
    if not name:
        raise bad_request("Name parameter required.")
    info = msgspec.structs.replace(call.info, resource="pods", subresource="binding", name=name)
    pods = backend.resources.find("", "v1", "pods")
    assert pods is not None, "pods are always served"
    pod_call = msgspec.structs.replace(call, info=info, resource=pods)
    return _bind(backend, pod_call, binding, options, admitted=call)


def _of_binding(backend: Backend, call: Call) -> Call:
    resource = backend.resources.find("", "v1", "bindings")
    assert resource is not None, "bindings are always served"
    return msgspec.structs.replace(call, resource=resource)


def _bind(
    backend: Backend, call: Call, binding: Document, options: WriteOptions, *, admitted: Call
) -> HttpReply:
    """Bind a pod; admission sees the request as it was sent."""
    attributes = attributes_of(admitted, "CREATE", binding, None, options)
    backend.admission.admit(attributes)
    assert attributes.object is not None, "admission keeps the binding"
    binding = attributes.object
    _check(binding)
    backend.admission.validate(attributes)
    call.warnings += attributes.warnings
    pod = cast(Pod, find(backend, call))
    _check_preconditions(call.resource, pod, binding, is_dry_run=options.is_dry_run)
    if error := binding_error(pod):
        raise conflict("", "pods/binding", pod.name, error)
    node = binding["target"]["name"]
    version = backend.store.resource_version + 1
    document = bound(pod, node, now_ns=call.now_ns, version=version).raw
    document = _with_metadata(document, pod, binding)
    changed = decode(call.resource.kind.go_form(document))
    backend.storage.replace(pod, changed, is_dry_run=options.is_dry_run)
    return object_reply(call, success(code=201), 201)


def _check(binding: Document) -> None:
    """Reject a binding to something that is not a node.

    Upstream: pkg/apis/core/validation/validation.go, ValidatePodBinding;
    pkg/registry/core/pod/storage/storage.go, Create
    """
    target = binding.get("target") or {}
    problems = []
    if target.get("kind") and target["kind"] != "Node":
        problems.append(
            f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node",'
            ' "<empty>"'
        )
    if not target.get("name"):
        problems.append("target.name: Required value")
    if problems:
        text = ", ".join(problems)
        raise unclassified_error(text if len(problems) == 1 else f"[{text}]")


def _check_preconditions(
    resource: Resource, pod: Pod, binding: Document, *, is_dry_run: bool
) -> None:
    metadata = binding.get("metadata") or {}
    for field, sent, stored in (
        ("UID", metadata.get("uid"), pod.uid),
        ("ResourceVersion", metadata.get("resourceVersion"), pod.metadata.resource_version),
    ):
        if sent and sent != stored:
            text = precondition_failed(
                resource, pod.key, field, sent, stored, is_dry_run=is_dry_run
            )
            raise conflict("", "pods", pod.name, text)


def _with_metadata(document: Document, pod: Pod, binding: Document) -> Document:
    sent = binding.get("metadata") or {}
    metadata = document["metadata"] | {"resourceVersion": pod.metadata.resource_version}
    for name in ("annotations", "labels"):
        if sent.get(name):
            metadata[name] = {**(metadata.get(name) or {}), **sent[name]}
    return document | {"metadata": metadata}
