"""Signs the approved certificate requests of the signers of Kubernetes.

Upstream: pkg/controller/certificates/signer/signer.go
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document, NamespacedName, encode, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.identities.certificate_requests import (
    CertificateRequestController,
)
from podwright.cluster.controllers.interface import ControllerAction, UpdateObject
from podwright.cluster.controllers.kinds import CSR
from podwright.cluster.controllers.lister import Lister

CLIENT: Final = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
SIGNERS: Final = (CLIENT, KUBELET_CLIENT, KUBELET_SERVING)

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
        self._lister = lister
        self._sign = sign

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
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
            status = status | {"conditions": [*conditions, _failed(str(error), now_ns)]}
        else:
            status = status | {"certificate": b64encode(certificate).decode()}
        return [UpdateObject(decode(document | {"status": status}), "status", self.name)]


def _lifetime_seconds(spec: Document) -> int:
    requested: int = spec.get("expirationSeconds", _LIFETIME_MAX_SECONDS)
    return min(max(requested, _LIFETIME_MIN_SECONDS), _LIFETIME_MAX_SECONDS)


def _failed(message: str, now_ns: int) -> Document:
    now = timestamp_text(now_ns)
    return {
        "type": "Failed",
        "status": "True",
        "reason": "SignerValidationFailure",
        "message": message,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    }
