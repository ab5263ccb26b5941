"""The approval that definitions in the groups of Kubernetes need.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apihelpers/helpers.go;
pkg/controller/apiapproval/apiapproval_controller.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.cel import AddressError, parse_url
from podwright.apimachinery.objects import Document

ANNOTATION: Final = "api-approved.kubernetes.io"
_DOMAINS: Final = ("k8s.io", "kubernetes.io")
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


def approval_of(definition: Document) -> tuple[str, str, str] | None:
    """Return status, reason and message of the condition about the approval of a definition.

    Returns
    -------
    tuple of str or None
        None for a group that needs no approval.
    """
    group = str((definition.get("spec") or {}).get("group") or "")
    if not any(group == domain or group.endswith(f".{domain}") for domain in _DOMAINS):
        return None
    value = str(((definition.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION, ""))
    needed = f'protected groups must have approval annotation "{ANNOTATION}"'
    if not value:
        return "False", "MissingAnnotation", f"{needed}, {_SEE}"
    if value.startswith("unapproved"):
        return "False", "UnapprovedAnnotation", f'not approved: "{value}"'
    if _is_url(value):
        return "True", "ApprovedAnnotation", f"approved in {value}"
    text = f'{needed} with either a URL or a reason starting with "unapproved", {_SEE}'
    return "False", "InvalidAnnotation", text


def _is_url(text: str) -> bool:
    try:
        found = parse_url(text)
    except AddressError:
        return False
    return bool(found.host and found.scheme)
