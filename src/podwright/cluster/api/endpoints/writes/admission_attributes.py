"""Writes as admission sees them.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/attributes.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission import Attributes, Operation
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.endpoints.calls import Call
from podwright.cluster.api.endpoints.decoding.sent_objects import name_of
from podwright.cluster.api.endpoints.options import WriteOptions

_OPTIONS_KINDS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}


def attributes_of(
    call: Call,
    operation: Operation,
    new: Document | None,
    old: Document | None,
    options: WriteOptions | DeleteOptions,
) -> Attributes:
    """Return a write as admission sees it."""
    name = call.info.name or name_of(new or {})
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
        is_restored=call.request.is_restored,
        now_ns=call.now_ns,
        warnings=[],
    )


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
