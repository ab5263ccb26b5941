"""Validation of roles, bindings, access reviews and requests for tokens.

Upstream: pkg/apis/rbac/validation/validation.go; pkg/apis/authorization/validation/validation.go;
pkg/apis/authentication/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, internal_form
from podwright.apimachinery.schema.validation.metadata import (
    selector_is_valid,
    validate_label_selector,
    validate_requirement,
)
from podwright.apimachinery.schema.validation.names import dns_subdomain, path_segment

_GROUP: Final = "rbac.authorization.k8s.io"
_ROLE_KINDS: Final = ("Role", "ClusterRole")
_CLUSTER_ROLE_KINDS: Final = ("ClusterRole",)
_SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")
_SHORTEST_TOKEN_S: Final = 10 * 60
_LONGEST_TOKEN_S: Final = 1 << 32

# ------------------------------------------------------------------------------- roles


def validate_role(errors: FieldErrors, role: Document) -> None:
    """Check a new Role."""
    _validate_rules(errors, role, is_namespaced=True)


def validate_cluster_role(errors: FieldErrors, role: Document) -> None:
    """Check a new ClusterRole."""
    _validate_rules(errors, role, is_namespaced=False)
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return
    path, selectors = (
        "aggregationRule.clusterRoleSelectors",
        aggregation.get("clusterRoleSelectors"),
    )
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.required(path, text)
    for index, selector in enumerate(selectors or ()):
        validate_label_selector(errors, f"{path}[{index}]", selector)
        if not selector_is_valid(selector):
            errors.invalid(f"{path}[{index}]", None, "invalid label selector.")


def _validate_rules(errors: FieldErrors, role: Document, *, is_namespaced: bool) -> None:
    for index, rule in enumerate(role.get("rules") or ()):
        _validate_rule(errors, f"rules[{index}]", rule, is_namespaced=is_namespaced)


def _validate_rule(errors: FieldErrors, path: str, rule: Document, *, is_namespaced: bool) -> None:
    if not rule.get("verbs"):
        errors.required(f"{path}.verbs", "verbs must contain at least one value")
    groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
    names = rule.get("resourceNames") or []
    if urls := rule.get("nonResourceURLs"):
        if is_namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            errors.invalid(f"{path}.nonResourceURLs", urls, text)
        if groups or resources or names:
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.invalid(f"{path}.nonResourceURLs", urls, text)
        return
    if not groups:
        errors.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not resources:
        errors.required(f"{path}.resources", "resource rules must supply at least one resource")


# ---------------------------------------------------------------------------- bindings


def validate_role_binding(errors: FieldErrors, binding: Document) -> None:
    """Check a new RoleBinding."""
    _validate_binding(errors, binding, _ROLE_KINDS, is_namespaced=True)


def validate_role_binding_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed RoleBinding, which keeps its role."""
    validate_role_binding(errors, new)
    _validate_kept_role(errors, new, old)


def validate_cluster_role_binding(errors: FieldErrors, binding: Document) -> None:
    """Check a new ClusterRoleBinding."""
    _validate_binding(errors, binding, _CLUSTER_ROLE_KINDS, is_namespaced=False)


