"""Whose certificate requests are, and who may change them.

Upstream: pkg/registry/certificates/{certificates,podcertificaterequest}/strategy.go
"""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.admission.identities import may_use_signer
from podwright.cluster.api.authorization import Authorizer
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource


def with_requestor(resource: Resource, document: Document, user: User) -> Document:
    """Return a new certificate request with the user of the request; others as they are."""
    if (resource.group, resource.name) != ("certificates.k8s.io", "CertificateSigningRequest"):
        return document
    spec: dict[str, Any] = dict(document.get("spec") or {})
    for name in ("username", "uid", "groups", "extra"):
        spec.pop(name, None)
    facts: dict[str, Any] = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {name: list(values) for name, values in user.extra.items()},
    }
    spec |= {name: fact for name, fact in facts.items() if fact}
    return document | {"spec": spec, "status": {}}


def signer_problems(
    authorizer: Authorizer, user: User, resource: Resource, new: Document, old: Document
) -> list[Problem]:
    """Return the error of a user who changes the status of a pod's request for another signer."""
    if (resource.group, resource.name) != ("certificates.k8s.io", "PodCertificateRequest"):
        return []
    signer = (old.get("spec") or {}).get("signerName") or ""
    is_changed = (new.get("status") or {}) != (old.get("status") or {})
    if not is_changed or may_use_signer(authorizer, user, "sign", signer):
        return []
    text = f'User "{user.name}" is not permitted to "sign" for signer "{signer}"'
    return [("spec.signerName", f"Forbidden: {text}", None)]
