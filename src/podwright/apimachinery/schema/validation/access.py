"""Validation of roles, bindings, access reviews and requests for tokens.

Upstream: pkg/apis/rbac/validation/validation.go; pkg/apis/authorization/validation/validation.go;
pkg/apis/authentication/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, internal_form
from podwright.apimachinery.schema.validation.metadata import (
    selector_is_valid,
    validate_label_selector,
    validate_requirement,
)
from podwright.apimachinery.schema.validation.names import dns_subdomain

_GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")

# ------------------------------------------------------------------------------- roles


def _validate_selector(errors: FieldErrors, path: str, selector: Document) -> None:
    validate_label_selector(errors, path, selector)
    if not selector_is_valid(selector):
        errors.invalid(path, None, "invalid label selector.")


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


validate_role: Final = r.of_object(
    r.struct(rules=r.each(partial(_validate_rule, is_namespaced=True)))
)
validate_cluster_role: Final = r.of_object(
    r.struct(
        rules=r.each(partial(_validate_rule, is_namespaced=False)),
        aggregationRule=r.struct(
            clusterRoleSelectors=r.required(
                r.each(_validate_selector),
                detail="at least one clusterRoleSelector required if aggregationRule is non-nil",
            )
        ),
    )
)


# ---------------------------------------------------------------------------- bindings


def validate_kept_role(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check that a changed binding keeps its role."""
    role, before = (internal_form(each.get("roleRef"), "RoleRef") for each in (new, old))
    if role != before:
        errors.invalid("roleRef", role, "cannot change roleRef")


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


def _binding(*kinds: str, is_namespaced: bool) -> r.ObjectRule:
    """Return the rule of a binding to a role of some kinds."""
    return r.of_object(
        r.struct(
            roleRef=r.always(
                r.struct(
                    apiGroup=r.always(r.one_of(_GROUP), ""),
                    kind=r.always(r.one_of(*kinds), ""),
                    name=r.required(r.SEGMENT),
                ),
                {},
            ),
            subjects=r.each(partial(_validate_subject, is_namespaced=is_namespaced)),
        )
    )


validate_role_binding: Final = _binding("Role", "ClusterRole", is_namespaced=True)
validate_cluster_role_binding: Final = _binding("ClusterRole", is_namespaced=False)


# ----------------------------------------------------------------------------- reviews


def validate_local_access_review(errors: FieldErrors, review: Document) -> None:
    """Check a LocalSubjectAccessReview, which is about the namespace that it is in."""
    _ATTRIBUTES_OF_USER(errors, "", review)
    metadata, spec = review.get("metadata") or {}, review.get("spec") or {}
    text = "must be empty except for namespace"
    _validate_empty_metadata(errors, "metadata", metadata, text=text, but=("namespace",))
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


def _validate_attributes(errors: FieldErrors, _path: str, spec: Document) -> None:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        text = "cannot be specified in combination with resourceAttributes"
        errors.invalid(
            "spec.nonResourceAttributes", internal_form(other, "NonResourceAttributes"), text
        )
    if resource is None and other is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.invalid("spec.resourceAttributes", None, text)


def _validate_user(errors: FieldErrors, _path: str, spec: Document) -> None:
    if not spec.get("user") and not spec.get("groups"):
        errors.invalid("spec.user", "", "at least one of user or group must be specified")


def _requirements(rule: r.Rule) -> r.Rule:
    """Return the rule of a selector, which is either text or requirements."""
    each = r.each(rule)

    def check(errors: FieldErrors, path: str, selector: Document) -> None:
        raw, requirements = selector.get("rawSelector"), selector.get("requirements") or []
        if raw and requirements:
            text = "may not specified at the same time as requirements"
            errors.invalid(f"{path}.rawSelector", raw, text)
        if not raw and not requirements:
            text = f"when {path} is specified, requirements or rawSelector is required"
            errors.required(f"{path}.requirements", text)
        each(errors, f"{path}.requirements", requirements)

    return check


def _validate_field_requirement(errors: FieldErrors, path: str, requirement: Document) -> None:
    _KEY(errors, path, requirement)
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in ("In", "NotIn") and not values:
        text = "must be specified when `operator` is 'In' or 'NotIn'"
        errors.required(f"{path}.values", text)
    if operator in ("Exists", "DoesNotExist") and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.forbidden(f"{path}.values", text)


def _validate_empty_metadata(
    errors: FieldErrors,
    path: str,
    metadata: Document,
    *,
    text: str = "must be empty",
    but: Collection[str] = (),
) -> None:
    if any(
        value and name != "managedFields" and name not in but for name, value in metadata.items()
    ):
        errors.invalid(path, metadata, text)


_KEY: Final = r.struct(key=r.required(detail="must be specified"))
_SELECTORS: Final = r.struct(
    # The selectors of the lists that a review is about.
    resourceAttributes=r.struct(
        fieldSelector=_requirements(_validate_field_requirement),
        labelSelector=_requirements(partial(validate_requirement, allows_unknown=True)),
    )
)
_EMPTY: Final = r.struct(metadata=_validate_empty_metadata)
_ATTRIBUTES: Final = r.struct(spec=r.always(r.all_of(_validate_attributes, _SELECTORS), {}))
_ATTRIBUTES_OF_USER: Final = r.struct(
    spec=r.always(r.all_of(_validate_attributes, _validate_user, _SELECTORS), {})
)
validate_self_access_review: Final = r.of_object(_ATTRIBUTES, _EMPTY)
validate_access_review: Final = r.of_object(_ATTRIBUTES_OF_USER, _EMPTY)
validate_token_request: Final = r.of_spec(r.struct(expirationSeconds=r.always(r.TOKEN_SECONDS, 0)))