def validate_cluster_role_binding_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed ClusterRoleBinding, which keeps its role."""
    validate_cluster_role_binding(errors, new)
    _validate_kept_role(errors, new, old)


def _validate_kept_role(errors: FieldErrors, new: Document, old: Document) -> None:
    role, before = (internal_form(each.get("roleRef"), "RoleRef") for each in (new, old))
    if role != before:
        errors.invalid("roleRef", role, "cannot change roleRef")


def _validate_binding(
    errors: FieldErrors, binding: Document, kinds: tuple[str, ...], *, is_namespaced: bool
) -> None:
    reference = binding.get("roleRef") or {}
    group, kind, name = (reference.get(each) or "" for each in ("apiGroup", "kind", "name"))
    if group != _GROUP:
        errors.unsupported("roleRef.apiGroup", group, (_GROUP,))
    if kind not in kinds:
        errors.unsupported("roleRef.kind", kind, kinds)
    if name:
        errors.each("roleRef.name", name, path_segment(name))
    else:
        errors.required("roleRef.name")
    for index, subject in enumerate(binding.get("subjects") or ()):
        _validate_subject(errors, f"subjects[{index}]", subject, is_namespaced=is_namespaced)


def _validate_subject(
    errors: FieldErrors, path: str, subject: Document, *, is_namespaced: bool
) -> None:
    name, kind, group = (subject.get(each) or "" for each in ("name", "kind", "apiGroup"))
    if not name:
        errors.required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            errors.each(f"{path}.name", name, dns_subdomain(name))
        if group:
            errors.unsupported(f"{path}.apiGroup", group, ("",))
        if not is_namespaced and not subject.get("namespace"):
            errors.required(f"{path}.namespace")
    elif kind in _SUBJECT_KINDS:
        if group != _GROUP:
            errors.unsupported(f"{path}.apiGroup", group, (_GROUP,))
    else:
        errors.unsupported(f"{path}.kind", kind, _SUBJECT_KINDS)


# ----------------------------------------------------------------------------- reviews


def validate_self_access_review(errors: FieldErrors, review: Document) -> None:
    """Check a SelfSubjectAccessReview."""
    _validate_attributes(errors, review)
    _validate_selectors(errors, review)
    _validate_empty_metadata(errors, review, "must be empty")


def validate_access_review(errors: FieldErrors, review: Document) -> None:
    """Check a SubjectAccessReview."""
    _validate_attributes(errors, review)
    _validate_user(errors, review)
    _validate_selectors(errors, review)
    _validate_empty_metadata(errors, review, "must be empty")


def validate_local_access_review(errors: FieldErrors, review: Document) -> None:
    """Check a LocalSubjectAccessReview, which is about the namespace that it is in."""
    _validate_attributes(errors, review)
    _validate_user(errors, review)
    _validate_selectors(errors, review)
    metadata, spec = review.get("metadata") or {}, review.get("spec") or {}
    text = "must be empty except for namespace"
    _validate_empty_metadata(errors, review, text, but=("namespace",))
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None:
        namespace = resource.get("namespace") or ""
        if namespace != (metadata.get("namespace") or ""):
            path = "spec.resourceAttributes.namespace"
            errors.invalid(path, namespace, "must match metadata.namespace")
    if other is not None:
        text = "disallowed on this kind of request"
        errors.invalid(
            "spec.nonResourceAttributes", internal_form(other, "NonResourceAttributes"), text
        )


def _validate_attributes(errors: FieldErrors, review: Document) -> None:
    spec = review.get("spec") or {}
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        text = "cannot be specified in combination with resourceAttributes"
        errors.invalid(
            "spec.nonResourceAttributes", internal_form(other, "NonResourceAttributes"), text
        )
    if resource is None and other is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.invalid("spec.resourceAttributes", None, text)


def _validate_user(errors: FieldErrors, review: Document) -> None:
    spec = review.get("spec") or {}
    if not spec.get("user") and not spec.get("groups"):
        errors.invalid("spec.user", "", "at least one of user or group must be specified")


def _validate_selectors(errors: FieldErrors, review: Document) -> None:
    """Check the selectors of the lists that a review is about."""
    attributes = (review.get("spec") or {}).get("resourceAttributes") or {}
    path = "spec.resourceAttributes.fieldSelector"
    for name, requirement in _requirements(errors, path, attributes.get("fieldSelector")):
        _validate_field_requirement(errors, name, requirement)
    path = "spec.resourceAttributes.labelSelector"
    for name, requirement in _requirements(errors, path, attributes.get("labelSelector")):
        validate_requirement(errors, name, requirement, allows_unknown=True)


def _requirements(
    errors: FieldErrors, path: str, selector: Document | None
) -> Iterator[tuple[str, Document]]:
    """Yield the paths and the requirements of a selector, which is either text or these."""
    if selector is None:
        return
    raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or []
    if raw and requirements:
        text = "may not specified at the same time as requirements"
        errors.invalid(f"{path}.rawSelector", raw, text)
    if not raw and not requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        errors.required(f"{path}.requirements", text)
    for index, requirement in enumerate(requirements):
        yield f"{path}.requirements[{index}]", requirement


def _validate_field_requirement(errors: FieldErrors, path: str, requirement: Document) -> None:
    if not requirement.get("key"):
        errors.required(f"{path}.key", "must be specified")
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in ("In", "NotIn") and not values:
        text = "must be specified when `operator` is 'In' or 'NotIn'"
        errors.required(f"{path}.values", text)
    if operator in ("Exists", "DoesNotExist") and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.forbidden(f"{path}.values", text)


def _validate_empty_metadata(
    errors: FieldErrors, review: Document, text: str, *, but: Collection[str] = ()
) -> None:
    metadata = review.get("metadata") or {}
    if any(
        value and name != "managedFields" and name not in but for name, value in metadata.items()
    ):
        errors.invalid("metadata", metadata, text)


def validate_token_request(errors: FieldErrors, request: Document) -> None:
    """Check a TokenRequest."""
    path = "spec.expirationSeconds"
    seconds = (request.get("spec") or {}).get("expirationSeconds") or 0
    if seconds < _SHORTEST_TOKEN_S:
        errors.invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN_S:
        errors.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")
