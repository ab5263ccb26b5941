"""Requests about users: TokenRequest, TokenReview and SelfSubjectReview.

Upstream: pkg/registry/core/serviceaccount/storage/token.go;
pkg/registry/authentication/{tokenreview,selfsubjectreview}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    KubernetesObject,
    go_quoted,
    timestamp_text,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.access.authentication import with_authenticated
from podwright.cluster.api.endpoints.access.reviews import read_review, validate_review
from podwright.cluster.api.endpoints.access.service_account_tokens import ISSUER, TokenError
from podwright.cluster.api.endpoints.calls import Backend, Call, find
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.rejections import (
    bad_request,
    conflict,
    invalid,
    not_found,
)
from podwright.cluster.api.users import ANONYMOUS, User
from podwright.cluster.api.versions.resources import Resource

_GROUP: Final = "authentication.k8s.io"
_BOUND: Final = frozenset({"Pod", "Secret", "Node"})
_WARNED_SECONDS: Final = 3_607
"""The lifetime of tokens in pods' volumes; they are good for longer, for clients that do not
reload them."""
_EXTENDED_SECONDS: Final = 365 * 24 * 3_600


def _token_request_resource() -> Resource:
    kind = built_in().find(f"{_GROUP}/v1", "TokenRequest")
    assert kind is not None, "the table has no TokenRequest"
    return Resource(kind=kind, storage=kind.group_kind, storage_kind=kind)


def request_token(backend: Backend, call: Call) -> HttpReply:
    """Issue a token for the named service account."""
    resource = _token_request_resource()
    document, options = read_review(backend, call, resource=resource, keeps_metadata=True)
    metadata: Document = dict(document.get("metadata") or {})
    name = metadata.get("name")
    if name and name != call.info.name:
        text = f"Invalid value: {go_quoted(name)}: must match the service account name if specified"
        raise invalid(_GROUP, "TokenRequest", call.info.name, [("metadata.name", text, name)])
    account = find(backend, call)
    if (uid := metadata.get("uid")) and uid != account.uid:
        raise conflict(
            _GROUP,
            "TokenRequest",
            call.info.name,
            f"the UID in the token request ({uid}) does not match the UID of the service account"
            f" ({account.uid})",
        )
    spec: dict[str, Any] = dict(document.get("spec") or {})
    spec["audiences"] = spec.get("audiences") or [ISSUER]
    now = timestamp_text(call.now_ns)
    own = {"name": account.name, "namespace": account.namespace, "uid": account.uid}
    document = document | {
        "metadata": metadata | own | {"creationTimestamp": now},
        "spec": spec,
        "status": {},
    }
    if problems := resource.kind.validation_problems(document):
        raise invalid(_GROUP, "TokenRequest", "", problems)
    validate_review(backend, call, document, options)
    bound = _bound_object(backend, account, spec.get("boundObjectRef"))
    seconds = spec["expirationSeconds"]
    is_extended = (
        bound is not None
        and bound.kind == "Pod"
        and seconds == _WARNED_SECONDS
        and set(spec["audiences"]) == {ISSUER}
    )
    token = backend.tokens.issue(
        account,
        spec["audiences"],
        _EXTENDED_SECONDS if is_extended else seconds,
        call.now_ns,
        bound,
        warned_seconds=seconds if is_extended else None,
    )
    ends = timestamp_text(call.now_ns + seconds * SECOND_NS)
    made = document | {"status": {"token": token, "expirationTimestamp": ends}}
    return object_reply(call, made, 201)


def _bound_object(
    backend: Backend, account: KubernetesObject, reference: Document | None
) -> KubernetesObject | None:
    if reference is None:
        return None
    group, _, version = (reference.get("apiVersion") or "").rpartition("/")
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    if group or kind not in _BOUND:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    if not name:
        raise bad_request("Name parameter required.")
    key = name if kind == "Node" else f"{account.namespace}/{name}"
    found = backend.store.get(("", kind), key)
    if found is None:
        raise not_found("", f"{kind.lower()}s", name)
    if kind == "Pod":
        own = (found.raw.get("spec") or {}).get("serviceAccountName") or ""
        if own != account.name:
            raise bad_request(
                f"cannot bind token for serviceaccount {go_quoted(account.name)} to pod running"
                " with different serviceaccount name."
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
    document, options = read_review(backend, call)
    spec: Document = document.get("spec") or {}
    if not (token := spec.get("token")):
        raise bad_request("token is required for TokenReview in authentication")
    validate_review(backend, call, document, options)
    audiences = spec.get("audiences") or [ISSUER]
    status: Document = {"user": {}}
    try:
        found = _owner(backend, token, call.now_ns, audiences)
        if found is None:
            status["error"] = "invalid bearer token"
        else:
            user, common = found
            status = {"authenticated": True, "user": user_document(user), "audiences": common}
    except TokenError as error:
        status["error"] = f"[invalid bearer token, {error}]"
    made = call.resource.kind.go_form(document | {"status": status})
    return object_reply(call, made, 201)


def _owner(
    backend: Backend, token: str, now_ns: int, audiences: Sequence[str]
) -> tuple[User, list[str]] | None:
    """Return the user of a token, and the audiences for which it is good."""
    token = token.strip().partition(" ")[0]
    found = backend.tokens.review(token, now_ns, audiences)
    if found is not None:
        return with_authenticated(found[0]), found[1]
    # Other tokens are good for the API only.
    common = [audience for audience in audiences if audience == ISSUER]
    if not common:
        return None
    user = backend.authenticator.user_of(token, now_ns) if token else ANONYMOUS
    return None if user is None else (user, common)


def review_self(backend: Backend, call: Call) -> HttpReply:
    """Return the user of the request."""
    document, options = read_review(backend, call)
    validate_review(backend, call, document, options)
    made = {
        "kind": call.resource.name,
        "apiVersion": call.resource.kind.api_version,
        "metadata": {"creationTimestamp": timestamp_text(call.now_ns)},
        "status": {"userInfo": user_document(call.user)},
    }
    return object_reply(call, call.resource.kind.go_form(made), 201)


def user_document(user: User) -> Document:
    """Return a user as `UserInfo`."""
    document: Document = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    if user.extra:
        document["extra"] = {name: list(values) for name, values in user.extra.items()}
    return document
