"""Validation of trust bundles, and of the certificate requests of pods.

Signatures are not verified, and neither is the clock of the server compared with certificates.

Upstream: pkg/apis/certificates/validation/validation.go; pkg/apis/core/validation/names.go
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from podwright.apimachinery.objects import Document, timestamp_ns
from podwright.apimachinery.schema.der import (
    Certificate,
    PublicKey,
    parts,
    pem_blocks,
    read_certificate,
    read_public_key,
    request_key,
)
from podwright.apimachinery.schema.validation.certificates import validate_signer_name
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, same
from podwright.apimachinery.schema.validation.metadata import validate_annotations
from podwright.apimachinery.schema.validation.names import Details, dns_subdomain
from podwright.apimachinery.schema.validation.statuses import validate_conditions

_BUNDLE_MAX_BYTES: Final = 1024 * 1024
_REQUEST_MAX_BYTES: Final = 10 * 1024
_CHAIN_MAX_BYTES: Final = 100 * 1024
_UID_MAX_BYTES: Final = 128
_SHORTEST_SECONDS: Final = 3600
_LONGEST_SECONDS: Final = 91 * 24 * 3600
_LONGEST_OF_KUBERNETES_SECONDS: Final = 24 * 3600
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
        details = _bundle_name(f"{prefix[:-1]}a" if prefix.endswith("-") else prefix, signer)
        errors.each("metadata.generateName", prefix, details)
    if name := metadata.get("name"):
        errors.each("metadata.name", name, _bundle_name(name, signer))
    if signer:
        validate_signer_name(errors, signer)


def _bundle_name(name: str, signer: str) -> Details:
    """Return the errors of the name of a bundle, which starts with that of its signer."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return dns_subdomain(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return dns_subdomain(name.removeprefix(prefix))


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
    validate_signer_name(errors, signer)
    _validate_user_annotations(errors, spec.get("unverifiedUserAnnotations") or {})
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
    host = signer.partition("/")[0]
    is_kubernetes = host == "kubernetes.io" or host.endswith(".kubernetes.io")
    longest = _LONGEST_OF_KUBERNETES_SECONDS if is_kubernetes else _LONGEST_SECONDS
    if not _SHORTEST_SECONDS <= seconds <= longest:
        text = f"must be in the range [{_SHORTEST_SECONDS}, {longest}]"
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


def _validate_user_annotations(errors: FieldErrors, annotations: Mapping[str, str]) -> None:
    """Check annotations whose keys have the domain of a signer."""
    path, before = "spec.unverifiedUserAnnotations", len(errors)
    validate_annotations(errors, path, annotations)
    for key in sorted(annotations) if len(errors) == before else ():
        if "/" not in key:
            text = 'must be a domain-prefixed key (such as "acme.io/foo")'
            errors.invalid(path, key.lower(), text)


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
    if key is None:
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
    if not key.algorithm:
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
    if blocks[0].kind != "CERTIFICATE":
        text = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
        return text, None
    leaf = _certificate(blocks[0].data)
    if leaf is None:
        return "leaf certificate does not parse as valid X.509", None
    for block in blocks[1:]:
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
