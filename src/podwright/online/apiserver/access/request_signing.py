"""Certificates for certificate requests, from the authority of the cluster.

The times in them are real: TLS compares them with the real clock, whatever the cluster's one is.

Upstream: pkg/apis/certificates/helpers.go; pkg/controller/certificates/authority/policies.go
"""

from __future__ import annotations

import datetime as dt
from base64 import b64decode
from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from podwright.cluster.controllers import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    RefusedRequestError,
)
from podwright.online.apiserver.access.certificates import Authority

_CLIENT_AUTH, _SERVER_AUTH = "client auth", "server auth"
_SIGNATURE, _ENCIPHERMENT = "digital signature", "key encipherment"
_EXTENDED: Final[dict[str, ObjectIdentifier]] = {
    _CLIENT_AUTH: ExtendedKeyUsageOID.CLIENT_AUTH,
    _SERVER_AUTH: ExtendedKeyUsageOID.SERVER_AUTH,
}
_NODES: Final = "system:nodes"
_NODE_PREFIX: Final = "system:node:"
_REQUIRED: Final = {KUBELET_CLIENT: _CLIENT_AUTH, KUBELET_SERVING: _SERVER_AUTH}
_KIND_OF_NAMES: Final[tuple[tuple[type[x509.GeneralName], str], ...]] = (
    (x509.DNSName, "DNS"),
    (x509.RFC822Name, "Email"),
    (x509.IPAddress, "IP"),
    (x509.UniformResourceIdentifier, "URI"),
)


class RequestSigner:
    """Signs requests; see `podwright.cluster.controllers.SignRequest`.

    Parameters
    ----------
    authority : Authority
    """

    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    def __call__(self, request: str, signer: str, usages: Sequence[str], seconds: int) -> bytes:
        """Return a certificate in PEM.

        Raises
        ------
        RefusedRequestError
            The request does not have what the signer demands.
        """
        try:
            parsed = x509.load_pem_x509_csr(b64decode(request))
        except ValueError as error:
            raise RefusedRequestError(f"unable to parse csr: {error}") from None
        if not parsed.is_signature_valid:
            raise RefusedRequestError("unable to parse csr: the signature is not valid")
        names = _names_of(parsed)
        if signer == CLIENT:
            _check_client(usages)
        else:
            _check_kubelet(parsed, names, signer, usages)
        certificate = self._authority.sign_request(
            parsed.subject,
            parsed.public_key(),
            names,
            usages=[_EXTENDED[each] for each in usages if each in _EXTENDED],
            has_encipherment=_ENCIPHERMENT in usages,
            lifetime=dt.timedelta(seconds=seconds),
        )
        return certificate.public_bytes(serialization.Encoding.PEM)


def _names_of(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    try:
        found = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return list(found.value)


def _check_client(usages: Sequence[str]) -> None:
    for each in usages:
        if each not in (_SIGNATURE, _ENCIPHERMENT, _CLIENT_AUTH):
            raise RefusedRequestError(f"invalid usage for client certificate: {each}")
    if _CLIENT_AUTH not in usages:
        raise RefusedRequestError(f"missing required usage for client certificate: {_CLIENT_AUTH}")


def _check_kubelet(
    request: x509.CertificateSigningRequest,
    names: Sequence[x509.GeneralName],
    signer: str,
    usages: Sequence[str],
) -> None:
    def values(kind: ObjectIdentifier) -> list[str | bytes]:
        return [each.value for each in request.subject.get_attributes_for_oid(kind)]

    if values(NameOID.ORGANIZATION_NAME) != [_NODES]:
        raise RefusedRequestError(f"subject organization is not {_NODES}")
    allowed = (x509.DNSName, x509.IPAddress) if signer == KUBELET_SERVING else ()
    if allowed and not any(isinstance(name, allowed) for name in names):
        raise RefusedRequestError("DNS or IP subjectAltName is required")
    for kind, text in _KIND_OF_NAMES:
        if kind not in allowed and any(isinstance(name, kind) for name in names):
            raise RefusedRequestError(f"{text} subjectAltNames are not allowed")
    common = values(NameOID.COMMON_NAME)
    if not common or not str(common[-1]).startswith(_NODE_PREFIX):
        raise RefusedRequestError(f"subject common name does not begin with {_NODE_PREFIX}")
    required = sorted((_REQUIRED[signer], _SIGNATURE, _ENCIPHERMENT))
    if sorted(usages) not in (required, sorted((_REQUIRED[signer], _SIGNATURE))):
        raise RefusedRequestError(f"usages did not match [{' '.join(required)}]")
