"""Questions about rights: SubjectAccessReview and its relatives, SelfSubjectRulesReview.

Upstream: pkg/registry/authorization/*/rest.go; pkg/registry/authorization/util/helpers.go
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import (
    Document,
    FieldRequirement,
    FieldSelector,
    SelectorError,
    aggregated,
    parse_field_selector,
    parse_label_selector,
)
from podwright.cluster.api.authorization import Access, Authorizer, Rules, allows
from podwright.cluster.api.endpoints.access.reviews import read_review, validate_review
from podwright.cluster.api.endpoints.calls import Backend, Call
from podwright.cluster.api.endpoints.replies.responses import object_reply
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.api.rejections import bad_request, invalid
from podwright.cluster.api.users import User

_GROUP: Final = "authorization.k8s.io"
_LABEL_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def review_access(backend: Backend, call: Call) -> HttpReply:
    """Say whether a user may do something; without a user, whether that of the request may."""
    document, options = read_review(backend, call)
    if problems := call.resource.kind.validation_problems(document):
        # The kind is empty in upstream's internal objects.
        raise invalid(_GROUP, "", "", problems)
    validate_review(backend, call, document, options)
    spec: Document = document.get("spec") or {}
    is_self = call.resource.name == "SelfSubjectAccessReview"
    user = call.user if is_self else _user_of(spec)
    access, errors = _access_of(user, spec)
    decision = backend.authorizers.authorize(access)
    status: Document = {"allowed": decision.is_allowed is True}
    if decision.is_allowed is False:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    if errors:
        status["evaluationError"] = "; ".join(errors)
    return object_reply(call, call.resource.kind.go_form(document | {"status": status}), 201)


def allows_approval(authorizer: Authorizer, spec: Document, subresource: str) -> bool:
    """Whether the user of a certificate request may create a subresource of such requests.

    Parameters
    ----------
    authorizer : Authorizer
    spec : Document
        Of the request.
    subresource : str
        `nodeclient` or `selfnodeclient`.
    """
    access = Access(
        user=_user_of({**spec, "user": spec.get("username")}),
        verb="create",
        group="certificates.k8s.io",
        version="*",
        resource="certificatesigningrequests",
        subresource=subresource,
    )
    return allows(authorizer, access)


def _user_of(spec: Document) -> User:
    extra = {name: tuple(values or ()) for name, values in (spec.get("extra") or {}).items()}
    groups = tuple(spec.get("groups") or ())
    return User(spec.get("user") or "", spec.get("uid") or "", groups, extra)


def _access_of(user: User, spec: Document) -> tuple[Access, list[str]]:
    """Return the access of a review, and what is wrong with its selectors."""
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        other = spec.get("nonResourceAttributes") or {}
        path, verb = other.get("path") or "", other.get("verb") or ""
        return Access(user=user, verb=verb, is_resource=False, path=path), []
    fields, field_error = _fields(attributes.get("fieldSelector") or {})
    label_error = _label_error(attributes.get("labelSelector") or {})
    errors = [
        f"spec.resourceAttributes.{name} {error} due to parse error"
        for name, error in (("fieldSelector", field_error), ("labelSelector", label_error))
        if error
    ]
    access = Access(
        user=user,
        verb=attributes.get("verb") or "",
        group=attributes.get("group") or "",
        version=attributes.get("version") or "*",
        resource=attributes.get("resource") or "",
        subresource=attributes.get("subresource") or "",
        namespace=attributes.get("namespace") or "",
        name=attributes.get("name") or "",
        fields=fields,
    )
    return access, errors


def _fields(selector: Document) -> tuple[FieldSelector, str]:
    """Return a field selector, and whether a part of it or all is ignored."""
    if raw := selector.get("rawSelector"):
        try:
            return parse_field_selector(raw), ""
        except SelectorError:
            return FieldSelector(), "ignored"
    found: list[FieldRequirement] = []
    requirements: list[Document] = selector.get("requirements") or []
    for each in requirements:
        values: list[str] = each.get("values") or []
        if each.get("operator") in ("In", "NotIn") and len(values) == 1:
            is_negated = each["operator"] == "NotIn"
            found.append(FieldRequirement(each.get("key") or "", values[0], is_negated))
    return FieldSelector(tuple(found)), _extent(len(found), len(requirements))


def _label_error(selector: Document) -> str:
    if raw := selector.get("rawSelector"):
        try:
            parse_label_selector(raw)
        except SelectorError:
            return "ignored"
        return ""
    requirements = selector.get("requirements") or ()
    known = [each for each in requirements if each.get("operator") in _LABEL_OPERATORS]
    return _extent(len(known), len(requirements))


def _extent(known: int, total: int) -> str:
    if known == total:
        return ""
    return "partially ignored" if known else "ignored"


def review_rules(backend: Backend, call: Call) -> HttpReply:
    """Return what the user of the request may do in a namespace."""
    document, options = read_review(backend, call)
    namespace = (document.get("spec") or {}).get("namespace") or ""
    if not namespace:
        raise bad_request("no namespace on request")
    validate_review(backend, call, document, options)
    status = _rules_status(backend.authorizers.rules_for(call.user, namespace))
    made = {
        "kind": call.resource.name,
        "apiVersion": call.resource.kind.api_version,
        "metadata": {},
        "spec": {},
        "status": status,
    }
    return object_reply(call, call.resource.kind.go_form(made), 201)


def _rules_status(found: Rules) -> Document:
    resources: list[dict[str, Any]] = []
    paths: list[dict[str, Any]] = []
    for rule in found.rules:
        if rule.get("resources"):
            resources.append(_part(rule, "verbs", "apiGroups", "resources", "resourceNames"))
        if rule.get("nonResourceURLs"):
            paths.append(_part(rule, "verbs", "nonResourceURLs"))
    status: Document = {
        "resourceRules": resources,
        "nonResourceRules": paths,
        "incomplete": found.is_incomplete,
    }
    if found.errors:
        status["evaluationError"] = aggregated(found.errors)
    return status


def _part(rule: Document, *names: str) -> dict[str, Any]:
    return {name: list(rule[name]) for name in names if rule.get(name)}
