"""Admin access to devices, which claims may request in namespaces with a label only.

Upstream: pkg/registry/resource/utils.go, AuthorizedForAdmin and AuthorizedForAdminStatus
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import NAMESPACE, ObjectStore

_LABEL: Final = "resource.kubernetes.io/admin-access"
_SPECS: Final = {"ResourceClaim": "spec", "ResourceClaimTemplate": "spec.spec"}


def admin_access_problems(
    store: ObjectStore, resource: Resource, new: Document, old: Document | None
) -> list[Problem]:
    """Return the error of a new claim or a changed status that requests admin access."""
    if resource.group != "resource.k8s.io" or resource.name not in _SPECS:
        return []
    path = _requested(resource, new) if old is None else _granted(new)
    if path is None or (old is not None and _granted(old) is not None):
        return []
    namespace = store.get(NAMESPACE, (new.get("metadata") or {}).get("namespace", ""))
    if namespace is not None and namespace.metadata.labels.get(_LABEL) == "true":
        return []
    text = f"admin access to devices requires the `{_LABEL}: true` label on the containing"
    return [(path, f"Forbidden: {text} namespace", None)]


def _requested(resource: Resource, claim: Document) -> str | None:
    spec: Document = claim
    for name in _SPECS[resource.name].split("."):
        spec = spec.get(name) or {}
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        access = request.get("exactly") or request
        if access.get("adminAccess"):
            # Upstream names the path of a claim's request in templates, too.
            return f"spec.devices.requests[{index}].adminAccess"
    return None


def _granted(claim: Document) -> str | None:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for index, result in enumerate((allocation.get("devices") or {}).get("results") or ()):
        if result.get("adminAccess"):
            return f"status.allocation.devices.results[{index}].adminAccess"
    return None
