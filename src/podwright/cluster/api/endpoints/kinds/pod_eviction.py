"""Eviction: the subresource `pods/eviction`, which respects disruption budgets.

Upstream: pkg/registry/core/pod/storage/eviction.go
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from podwright.apimachinery.objects import Document, Pod, PodDisruptionBudget, encode
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api.endpoints.calls import Backend, Call, find
from podwright.cluster.api.endpoints.decoding.bodies import read_object
from podwright.cluster.api.endpoints.decoding.body_fields import (
    StrictDecodingError,
    TypeMismatchError,
    cannot_be_handled,
    check_fields,
)
from podwright.cluster.api.endpoints.decoding.body_kinds import check_kind
from podwright.cluster.api.endpoints.decoding.sent_objects import in_namespace
from podwright.cluster.api.endpoints.options import (
    DeleteOptions,
    WriteOptions,
    delete_options,
    write_options,
)
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.replies.status_errors import (
    ApiError,
    bad_request,
    forbidden,
    success,
    too_many_requests,
)
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.endpoints.writes.admission_attributes import attributes_of
from podwright.cluster.api.endpoints.writes.delete import check_preconditions, propagation_of
from podwright.cluster.api.pods.eviction import (
    VIOLATION,
    Eviction,
    decide_eviction,
    with_disruption_target,
)

_OLD_VERSION: Final = "policy/v1beta1"


def evict(backend: Backend, call: Call) -> HttpReply:
    """Evict the named pod, if its disruption budget allows it."""
    options = write_options(call.request, "CreateOptions")
    eviction = in_namespace(call, _body(call, options))
    name = (eviction.get("metadata") or {}).get("name") or ""
    if name != call.info.name:
        raise bad_request("name in URL does not match name in Eviction object")
    attributes = attributes_of(call, "CREATE", eviction, None, options)
    backend.admission.admit(attributes)
    backend.admission.validate(attributes)
    call.warnings += attributes.warnings
    pod = cast(Pod, find(backend, call))
    budgets = backend.store.list(PodDisruptionBudget, namespace=pod.namespace).objects
    decision = decide_eviction(pod, cast("list[PodDisruptionBudget]", budgets), call.now_ns)
    if not decision.is_allowed:
        raise rejection(decision, pod)
    _execute(backend, call, pod, decision, _delete_body(eviction, options))
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


def _delete_body(eviction: Document, options: WriteOptions) -> Document:
    found: Document = dict(eviction.get("deleteOptions") or {})
    if options.is_dry_run:
        found["dryRun"] = ["All"]
    return found


def rejection(decision: Eviction, pod: Pod) -> ApiError:
    """Return the error of an eviction that is not allowed."""
    if decision.code == 429:
        cause = {"reason": "DisruptionBudget", "message": decision.cause}
        return too_many_requests(VIOLATION, cause=cause, retry_seconds=decision.retry_after_seconds)
    if decision.code == 403:
        return forbidden("policy", "poddisruptionbudgets", pod.name, decision.message)
    return ApiError(decision.code, "", decision.message)


def _execute(
    backend: Backend, call: Call, pod: Pod, decision: Eviction, delete_body: Document
) -> None:
    """Charge the budget, set the condition, and delete the pod, in upstream's order.

    The budget comes first, so that concurrent evictions cannot exceed it, and stays charged if a
    precondition does not hold; then the condition, so that watchers see the reason before the
    deletion, whose options are validated last.

    Upstream: pkg/registry/core/pod/storage/eviction.go, addConditionAndDeletePod
    """
    is_dry_run = bool(delete_body.get("dryRun"))
    if not is_dry_run:
        if decision.budget is not None:
            backend.server_status.update(encode(decision.budget), call.now_ns)
        check_preconditions(call.resource, pod, _preconditions(delete_body))
        pod = _with_condition(backend, call, pod)
    options = delete_options(delete_body, call.request)
    if not is_dry_run:
        # The deletion has the version of the pod with its condition.
        options = msgspec.structs.replace(options, resource_version=None)
    check_preconditions(call.resource, pod, options)
    backend.storage.delete(
        call.resource.storage,
        pod.key,
        call.now_ns,
        grace_seconds=options.grace_seconds,
        propagation=propagation_of(call, pod, options),
        is_dry_run=is_dry_run,
    )


def _preconditions(delete_body: Document) -> DeleteOptions:
    found: Document = delete_body.get("preconditions") or {}
    # Before the deletion itself, an empty text is not a precondition.
    uid, version = found.get("uid") or None, found.get("resourceVersion") or None
    return DeleteOptions(uid=uid, resource_version=version)


def _with_condition(backend: Backend, call: Call, pod: Pod) -> Pod:
    target = with_disruption_target(
        pod,
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
        call.now_ns,
        sets_observed_generation=False,
    )
    document = call.resource.kind.go_form(target.raw)
    return cast(Pod, backend.storage.replace(pod, decode(document)).object)
