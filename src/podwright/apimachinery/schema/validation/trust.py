"""Validation of trust bundles, and of the certificate requests of pods.

Signatures are not verified, and neither is the clock of the server compared with certificates.

Upstream: pkg/apis/certificates/validation/validation.go; pkg/apis/core/validation/names.go;
pkg/apis/certificates/validation/validation.go; pkg/apis/core/validation/validation.go,
ValidateSignerName.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from podwright.apimachinery.objects import Document, timestamp_ns
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.der import (
    Certificate,
    PublicKey,
    parts,
    pem_blocks,
    read_certificate,
    read_public_key,
    request_key,
)
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    difference,
    repeats,
    same,
)
from podwright.apimachinery.schema.validation.metadata import (
    masked,
    validate_metadata_update,
    validate_unchanged_metadata,
)
from podwright.apimachinery.schema.validation.names import dns_subdomain
from podwright.apimachinery.schema.validation.signers import (
    SHORTEST_SECONDS,
    bundle_name,
    longest_seconds,
    validate_signer_name,
    validate_user_annotations,
)
from podwright.apimachinery.schema.validation.statuses import validate_conditions

_BUNDLE_MAX_BYTES: Final = 1024 * 1024
_REQUEST_MAX_BYTES: Final = 10 * 1024
_ALGORITHMS: Final = ("Ed25519", "ECDSA", "RSA")
_CHAIN_MAX_BYTES: Final = 100 * 1024
_UID_MAX_BYTES: Final = 128
_FINAL: Final = ("Issued", "Denied", "Failed")
_CHAIN: Final = "status.certificateChain"
_REQUEST: Final = "spec.stubPKCS10Request"
_KEY: Final = "spec.pkixPublicKey"
_REFRESH_MARGIN: Final = timedelta(minutes=10)

# ---------------------------------------------------------------------------- trust bundles


def validate_bundle(errors: FieldErrors, bundle: Document) -> None:
    """Check a new ClusterTrustBundle."""
    _validate_bundle_names(errors, bundle)
    _validate_anchors(errors, (bundle.get("spec") or {}).get("trustBundle") or "")


def validate_bundle_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed ClusterTrustBundle, whose signer is immutable."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    _validate_bundle_names(errors, new)
    if spec.get("trustBundle") != before.get("trustBundle"):
        _validate_anchors(errors, spec.get("trustBundle") or "")


def _validate_bundle_names(errors: FieldErrors, bundle: Document) -> None:
    metadata, spec = bundle.get("metadata") or {}, bundle.get("spec") or {}
    signer = spec.get("signerName") or ""
    if prefix := metadata.get("generateName"):
        errors.each("metadata.generateName", prefix, bundle_name(prefix, signer, masked))
    if name := metadata.get("name"):
        errors.each("metadata.name", name, bundle_name(name, signer))
    if signer:
        validate_signer_name(errors, "spec.signerName", signer)


def _validate_anchors(errors: FieldErrors, text: str) -> None:
    path, shown = "spec.trustBundle", "<value omitted>"
    if len(text.encode()) > _BUNDLE_MAX_BYTES:
        errors.too_long(path, _BUNDLE_MAX_BYTES)
        return
    before = len(errors)
    places: dict[bytes, list[int]] = {}
    for index, block in enumerate(pem_blocks(text)):
        if block.kind != "CERTIFICATE":
            errors.invalid(path, shown, f"entry {index} has bad block type: {block.kind}")
        elif block.has_headers:
            errors.invalid(path, shown, f"entry {index} has PEM block headers")
        elif (found := _certificate(block.data)) is None:
            errors.invalid(path, shown, f"entry {index} does not parse as X.509")
        elif not found.is_authority:
            errors.invalid(path, shown, f"entry {index} does not have the CA bit set")
        else:
            places.setdefault(block.data, []).append(index)
    if len(errors) > before:
        return
    if not places:
        errors.invalid(path, shown, "at least one trust anchor must be provided")
    for indices in places.values():
        if len(indices) > 1:
            listed = " ".join(map(str, indices))
            errors.invalid(path, shown, f"duplicate trust anchor (indices [{listed}])")


def _certificate(data: bytes) -> Certificate | None:
    try:
        return read_certificate(data)
    except (ValueError, IndexError):
        return None


# ----------------------------------------------------------------- certificate requests of pods


def validate_pod_request(errors: FieldErrors, request: Document) -> None:
    """Check a new PodCertificateRequest."""
    spec: Document = request.get("spec") or {}
    signer = spec.get("signerName") or ""
    validate_signer_name(errors, "spec.signerName", signer)
    notes = spec.get("unverifiedUserAnnotations") or {}
    validate_user_annotations(errors, "spec.unverifiedUserAnnotations", notes)
    for name in ("pod", "serviceAccount", "node"):
        value, uid = spec.get(f"{name}Name") or "", spec.get(f"{name}UID") or ""
        errors.each(f"spec.{name}Name", value, dns_subdomain(value))
        if not uid:
            errors.invalid(f"spec.{name}UID", uid, "must not be empty")
        if len(uid.encode()) > _UID_MAX_BYTES:
            errors.too_long(f"spec.{name}UID", _UID_MAX_BYTES)
    seconds = spec.get("maxExpirationSeconds")
    if seconds is None:
        errors.required("spec.maxExpirationSeconds", "must be set")
        return
    longest = longest_seconds(signer)
    if not SHORTEST_SECONDS <= seconds <= longest:
        text = f"must be in the range [{SHORTEST_SECONDS}, {longest}]"
        errors.invalid("spec.maxExpirationSeconds", seconds, text)
    stub, key, proof = (
        spec.get(name) for name in ("stubPKCS10Request", "pkixPublicKey", "proofOfPossession")
    )
    if stub and not key and not proof:
        _validate_stub(errors, b64decode(stub))
    elif not stub and key and proof:
        _validate_key(errors, key, b64decode(proof))
    else:
        text = (
            "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
        )
        errors.invalid_object("spec", text)


def _validate_stub(errors: FieldErrors, data: bytes) -> None:
    if len(data) > _REQUEST_MAX_BYTES:
        errors.too_long(_REQUEST, _REQUEST_MAX_BYTES)
        return
    key = _key(lambda: request_key(data))
    if key is None:
        errors.invalid_object(_REQUEST, "must be a valid PKCS#10 CSR")
        return

    def unknown(text: str) -> None:
        errors.invalid_object(_REQUEST, text)

    _validate_algorithm(errors, _REQUEST, key, "P256, P384, or P521", unknown)


def _validate_key(errors: FieldErrors, written: str, proof: bytes) -> None:
    data = b64decode(written)
    if len(data) > _REQUEST_MAX_BYTES:
        errors.too_long(_KEY, _REQUEST_MAX_BYTES)
        return
    if len(proof) > _REQUEST_MAX_BYTES:
        errors.too_long("spec.proofOfPossession", _REQUEST_MAX_BYTES)
        return
    key = _key(lambda: _info(data))
    if key is None or not key.algorithm:
        errors.invalid(_KEY, written, "must be a valid PKIX-serialized public key")
        return
    _validate_algorithm(
        errors, _KEY, key, "P256 or P384", lambda text: errors.invalid(_KEY, written, text)
    )


def _info(data: bytes) -> bytes:
    """Return the content of a SubjectPublicKeyInfo, which is the whole data."""
    parts(data)
    length = data[1]
    return data[2 + (length & 0x7F if length & 0x80 else 0) :]


def _key(read: Callable[[], bytes]) -> PublicKey | None:
    try:
        return read_public_key(read())
    except (ValueError, IndexError):
        return None


def _validate_algorithm(
    errors: FieldErrors, path: str, key: PublicKey, curves: str, unknown: Callable[[str], None]
) -> None:
    if key.algorithm not in _ALGORITHMS:
        unknown("unknown public key type; supported types are Ed25519, ECDSA, and RSA")
    elif key.curve == "P-224":
        text = f"elliptic public keys must use curve {curves}"
        errors.invalid(path, f"curve {key.curve}", text)
    elif key.algorithm == "RSA" and key.modulus_bits not in (3072, 4096):
        text = "RSA keys must have modulus size 3072 or 4096"
        errors.invalid(path, f"{key.modulus_bits}-bit modulus", text)


def validate_pod_request_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed status: it changes once, when the request is issued, denied or failed."""
    if len(errors):
        return
    status, before = new.get("status") or {}, old.get("status") or {}
    _validate_final_conditions(errors, status.get("conditions") or [])
    if len(errors):
        return
    if _final_state(before):
        text = "immutable after PodCertificateRequest is issued, denied, or failed"
    elif (state := _final_state(status)) == "Issued":
        _validate_issued(errors, status, old.get("spec") or {})
        return
    elif state:
        before = {"conditions": status.get("conditions")}
        text = (
            "non-condition status fields must be empty when denying or failing the"
            " PodCertificateRequest"
        )
    else:
        text = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
    if not same(status, before):
        errors.invalid_object("status", text)


