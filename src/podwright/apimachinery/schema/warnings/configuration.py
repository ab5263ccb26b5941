"""Warnings about service accounts, secrets, slices of devices and admission.

Upstream: pkg/registry/core/{serviceaccount,secret}/strategy.go;
pkg/registry/resource/resourceslice/strategy.go;
pkg/apis/admissionregistration/validation/static_suffix.go
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import printed

_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_STATIC: Final = ".static.k8s.io"
_PEM: Final = re.compile(rb"-----BEGIN ([^\n-]+)-----\r?\n.*?-----END \1-----", re.DOTALL)


def service_account_warnings(account: Document, old: Document | None) -> list[str]:
    """Return the warnings about an annotation that a write adds."""
    if _has_annotation(old, _MOUNTABLE) or not _has_annotation(account, _MOUNTABLE):
        return []
    return [
        f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to"
        " isolate access to mounted secrets"
    ]


def _has_annotation(document: Document | None, key: str) -> bool:
    return key in (((document or {}).get("metadata") or {}).get("annotations") or {})


def secret_warnings(secret: Document, old: Document | None) -> list[str]:
    """Return the warning about a certificate or a key without PEM.

    Notes
    -----
    Upstream also parses both, and warns if they do not belong together.
    Upstream: Go crypto/tls/tls.go, X509KeyPair
    """
    del old
    if secret.get("type") != "kubernetes.io/tls":
        return []
    data: Document = secret.get("data") or {}
    problem = _certificate(_types(data.get("tls.crt"))) or _key(_types(data.get("tls.key")))
    return [problem] if problem else []


def _types(encoded: object) -> list[str]:
    """Return the types of the PEM blocks in base64 text."""
    try:
        text = b64decode(encoded or "") if isinstance(encoded, str) else b""
    except (binascii.Error, ValueError):
        return []
    return [each.decode(errors="replace") for each in _PEM.findall(text)]


def _certificate(types: list[str]) -> str:
    """Return what is wrong with the blocks of a certificate, as crypto/tls does."""
    if "CERTIFICATE" in types:
        return ""
    if not types:
        return "tls: failed to find any PEM data in certificate input"
    if len(types) == 1 and types[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private"
            " key; PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM'
        f" blocks of the following types: [{' '.join(types)}]"
    )


def _key(types: list[str]) -> str:
    """Return what is wrong with the blocks of a key, as crypto/tls does."""
    if any(each == "PRIVATE KEY" or each.endswith(" PRIVATE KEY") for each in types):
        return ""
    if not types:
        return "tls: failed to find any PEM data in key input"
    if types == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after'
        f" skipping PEM blocks of the following types: [{' '.join(types)}]"
    )


def slice_warnings(resource_slice: Document, old: Document | None) -> list[str]:
    """Return the warnings about the driver of a ResourceSlice."""
    del old
    driver = (resource_slice.get("spec") or {}).get("driver") or ""
    if driver == driver.lower():
        return []
    text = f"driver names should be lowercase; {printed(driver)} contains uppercase characters"
    return [f"spec.driver: {text}"]


def admission_warnings(configuration: Document, old: Document | None) -> list[str]:
    """Return the warnings about the name of a new policy, binding or webhook configuration."""
    name = (configuration.get("metadata") or {}).get("name") or ""
    if old is not None or not name.endswith(_STATIC):
        return []
    return [
        f"metadata.name: names ending with {printed(_STATIC)} are reserved for static"
        " manifest-based configurations and cannot be managed via the API"
    ]
