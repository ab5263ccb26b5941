"""The scopes of a quota.

Upstream: pkg/apis/core/v1/helper/helpers.go, ScopedResourceSelectorRequirementsAsSelector
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document


def scope_requirements(quota: Document) -> list[Document]:
    """Return the scopes of a quota as requirements."""
    spec: Document = quota.get("spec") or {}
    plain = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    selector: Document = spec.get("scopeSelector") or {}
    return [*plain, *(selector.get("matchExpressions") or ())]


def selects(requirement: Document, value: str) -> bool:
    """Whether a requirement selects an object by the value of its scope; "" means no value."""
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return bool(value) and value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return bool(value)
        case "DoesNotExist":
            return not value
        case _:
            return False