def _final_state(status: Document) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") in _FINAL and condition.get("status") == "True":
            return str(condition["type"])
    return ""


def _validate_final_conditions(errors: FieldErrors, conditions: list[Document]) -> None:
    count = 0
    for index, condition in enumerate(conditions):
        at, kind = f"status.conditions.[{index}]", condition.get("type") or ""
        if kind not in _FINAL:
            errors.unsupported(f"{at}.type", kind, _FINAL)
            continue
        count += 1
        if count > 1:
            text = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'
            errors.invalid(f"{at}.type", kind, text)
        if (status := condition.get("status") or "") != "True":
            errors.unsupported(f"{at}.status", status, ("True",))
    validate_conditions(errors, "status.conditions", conditions)


def _validate_issued(errors: FieldErrors, status: Document, spec: Document) -> None:
    """Check the certificates of an issued request, and its times, up to the first error."""
    chain = status.get("certificateChain") or ""
    if len(chain.encode()) > _CHAIN_MAX_BYTES:
        errors.too_long(_CHAIN, _CHAIN_MAX_BYTES)
        return
    problem, leaf = _chain_problem(chain)
    if leaf is None:
        errors.invalid(_CHAIN, chain, problem)
        return
    stub = b64decode(spec.get("stubPKCS10Request") or "")
    requested = request_key(stub) if stub else _info(b64decode(spec.get("pkixPublicKey") or ""))
    if leaf.public_key != requested:
        text = "leaf certificate was not issued to the requested public key"
        errors.invalid(_CHAIN, chain, text)
        return
    _validate_times(errors, status, leaf, int(spec.get("maxExpirationSeconds") or 0))
    if problem and not len(errors):
        errors.invalid(_CHAIN, chain, problem)


