"""The certificates of a cluster: its authority, its server, and its administrator.

The authority is made once and kept in a folder, so that a kubeconfig with its certificate stays
valid. The other certificates are signed by it, and again when they are about to expire or when the
server has other names. The package `cryptography` (extra `tls`) makes all of them.

Upstream: cmd/kubeadm/app/util/pkiutil/pki_helpers.go, whose subjects and usages these have;
staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go;
pkg/apis/certificates/helpers.go; pkg/controller/certificates/authority/policies.go.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import ipaddress
import os
from base64 import b64decode
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import (
    CertificateIssuerPrivateKeyTypes,
    CertificatePublicKeyTypes,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from podwright._private_files import make_private_folder
from podwright.apimachinery.objects import PodwrightError
from podwright.cluster.api.endpoints import User
from podwright.cluster.controllers import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    RefusedRequestError,
)

SERVICE_NAMES: Final = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.0.0.1",
)
"""The names of the Service of the API, which are in the server's certificate."""

ADMIN: Final = ("admin", ("system:masters",))
"""The name and the groups of the administrator's certificate."""

_AUTHORITY_DAYS: Final = 3650
_LEAF_DAYS: Final = 365
_RENEWED_DAYS: Final = 30
_CLOCKS_APART: Final = dt.timedelta(minutes=5)


class CertificateError(PodwrightError):
    """Certificates that cannot be read, written or used; the text says why."""


class CertificateFiles(msgspec.Struct, frozen=True):
    """The files of a cluster's certificates, in PEM.

    Attributes
    ----------
    authority, authority_key : Path
        They sign the others; clients trust the authority.
    server, server_key : Path
    admin, admin_key : Path
        A client's, of the administrator.
    """

    authority: Path
    authority_key: Path
    server: Path
    server_key: Path
    admin: Path
    admin_key: Path


class Authority:
    """A certificate authority.

    Parameters
    ----------
    certificate : x509.Certificate
    key : private key
    """

    def __init__(
        self, certificate: x509.Certificate, key: CertificateIssuerPrivateKeyTypes
    ) -> None:
        self.certificate = certificate
        self._key = key

    @classmethod
    def new(cls) -> Authority:
        """Return an authority with a new key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "podwright")])
        builder = (
            _begun(subject, subject, key.public_key(), _after_days(_AUTHORITY_DAYS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True, key_encipherment=False), critical=True)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def read(cls, certificate: Path, key: Path) -> Authority:
        """Return the authority in two files.

        Raises
        ------
        CertificateError
        """
        return cls(*_read_pair(certificate, key))

    def write(self, certificate: Path, key: Path) -> None:
        """Write both files; the key is readable by its owner only."""
        _write(key, _key_pem(self._key))
        _write(certificate, _pem(self.certificate))

    def has_signed(self, certificate: x509.Certificate) -> bool:
        """Return whether a certificate is of this authority."""
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature):
            return False
        return True

    def sign_server(self, key: CertificatePublicKeyTypes, names: Iterable[str]) -> x509.Certificate:
        """Return a certificate of a server with names and addresses."""
        return self._signed(
            "kube-apiserver", (), key, [ExtendedKeyUsageOID.SERVER_AUTH], _LEAF_DAYS, names
        )

    def sign_client(
        self, key: CertificatePublicKeyTypes, user: str, groups: Iterable[str]
    ) -> x509.Certificate:
        """Return a certificate of a user, whose groups are organizations of the subject."""
        return self._signed(user, groups, key, [ExtendedKeyUsageOID.CLIENT_AUTH], _LEAF_DAYS)

    def sign_request(
        self,
        subject: x509.Name,
        key: CertificatePublicKeyTypes,
        names: Collection[x509.GeneralName],
        *,
        usages: Iterable[x509.ObjectIdentifier],
        has_encipherment: bool,
        lifetime: dt.timedelta,
    ) -> x509.Certificate:
        """Return a certificate with the subject and the names of a request."""
        end = min(_now() + lifetime, self.certificate.not_valid_after_utc)
        builder = (
            _begun(subject, self.certificate.subject, key, end)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(key_encipherment=has_encipherment), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(_issued_by(self.certificate), critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _signed(
        self,
        user: str,
        groups: Iterable[str],
        key: CertificatePublicKeyTypes,
        usages: Iterable[x509.ObjectIdentifier],
        days: int,
        names: Iterable[str] = (),
    ) -> x509.Certificate:
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self.sign_request(
            subject,
            key,
            [_general_name(name) for name in dict.fromkeys(names)],
            usages=usages,
            has_encipherment=True,
            lifetime=dt.timedelta(days=days),
        )


def kept_certificates(folder: Path, names: Collection[str]) -> CertificateFiles:
    """Return the certificates in a folder; those that are absent or expire soon are made.

    Parameters
    ----------
    folder : Path
        Made if it is absent, for its owner only.
    names : collection of str
        The names and addresses of the server.

    Raises
    ------
    CertificateError
        The folder cannot be used.
    """
    files = CertificateFiles(
        *(
            folder / name
            for part in ("ca", "server", "admin")
            for name in (f"{part}.crt", f"{part}.key")
        )
    )
    try:
        with _locked(folder):
            authority = _kept_authority(files)
            if not _is_usable(authority, files.server, files.server_key, names):
                key = ec.generate_private_key(ec.SECP256R1())
                _write(files.server_key, _key_pem(key))
                _write(files.server, _pem(authority.sign_server(key.public_key(), names)))
            if not _is_usable(authority, files.admin, files.admin_key, ()):
                key = ec.generate_private_key(ec.SECP256R1())
                _write(files.admin_key, _key_pem(key))
                _write(files.admin, _pem(authority.sign_client(key.public_key(), *ADMIN)))
    except OSError as error:
        where = error.filename or folder
        raise CertificateError(
            f"{where}: certificates cannot be kept here: {error.strerror or error}"
        ) from error
    return files


def names_of(certificate: Path) -> frozenset[str]:
    """Return the names and addresses in the certificate of a server.

    Raises
    ------
    CertificateError
        The file has no certificate.
    """
    return _names_in(_read_certificate(certificate))


def check_pair(certificate: Path, key: Path) -> None:
    """Check that a certificate is valid now, and that a key is that of the certificate.

    Raises
    ------
    CertificateError
    """
    found, _ = _read_pair(certificate, key)
    now = _now()
    if found.not_valid_after_utc <= now:
        raise CertificateError(
            f"{certificate}: the certificate expired at {found.not_valid_after_utc}"
        )
    if found.not_valid_before_utc > now + _CLOCKS_APART:
        raise CertificateError(
            f"{certificate}: the certificate is not valid before {found.not_valid_before_utc}"
        )


def _kept_authority(files: CertificateFiles) -> Authority:
    if files.authority.exists() or files.authority_key.exists():
        authority = Authority.read(files.authority, files.authority_key)
        if authority.certificate.not_valid_after_utc <= _now():
            raise CertificateError(
                f"{files.authority}: the authority has expired; remove its folder to make a new one"
            )
        return authority
    authority = Authority.new()
    authority.write(files.authority, files.authority_key)
    return authority


def _is_usable(authority: Authority, certificate: Path, key: Path, names: Iterable[str]) -> bool:
    """Return whether a kept certificate is of the authority, lasts, and has the names."""
    try:
        found, _ = _read_pair(certificate, key)
    except CertificateError:
        return False
    lasts = found.not_valid_after_utc > _now() + dt.timedelta(days=_RENEWED_DAYS)
    return lasts and authority.has_signed(found) and _names_in(found) >= set(names)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from making certificates in a folder."""
    make_private_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    mode = 0o600 if path.suffix == ".key" else 0o644
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    partial.replace(path)


