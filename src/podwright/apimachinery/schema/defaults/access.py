"""Defaults of bindings and requests for tokens.

Upstream: pkg/apis/rbac/v1/defaults.go; pkg/apis/authentication/v1/defaults.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.defaults.filling import (
    with_absent,
    with_empty,
    with_items,
    with_part,
    with_spec,
)

_GROUP: Final = "rbac.authorization.k8s.io"
_TOKEN_S: Final = 60 * 60


def set_binding_defaults(binding: Document) -> Document:
    """Set the defaults of a RoleBinding or ClusterRoleBinding."""
    binding = with_part(binding, "roleRef", lambda role: with_empty(role, {"apiGroup": _GROUP}))
    return with_items(binding, "subjects", _subject)


def _subject(subject: Document) -> Document:
    if subject.get("kind") in ("User", "Group"):
        return with_empty(subject, {"apiGroup": _GROUP})
    return subject


def set_token_request_defaults(request: Document) -> Document:
    """Set the defaults of a TokenRequest: the token is valid for an hour."""
    return with_spec(request, lambda spec: with_absent(spec, {"expirationSeconds": _TOKEN_S}))
