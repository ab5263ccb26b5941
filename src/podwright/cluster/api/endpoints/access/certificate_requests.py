"""How certificate requests are prepared for a write: whose they are, and who sets what.

Upstream: pkg/registry/certificates/{certificates,podcertificaterequest}/strategy.go
"""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document, timestamp_text
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.admission.identities import may_use_signer
from podwright.cluster.api.authorization import Authorizer
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource

_APPROVALS = ("Approved", "Denied")


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


def kept_request(new: Document, old: Document, now_ns: int) -> Document:
    """Return a changed request, of which only the metadata changes."""
    del now_ns
    return new | _parts(old, "spec", "status")


def signed(new: Document, old: Document, now_ns: int) -> Document:
    """Return a request with the sent status; its approvals are the stored ones."""
    status: Document = dict(new.get("status") or {})
    conditions: list[Document] = list(status.get("conditions") or ())
    for kind in _APPROVALS:
        before = [each for each in _conditions(old) if each.get("type") == kind]
        places = [place for place, each in enumerate(conditions) if each.get("type") == kind]
        # A change of their number is an error that validation reports.
        if len(places) == len(before):
            for place, each in zip(places, before, strict=True):
                conditions[place] = each
    if conditions:
        status["conditions"] = _with_times(conditions, old, now_ns)
    return new | _parts(old, "spec") | {"status": status}


def approved(new: Document, old: Document, now_ns: int) -> Document:
    """Return a request of which only the conditions change."""
    conditions = _with_times(_conditions(new), old, now_ns)
    status = {
        name: part for name, part in (old.get("status") or {}).items() if name != "conditions"
    }
    if conditions:
        status["conditions"] = conditions
    return new | _parts(old, "spec") | {"status": status}


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


def _parts(document: Document, *names: str) -> Document:
    return {name: document.get(name) or {} for name in names}


def _conditions(request: Document) -> list[Document]:
    found: list[Document] = (request.get("status") or {}).get("conditions") or []
    return found


def _with_times(conditions: list[Document], old: Document, now_ns: int) -> list[Document]:
    """Return conditions with the times of their change."""
    now = timestamp_text(now_ns)
    known = {
        (each.get("type"), each.get("status")): each["lastTransitionTime"]
        for each in reversed(_conditions(old))
        if each.get("lastTransitionTime")
    }
    return [
        condition
        | {
            "lastUpdateTime": condition.get("lastUpdateTime") or now,
            "lastTransitionTime": condition.get("lastTransitionTime")
            or known.get((condition.get("type"), condition.get("status")), now),
        }
        for condition in conditions
    ]