def _read_pair(
    certificate: Path, key: Path
) -> tuple[x509.Certificate, CertificateIssuerPrivateKeyTypes]:
    found = _read_certificate(certificate)
    try:
        private = serialization.load_pem_private_key(_content(key), None)
    except TypeError as error:
        raise CertificateError(
            f"{key}: the key is encrypted; give a key without a password"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise CertificateError(f"{key}: not a private key in PEM") from error
    if private.public_key() != found.public_key():
        raise CertificateError(f"{key}: not the key of the certificate in {certificate}")
    if not isinstance(private, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise CertificateError(f"{key}: must be an RSA or elliptic curve key")
    return found, private


def _read_certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificates(_content(path))[0]
    except ValueError as error:
        raise CertificateError(f"{path}: not a certificate in PEM") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateError(f"{path}: cannot be read: {error.strerror or error}") from error


def _names_in(certificate: x509.Certificate) -> frozenset[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = found.get_values_for_type(x509.IPAddress)
    return frozenset([*found.get_values_for_type(x509.DNSName), *map(str, addresses)])


def _begun(
    subject: x509.Name, issuer: x509.Name, key: CertificatePublicKeyTypes, end: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_now() - _CLOCKS_APART)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _after_days(days: int) -> dt.datetime:
    return _now() + dt.timedelta(days=days)


def _usage(*, signs_certificates: bool = False, key_encipherment: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=key_encipherment,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _issued_by(certificate: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    identifier = certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: CertificateIssuerPrivateKeyTypes) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


# The users of client certificates.
#
# The subject of a certificate is the user: its common name, and its organizations as groups.

CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
_UID: Final = "1.3.6.1.4.1.57683.2"
"""The attribute of a subject that is the UID of the user."""


class Connection(Protocol):
    """The part of `ssl.SSLObject` that is used."""

    def getpeercert(self, binary_form: bool = False) -> Any:  # noqa: FBT001, FBT002 - as in ssl
        """Return the verified certificate of the client, decoded or as bytes."""


def certified_user(connection: Connection) -> User | None:
    """Return the user of the client certificate of a connection; None without one."""
    encoded = connection.getpeercert(binary_form=True)
    if not encoded:
        return None
    subject = connection.getpeercert().get("subject", ())
    names: dict[str, list[str]] = {}
    for part in subject:
        for name, value in part:
            names.setdefault(name, []).append(value)
    name = names.get("commonName", [""])[-1]
    if not name:
        return None
    fingerprint = hashlib.sha256(encoded).hexdigest()
    uids = names.get(_UID, [])
    return User(
        name,
        uid=uids[0] if len(uids) == 1 else "",
        groups=tuple(names.get("organizationName", ())),
        extra={CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)},
    )


# Certificates for certificate requests, from the authority of the cluster.
#
# The times in them are real: TLS compares them with the real clock, whatever the cluster's one is.

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
