"""Requests about users: TokenRequest, TokenReview and SelfSubjectReview.

Upstream: pkg/registry/core/serviceaccount/storage/token.go;
pkg/registry/authentication/{tokenreview,selfsubjectreview}
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from podwright.api.endpoints.authentication import with_authenticated
from podwright.api.endpoints.calls import Backend, Call, find
from podwright.api.endpoints.options import write_options
from podwright.api.endpoints.request import HttpReply
from podwright.api.endpoints.resources import Resource
from podwright.api.endpoints.responses import object_reply
from podwright.api.endpoints.service_account_tokens import ISSUER, TokenError
from podwright.api.endpoints.status_errors import (
    bad_request,
    conflict,
    invalid,
    not_found,
)
from podwright.api.endpoints.write import attributes_of, body_of, in_namespace
from podwright.api.identity import uid_at
from podwright.api.users import User
from podwright.objects import Document, KubernetesObject, timestamp_text
from podwright.schema import built_in

_GROUP: Final = "authentication.k8s.io"
_LIFETIME_SECONDS: Final = 3_600
_SECOND_NS: Final = 1_000_000_000
_BOUND: Final = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}


def _token_request_resource() -> Resource:
    kind = built_in().find(f"{_GROUP}/v1", "TokenRequest")
    assert kind is not None, "the table has no TokenRequest"
    return Resource(kind=kind, storage=kind.group_kind, storage_kind=kind)


def request_token(backend: Backend, call: Call) -> HttpReply:
    """Issue a token for the named service account."""
    options = write_options(call.request, "CreateOptions")
    request_call = msgspec.structs.replace(call, resource=_token_request_resource())
    document = in_namespace(call, body_of(backend, request_call, options.field_validation))
    metadata: Document = dict(document.get("metadata") or {})
    spec: dict[str, Any] = dict(document.get("spec") or {})
    spec["audiences"] = spec.get("audiences") or [ISSUER]
    spec.setdefault("expirationSeconds", _LIFETIME_SECONDS)
    document = document | {"spec": spec}
    if problems := request_call.resource.kind.validation_problems(document):
        raise invalid(_GROUP, "TokenRequest", metadata.get("name", ""), problems)
    name = metadata.get("name")
    if name and name != call.info.name:
        text = f'Invalid value: "{name}": must match the service account name if specified'
        raise invalid(_GROUP, "TokenRequest", call.info.name, [("metadata.name", text, name)])
    attributes = attributes_of(call, "CREATE", document, None, options)
    backend.admission.admit(attributes)
    backend.admission.validate(attributes)
    account = find(backend, call)
    bound = _bound_object(backend, account, spec.get("boundObjectRef"))
    seconds = spec["expirationSeconds"]
    token = backend.tokens.issue(account, spec["audiences"], seconds, call.now_ns, bound)
    now = timestamp_text(call.now_ns)
    metadata |= {
        "name": account.name,
        "namespace": account.namespace,
        "uid": uid_at(backend.store.seed, backend.store.resource_version + 1),
        "creationTimestamp": now,
    }
    ends = timestamp_text(call.now_ns + seconds * _SECOND_NS)
    spec.setdefault("boundObjectRef", None)
    made = document | {
        "metadata": metadata,
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": ends},
    }
    return object_reply(call, made, 201)


def _bound_object(
    backend: Backend, account: KubernetesObject, reference: Document | None
) -> KubernetesObject | None:
    if reference is None:
        return None
    version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    plural = _BOUND.get((version, kind))
    if plural is None:
        group, _, plain = version.rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{plain}, Kind={kind}")
    name = reference.get("name", "")
    key = name if kind == "Node" else f"{account.namespace}/{name}"
    found = backend.store.get(("", kind), key)
    if found is None:
        raise not_found("", plural, name)
    if kind == "Pod":
        own = (found.raw.get("spec") or {}).get("serviceAccountName") or ""
        if own != account.name:
            raise bad_request(
                f'cannot bind token for serviceaccount "{account.name}" to pod running with'
                " different serviceaccount name."
            )
    uid = reference.get("uid")
    if uid and uid != found.uid:
        raise conflict(
            "",
            kind,
            name,
            f"the UID in the bound object reference ({uid}) does not match the UID in record. The"
            " object might have been deleted and then recreated",
        )
    return found


def review_token(backend: Backend, call: Call) -> HttpReply:
    """Say to whom a token belongs."""
    options = write_options(call.request, "CreateOptions")
    document = in_namespace(call, body_of(backend, call, options.field_validation))
    spec: Document = document.get("spec") or {}
    token = spec.get("token")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    audiences = spec.get("audiences") or [ISSUER]
    status: Document = {"user": {}}
    try:
        found = backend.tokens.review(token, call.now_ns, audiences)
        if found is None:
            user = backend.authenticator.user_of(token, call.now_ns)
            found = None if user is None else (user, [one for one in audiences if one == ISSUER])
        if found is not None:
            user = with_authenticated(found[0])
            status = {"authenticated": True, "user": user_document(user), "audiences": found[1]}
    except TokenError as error:
        status["error"] = f"[invalid bearer token, {error}]"
    made = call.resource.kind.go_form(document | {"status": status})
    return object_reply(call, made, 201)


def review_self(backend: Backend, call: Call) -> HttpReply:
    """Return the user of the request."""
    options = write_options(call.request, "CreateOptions")
    document = in_namespace(call, body_of(backend, call, options.field_validation))
    metadata = (document.get("metadata") or {}) | {"creationTimestamp": timestamp_text(call.now_ns)}
    status = {"userInfo": user_document(call.user)}
    made = call.resource.kind.go_form(document | {"metadata": metadata, "status": status})
    return object_reply(call, made, 201)


def user_document(user: User) -> Document:
    """Return a user as `UserInfo`."""
    document: Document = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    if user.extra:
        document["extra"] = {name: list(values) for name, values in user.extra.items()}
    return document