def _chain_problem(chain: str) -> tuple[str, Certificate | None]:
    """Return what is wrong with a chain, and its leaf if it can be read."""
    blocks = list(pem_blocks(chain))
    if not blocks:
        return "issued certificate chain must contain at least one certificate", None
    first, *others = blocks
    if first.kind != "CERTIFICATE":
        text = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
        return text, None
    leaf = _certificate(first.data)
    if leaf is None:
        return "leaf certificate does not parse as valid X.509", None
    for block in others:
        if block.kind != "CERTIFICATE":
            # Upstream spells it so.
            text = "issued certificate chain must consist entirely of CERTFICATE PEM blocks"
            return text, leaf
        if _certificate(block.data) is None:
            return "intermediate certificate does not parse as valid X.509", leaf
    return "", leaf


def _validate_times(
    errors: FieldErrors, status: Document, leaf: Certificate, longest_seconds: int
) -> None:
    consistent = "must be present and consistent with the issued certificate"
    refresh = "must be present and in the range [notbefore+10min, notafter-10min]"
    details = {"notBefore": consistent, "notAfter": consistent, "beginRefreshAt": refresh}
    absent = [name for name in details if not status.get(name)]
    for name in absent:
        errors.required(f"status.{name}", details[name])
    if absent:
        return
    begin, end, again = (status[name] for name in details)
    lifetime = leaf.not_after - leaf.not_before
    for path, value, is_wrong, text in (
        ("status.notBefore", begin, _ns(begin) != _ns_of(leaf.not_before),
         "must be set to the NotBefore time encoded in the leaf certificate"),
        ("status.notAfter", end, _ns(end) != _ns_of(leaf.not_after),
         "must be set to the NotAfter time encoded in the leaf certificate"),
        (_CHAIN, _nanoseconds(lifetime), lifetime < timedelta(hours=1),
         "leaf certificate lifetime must be >= 1 hour"),
        (_CHAIN, _nanoseconds(lifetime), lifetime > timedelta(seconds=longest_seconds),
         f"leaf certificate lifetime must be <= spec.maxExpirationSeconds ({longest_seconds})"),
        ("status.beginRefreshAt", again, _ns(again) < _ns_of(leaf.not_before + _REFRESH_MARGIN),
         "must be at least 10 minutes after status.notBefore"),
        ("status.beginRefreshAt", again, _ns(again) > _ns_of(leaf.not_after - _REFRESH_MARGIN),
         "must be at least 10 minutes before status.notAfter"),
    ):  # fmt: skip
        if is_wrong:
            errors.invalid(path, value, text)
            return


