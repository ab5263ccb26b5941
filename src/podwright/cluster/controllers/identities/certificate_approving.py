"""Approves the requests of kubelets for client certificates.

A request is approved if its subject and usages are those of a kubelet, and its user may create the
subresource `nodeclient` of certificate requests, or `selfnodeclient` for its own name. Requests for
serving certificates are not approved, as upstream.

Upstream: pkg/controller/certificates/approver/sarapprove.go; pkg/apis/certificates/helpers.go,
ValidateKubeletClientCSR
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document, NamespacedName, encode, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api import UnreadableRequest, certificate_subject
from podwright.cluster.controllers.identities.certificate_requests import (
    CertificateRequestController,
)
from podwright.cluster.controllers.identities.certificate_signing import KUBELET_CLIENT
from podwright.cluster.controllers.interface import ControllerAction, UpdateObject
from podwright.cluster.controllers.kinds import CSR
from podwright.cluster.controllers.lister import Lister

MayCreate: TypeAlias = Callable[[Document, str], bool]
"""Whether the user of the spec of a request may create a subresource of requests."""

_NODES: Final = ("system:nodes",)
_NODE_PREFIX: Final = "system:node:"
_USAGES: Final = (
    {"digital signature", "client auth"},
    {"digital signature", "client auth", "key encipherment"},
)
_SELF: Final = "Auto approving self kubelet client certificate after SubjectAccessReview."
_OTHER: Final = "Auto approving kubelet client certificate after SubjectAccessReview."


class CertificateApprovingController(CertificateRequestController):
    """Approves requests.

    Parameters
    ----------
    lister : Lister
    may_create : callable
        Decides about the users of requests.
    """

    name = "certificatesigningrequest-approving-controller"

    def __init__(self, lister: Lister, may_create: MayCreate) -> None:
        self._lister = lister
        self._may_create = may_create

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Approve a request that is not decided yet, if its user may have it approved."""
        request = self._lister.get(CSR, key)
        if request is None:
            return []
        document = encode(request)
        spec, status = document.get("spec") or {}, document.get("status") or {}
        conditions = status.get("conditions") or []
        is_decided = any(each["type"] in {"Approved", "Denied"} for each in conditions)
        if is_decided or status.get("certificate"):
            return []
        for subresource, message in _recognized(spec):
            if self._may_create(spec, subresource):
                approved = status | {"conditions": [*conditions, _approved(message, now_ns)]}
                new = decode(document | {"status": approved})
                return [UpdateObject(new, "status", self.name)]
        return []


def _recognized(spec: Document) -> Iterator[tuple[str, str]]:
    """Yield the subresources that allow a request, each with the message of the approval."""
    if spec.get("signerName") != KUBELET_CLIENT or set(spec.get("usages") or ()) not in _USAGES:
        return
    try:
        subject = certificate_subject(spec.get("request") or "")
    except UnreadableRequest:
        return
    if (
        subject.organizations != _NODES
        or not subject.common_name.startswith(_NODE_PREFIX)
        or subject.has_alternative_names
    ):
        return
    if subject.common_name == spec.get("username"):
        yield "selfnodeclient", _SELF
    yield "nodeclient", _OTHER


def _approved(message: str, now_ns: int) -> Document:
    now = timestamp_text(now_ns)
    return {
        "type": "Approved",
        "status": "True",
        "reason": "AutoApproved",
        "message": message,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    }
