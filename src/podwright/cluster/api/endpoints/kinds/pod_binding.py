"""Binding of pods: the subresource `pods/binding`, and the older collection `bindings`.

Upstream: pkg/registry/core/pod/storage/storage.go, BindingREST
"""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.decoding.sent_objects import body_of, in_namespace
from podwright.cluster.api.endpoints.options import WriteOptions, write_options
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.sent_writes import attributes_of
from podwright.cluster.api.pipeline import executed
from podwright.cluster.api.rejections import (
    bad_request,
    success,
)
from podwright.cluster.api.stages.write import ObjectWrite
from podwright.cluster.store import POD


def bind(backend: Backend, call: Call) -> HttpReply:
    """Bind the named pod to a node."""
    options = write_options(call.request, "CreateOptions")
    binding_call = _of_binding(backend, call)
    binding = in_namespace(call, body_of(binding_call, options.field_validation))
    name = (binding.get("metadata") or {}).get("name")
    if name != call.info.name:
        raise bad_request("name in URL does not match name in Binding object")
    return _bind(backend, call, binding, options, admitted=call)


def bind_by_collection(backend: Backend, call: Call) -> HttpReply:
    """Bind the pod that the body names."""
    options = write_options(call.request, "CreateOptions")
    binding = in_namespace(call, body_of(call, options.field_validation))
    metadata = binding.get("metadata") or {}
    name = metadata.get("name") or ""
    if not name:
        raise bad_request("Name parameter required.")
    # Upstream removes what a client cannot set, unless it is of a subresource.
    own = {field: value for field, value in metadata.items() if field != "uid"}
    binding = binding | {"metadata": own}
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
    write = ObjectWrite(
        form="sent",
        kind=POD,
        key=call.key,
        now_ns=call.now_ns,
        body=None,
        is_dry_run=options.is_dry_run,
        attributes=attributes_of(admitted, "CREATE", binding, None, options),
        new=binding,
        warnings=call.warnings,
    )
    executed(backend, "bind", write)
    return object_reply(call, success(code=201), 201)
