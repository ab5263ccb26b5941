"""Writes of what was sent, and as admission sees them.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/attributes.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.cluster.api.admission import Attributes, Operation
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.endpoints.calls import Call
from podwright.cluster.api.endpoints.options import WriteOptions
from podwright.cluster.api.endpoints.request import manager_of
from podwright.cluster.api.stages.preparation import name_of
from podwright.cluster.api.stages.write import PartOf, SentWrite

_OPTIONS_KINDS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}


def sent_write(
    call: Call,
    new: Document,
    current: KubernetesObject | None,
    options: WriteOptions,
    *,
    old: Document | None = None,
    tracks_fields: bool = True,
    part_of: PartOf | None = None,
) -> SentWrite:
    """Return the creation or the update of a request.

    Parameters
    ----------
    call : Call
    new : dict
        The new object in the version of the request.
    current : KubernetesObject or None
        The stored object; None for a creation.
    options : WriteOptions
    old : dict or None
        The stored object in the version of the request.
    tracks_fields : bool
        Whether the write owns the fields that it changes.
    part_of : callable, optional
        Returns the part of an object that the write is about.
    """
    request, info = call.request, call.info
    return SentWrite(
        now_ns=call.now_ns,
        body=None,
        form="sent",
        is_restored=request.is_restored,
        is_dry_run=options.is_dry_run,
        current=current,
        attributes=attributes_of(call, "CREATE" if old is None else "UPDATE", new, old, options),
        new=new,
        sent=call.sent,
        text=request.body,
        warnings=call.warnings,
        manager=manager_of(request, options.field_manager),
        name=info.name,
        tracks_fields=tracks_fields,
        is_post=info.verb == "create",
        verb=info.verb,
        formed=call.formed,
        part_of=part_of,
    )


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
        warnings=call.warnings,
    )


def _options_document(operation: Operation, options: WriteOptions | DeleteOptions) -> Document:
    """Return the options of a request as admission sees them."""
    kind = _OPTIONS_KINDS.get(operation, "DeleteOptions")
    return options.document | {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
