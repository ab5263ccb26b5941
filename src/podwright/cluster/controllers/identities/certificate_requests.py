"""What the controllers of certificate requests have in common: their keys are those of requests.

Notes
-----
Upstream: pkg/controller/certificates/cleaner/cleaner.go;
pkg/controller/certificates/signer/signer.go; pkg/controller/certificates/approver/sarapprove.go;
pkg/apis/certificates/helpers.go, ValidateKubeletClientCSR.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    encode,
    timestamp_ns,
    timestamp_text,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import UnreadableRequest, certificate_subject, section
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import CSR
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import condition


class CertificateRequestController(Controller):
    """A controller whose keys are those of certificate requests."""

    kinds = (CSR,)

    def observe(self, _old: Version, new: Version) -> Keys:
        """Return a request that was added or changed."""
        return () if new is None else (new.key,)


def _decision(kind: str, reason: str, message: str, now_ns: int) -> Document:
    now = timestamp_text(now_ns)
    return condition(kind, "True", reason, message, now_ns, lastUpdateTime=now)


# Deletes certificate requests: an hour after their end, a day after one that did not come.
#
# Upstream looks every hour; here a request is deleted when its time is over. Certificates that
# expire earlier are not read.

_DECIDED_NS: Final = 3_600_000_000_000
_PENDING_NS: Final = 24 * _DECIDED_NS
_DECISIONS: Final = ("Denied", "Failed")


class CertificateCleanerController(CertificateRequestController):
    """Deletes old requests."""

    name = "certificatesigningrequest-cleaner-controller"

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Delete a request that is over, or wait for that."""
        request = self._lister.get(CSR, key)
        if request is None:
            return []
        due_ns = _due_ns(request)
        if due_ns is None:
            return []
        if due_ns > now_ns:
            return [self.sync_at(key, due_ns)]
        return [self.delete(request)]


def _due_ns(request: KubernetesObject) -> int | None:
    """Return when a request is over; None if its conditions do not say."""
    status = section(request, "status")
    conditions = status.get("conditions") or ()
    if not conditions:
        created_ns = timestamp_ns(request.metadata.creation_timestamp)
        return None if created_ns is None else created_ns + _PENDING_NS
    kept_ns = dict.fromkeys(_DECISIONS, _DECIDED_NS)
    kept_ns["Approved"] = _DECIDED_NS if status.get("certificate") else _PENDING_NS
    times = [
        time_ns + kept_ns[each["type"]]
        for each in conditions
        if each["type"] in kept_ns
        and (time_ns := timestamp_ns(each.get("lastUpdateTime"))) is not None
    ]
    return min(times, default=None)


# Signs the approved certificate requests of the signers of Kubernetes.

CLIENT: Final = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
SIGNERS: Final = (CLIENT, KUBELET_CLIENT, KUBELET_SERVING)

_REFUSED: Final = "SignerValidationFailure"
_LIFETIME_MAX_SECONDS: Final = 365 * 24 * 3600
_LIFETIME_MIN_SECONDS: Final = 600

SignRequest: TypeAlias = Callable[[str, str, Sequence[str], int], bytes]
"""Returns a certificate in PEM: of a request (PEM in base64), a signer, usages, and seconds.

It raises `RefusedRequestError` for a request that does not have what the signer demands.
"""


class RefusedRequestError(Exception):
    """A request that its signer refuses; the text says why."""


class CertificateSigningController(CertificateRequestController):
    """Signs requests.

    Parameters
    ----------
    lister : Lister
    sign : callable
        Makes the certificates.
    """

    name = "certificatesigningrequest-signing-controller"

    def __init__(self, lister: Lister, sign: SignRequest) -> None:
        super().__init__(lister)
        self._sign = sign

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Sign an approved request, or set its condition `Failed`."""
        request = self._lister.get(CSR, key)
        if request is None:
            return []
        document = encode(request)
        spec, status = document.get("spec") or {}, document.get("status") or {}
        states = {
            each["type"] for each in status.get("conditions") or () if each.get("status") == "True"
        }
        is_due = "Approved" in states and "Failed" not in states and not status.get("certificate")
        if not is_due or spec.get("signerName") not in SIGNERS:
            return []
        try:
            certificate = self._sign(
                spec.get("request") or "",
                spec["signerName"],
                spec.get("usages") or (),
                _lifetime_seconds(spec),
            )
        except RefusedRequestError as error:
            conditions = status.get("conditions") or []
            status = status | {
                "conditions": [*conditions, _decision("Failed", _REFUSED, str(error), now_ns)]
            }
        else:
            status = status | {"certificate": b64encode(certificate).decode()}
        return [self.update(decode(document | {"status": status}), "status")]


def _lifetime_seconds(spec: Document) -> int:
    requested: int = spec.get("expirationSeconds", _LIFETIME_MAX_SECONDS)
    return min(max(requested, _LIFETIME_MIN_SECONDS), _LIFETIME_MAX_SECONDS)


# Approves the requests of kubelets for client certificates.
#
# A request is approved if its subject and usages are those of a kubelet, and its user may create
# the subresource `nodeclient` of certificate requests, or `selfnodeclient` for its own name.
# Requests for serving certificates are not approved, as upstream.

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
        super().__init__(lister)
        self._may_create = may_create

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
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
                approved = _decision("Approved", "AutoApproved", message, now_ns)
                status = status | {"conditions": [*conditions, approved]}
                new = decode(document | {"status": status})
                return [self.update(new, "status")]
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
