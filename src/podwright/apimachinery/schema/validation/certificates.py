"""Validation of certificate requests. The request itself is checked only for its PEM block.

Upstream: pkg/apis/certificates/validation/validation.go; pkg/apis/core/validation/validation.go,
ValidateSignerName
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats
from podwright.apimachinery.schema.validation.internal_structs import difference
from podwright.apimachinery.schema.validation.metadata import validate_metadata_update
from podwright.apimachinery.schema.validation.names import dns_label, dns_subdomain

_USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign",
    "data encipherment", "decipher only", "digital signature", "email protection", "encipher only",
    "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment",
    "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing",
    "timestamping",
)  # fmt: skip
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_SHORTEST_SECONDS: Final = 600
_DOMAIN_MAX: Final = 253
_LABELS_MIN: Final = 2
_APPROVALS: Final = ("Approved", "Denied")
_FINAL: Final = (*_APPROVALS, "Failed")
_CONDITIONS: Final = "status.conditions"


def validate_request(errors: FieldErrors, request: Document) -> None:
    """Check a new request."""
    _validate(errors, request, None)


def validate_request_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed request, whose status is kept."""
    _validate_update(errors, new, old)


def validate_request_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed status, which may have the certificate."""
    _validate_update(errors, new, old, sets_certificate=True)


def approval_problems(new: Document, old: Document) -> list[Problem]:
    """Return what is wrong with an approval or a denial, metadata included."""
    errors = FieldErrors()
    _validate_update(errors, new, old, sets_approval=True)
    validate_metadata_update(errors, new.get("metadata") or {}, old.get("metadata") or {})
    return errors.problems


def _validate(errors: FieldErrors, request: Document, old: Document | None) -> None:
    spec: Document = request.get("spec") or {}
    body = spec.get("request")
    if not _has_block(body, b"CERTIFICATE REQUEST"):
        errors.invalid("spec.request", body, "PEM block type must be CERTIFICATE REQUEST")
    usages = spec.get("usages") or []
    if not usages:
        errors.required("spec.usages")
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            errors.unsupported(f"spec.usages[{index}]", usage, _USAGES)
    for index, is_repeated in enumerate(repeats(usages)):
        if is_repeated:
            errors.duplicate(f"spec.usages[{index}]", usages[index])
    signer = spec.get("signerName") or ""
    if signer == _LEGACY_SIGNER:
        text = "the legacy signerName is not allowed via this API version"
        errors.invalid("spec.signerName", signer, text)
    else:
        validate_signer_name(errors, signer)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST_SECONDS:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.invalid("spec.expirationSeconds", seconds, text)
    _validate_conditions(errors, request)
    certificate = _certificate(request)
    is_new = bool(certificate) and (old is None or certificate != _certificate(old))
    if is_new and not _has_block(certificate, b"CERTIFICATE"):
        text = "must contain at least one CERTIFICATE PEM block"
        errors.invalid("status.certificate", "<certificate data>", text)


def _has_block(encoded: str | None, name: bytes) -> bool:
    """Whether base64 text has a PEM block of a type."""
    try:
        return b"-----BEGIN " + name + b"-----" in b64decode(encoded or "")
    except ValueError:
        return False


def validate_signer_name(errors: FieldErrors, signer: str) -> None:
    """Check the name of a signer, such as `example.com/signer`."""
    path = "spec.signerName"
    if not signer:
        errors.required(path)
        return
    segments = signer.split("/")
    if len(segments) != 2:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        errors.invalid(path, signer, text)
        return
    domain, name = segments
    if len(domain) > _DOMAIN_MAX:
        errors.too_long(path, _DOMAIN_MAX)
    labels = domain.split(".")
    _validate_labels(errors, domain, labels, dns_label)
    if len(labels) < _LABELS_MIN:
        text = "should be a domain with at least two segments separated by dots"
        errors.invalid(path, domain, text)
    _validate_labels(errors, name, name.split("."), dns_subdomain)


def _validate_labels(
    errors: FieldErrors, text: str, labels: list[str], rule: Callable[[str], Iterable[str]]
) -> None:
    """Check the parts of a signer's name up to the first that is wrong."""
    for label in labels:
        details = list(rule(label))
        if details:
            shown = (f'validating label "{label}": {detail}' for detail in details)
            errors.each("spec.signerName", text, shown)
            return


def _validate_conditions(errors: FieldErrors, request: Document) -> None:
    seen: set[str] = set()
    for index, condition in enumerate(_conditions(request)):
        path, kind = f"{_CONDITIONS}[{index}]", condition.get("type") or ""
        status = condition.get("status") or ""
        if not kind:
            errors.required(f"{path}.type")
        allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        if not status:
            errors.required(f"{path}.status")
        elif status not in allowed:
            errors.unsupported(f"{path}.status", status, allowed)
        other = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if other in seen:
            text = "Approved and Denied conditions are mutually exclusive"
            errors.invalid(_CONDITIONS, kind, text)
        if kind in seen:
            errors.duplicate(f"{path}.type", kind)
        seen.add(kind)


def _validate_update(
    errors: FieldErrors,
    new: Document,
    old: Document,
    *,
    sets_approval: bool = False,
    sets_certificate: bool = False,
) -> None:
    _validate(errors, new, old)
    for kind in _FINAL:
        if len(_conditions(new, kind)) < len(_conditions(old, kind)):
            text = f'updates may not remove a condition of type "{kind}"'
            errors.forbidden(_CONDITIONS, text)
    for kind in () if sets_approval else _APPROVALS:
        now, before = _conditions(new, kind), _conditions(old, kind)
        if len(now) > len(before):
            errors.forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"')
        elif len(now) == len(before) and now != before:
            text = f'updates may not modify a condition of type "{kind}"'
            found = difference(before, now, "[CertificateSigningRequestCondition]")
            errors.forbidden(_CONDITIONS, f"{text}\n{found}")
    certificate, stored = _certificate(new), _certificate(old)
    if certificate != stored:
        if not sets_certificate:
            errors.forbidden("status.certificate", "updates may not set certificate content")
        elif stored:
            text = "updates may not modify existing certificate content"
            errors.forbidden("status.certificate", text)


def _conditions(request: Document, kind: str | None = None) -> list[Document]:
    found: list[Document] = (request.get("status") or {}).get("conditions") or []
    return found if kind is None else [each for each in found if each.get("type") == kind]


def _certificate(request: Document) -> str:
    return str((request.get("status") or {}).get("certificate") or "")
