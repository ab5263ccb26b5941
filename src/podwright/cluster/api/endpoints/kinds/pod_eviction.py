"""Eviction: the subresource `pods/eviction`, which respects disruption budgets.

Upstream: pkg/registry/core/pod/storage/eviction.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.decoding.bodies import read_object
from podwright.cluster.api.endpoints.decoding.body_fields import (
    StrictDecodingError,
    TypeMismatchError,
    cannot_be_handled,
    check_fields,
)
from podwright.cluster.api.endpoints.decoding.body_kinds import check_kind
from podwright.cluster.api.endpoints.decoding.sent_objects import in_namespace
from podwright.cluster.api.endpoints.options import WriteOptions, delete_options, write_options
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.sent_writes import attributes_of
from podwright.cluster.api.pipeline import executed
from podwright.cluster.api.pods.eviction import Eviction
from podwright.cluster.api.rejections import bad_request, invalid, success, unclassified_error
from podwright.cluster.api.stages.write import ObjectWrite
from podwright.cluster.store import POD

_OLD_VERSION: Final = "policy/v1beta1"
_IGNORE_STORE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"


def evict(backend: Backend, call: Call) -> HttpReply:
    """Evict the named pod, if its disruption budget allows it."""
    options = write_options(call.request, "CreateOptions")
    eviction = in_namespace(call, _body(call, options))
    if (eviction.get("metadata") or {}).get("name") != call.info.name:
        raise bad_request("name in URL does not match name in Eviction object")
    body = _delete_body(eviction, call, options)
    sent: Document = body.get("preconditions") or {}
    write = ObjectWrite(
        form="sent",
        kind=POD,
        key=call.key,
        now_ns=call.now_ns,
        body=Eviction(
            uid=sent.get("uid") or "",
            version=sent.get("resourceVersion") or "",
            read_options=lambda: delete_options(body, call.request),
        ),
        is_dry_run=bool(body.get("dryRun")),
        attributes=attributes_of(call, "CREATE", eviction, None, options),
        new=eviction,
        warnings=call.warnings,
    )
    executed(backend, "evict", write)
    return object_reply(call, success(code=201), 201)


def _body(call: Call, options: WriteOptions) -> Document:
    decoded = read_object(call.request, "Eviction", api_version="policy/v1")
    known = built_in().find("policy/v1", "Eviction")
    assert known is not None, "the table has no Eviction"
    document: Document = decoded.document
    if document.get("apiVersion") == _OLD_VERSION:
        document = document | {"apiVersion": known.api_version}
    document = check_kind(document, known, call.request.body)
    try:
        call.warnings += check_fields(document, known, decoded, validation=options.field_validation)
    except (StrictDecodingError, TypeMismatchError) as error:
        raise cannot_be_handled(known, error) from None
    return document


def _delete_body(eviction: Document, call: Call, options: WriteOptions) -> Document:
    """Return the options of the deletion, with the dry run of the request.

    Upstream: pkg/registry/core/pod/storage/eviction.go, propagateDryRun

    Raises
    ------
    Rejection
        An option is not for pods, or the dry runs of the request and the options differ.
    """
    found: Document = dict(eviction.get("deleteOptions") or {})
    if found.get(_IGNORE_STORE):
        problem = (
            f"deleteOptions.{_IGNORE_STORE}",
            "Invalid value: true: can not be set for pod eviction, try after removing the option",
            True,
        )
        raise invalid("policy", "Eviction", call.info.name, [problem])
    requested = list(call.request.parameters.get("dryRun") or ())
    sent = found.get("dryRun") or []
    if requested and sent and requested != sent:
        raise unclassified_error(
            "Non-matching dry-run options in request and content:"
            f" [{' '.join(requested)}] and [{' '.join(sent)}]"
        )
    if options.is_dry_run:
        found["dryRun"] = ["All"]
    return found