def _ns(text: Any) -> int:
    return timestamp_ns(text) or 0


def _ns_of(time: datetime) -> int:
    return int(time.timestamp()) * 1_000_000_000


def _nanoseconds(duration: timedelta) -> int:
    return int(duration.total_seconds()) * 1_000_000_000


# Validation of certificate requests. The request itself is checked only for its PEM block.

_USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign",
    "data encipherment", "decipher only", "digital signature", "email protection", "encipher only",
    "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment",
    "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing",
    "timestamping",
)  # fmt: skip
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_SHORTEST_SECONDS_CERTIFICATES: Final = 600
_APPROVALS: Final = ("Approved", "Denied")
_FINAL_CERTIFICATES: Final = (*_APPROVALS, "Failed")
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
    errors, metadata = FieldErrors(), new.get("metadata") or {}
    validate_unchanged_metadata(errors, metadata, "subdomain", qualifies_finalizers=True)
    _validate_update(errors, new, old, sets_approval=True)
    validate_metadata_update(errors, metadata, old.get("metadata") or {})
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
        validate_signer_name(errors, "spec.signerName", signer)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST_SECONDS_CERTIFICATES:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.invalid("spec.expirationSeconds", seconds, text)
    _validate_conditions(errors, request)
    certificate = _certificate_certificates(request)
    is_new = bool(certificate) and (old is None or certificate != _certificate_certificates(old))
    if is_new and not _has_block(certificate, b"CERTIFICATE"):
        text = "must contain at least one CERTIFICATE PEM block"
        errors.invalid("status.certificate", "<certificate data>", text)


def _has_block(encoded: str | None, name: bytes) -> bool:
    """Whether base64 text has a PEM block of a type."""
    try:
        return b"-----BEGIN " + name + b"-----" in b64decode(encoded or "")
    except ValueError:
        return False


def _validate_conditions(errors: FieldErrors, request: Document) -> None:
    seen: set[str] = set()
    for index, condition in enumerate(_conditions(request)):
        path, kind = f"{_CONDITIONS}[{index}]", condition.get("type") or ""
        status = condition.get("status") or ""
        if not kind:
            errors.required(f"{path}.type")
        allowed = ("True",) if kind in _FINAL_CERTIFICATES else ("False", "True", "Unknown")
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
    for kind in _FINAL_CERTIFICATES:
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
    certificate, stored = _certificate_certificates(new), _certificate_certificates(old)
    if certificate != stored:
        if not sets_certificate:
            errors.forbidden("status.certificate", "updates may not set certificate content")
        elif stored:
            text = "updates may not modify existing certificate content"
            errors.forbidden("status.certificate", text)


def _conditions(request: Document, kind: str | None = None) -> list[Document]:
    found: list[Document] = (request.get("status") or {}).get("conditions") or []
    return found if kind is None else [each for each in found if each.get("type") == kind]


def _certificate_certificates(request: Document) -> str:
    return str((request.get("status") or {}).get("certificate") or "")
