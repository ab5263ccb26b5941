"""The certificates of a cluster: made once, kept, renewed, and refused if they are wrong."""

import contextlib
import datetime as dt
import fcntl
import stat

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID

from podwright.online.apiserver.access import certificates
from podwright.online.apiserver.access.certificates import (
    Authority,
    CertificateError,
    check_pair,
    kept_certificates,
    names_of,
)

NAMES = ("localhost", "127.0.0.1", "::1")


def read(path):
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_keys_are_readable_by_their_owner_only(tmp_path):
    files = kept_certificates(tmp_path / "state" / "certificates", NAMES)
    for key in (files.authority_key, files.server_key, files.admin_key):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.server.parent.stat().st_mode) == 0o700


def test_the_authority_has_signed_the_others(tmp_path):
    files = kept_certificates(tmp_path, NAMES)
    authority = Authority.read(files.authority, files.authority_key)
    assert authority.has_signed(read(files.server))
    assert authority.has_signed(read(files.admin))
    assert not Authority.new().has_signed(read(files.server))
    assert names_of(files.server) == set(NAMES)
    subject = read(files.admin).subject
    assert subject.rfc4514_string() == "CN=admin,O=system:masters"


def test_certificates_are_kept(tmp_path):
    first = kept_certificates(tmp_path, NAMES)
    content = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept_certificates(tmp_path, NAMES[:1]) == first
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == content


def test_another_name_makes_another_server_certificate_of_the_same_authority(tmp_path):
    files = kept_certificates(tmp_path, NAMES)
    authority, server = files.authority.read_bytes(), files.server.read_bytes()
    kept_certificates(tmp_path, (*NAMES, "cluster.example", "192.0.2.1"))
    assert files.authority.read_bytes() == authority
    assert files.server.read_bytes() != server
    assert names_of(files.server) == {*NAMES, "cluster.example", "192.0.2.1"}


def test_certificates_that_expire_soon_are_renewed(tmp_path, monkeypatch):
    files = kept_certificates(tmp_path, NAMES)
    authority, admin = files.authority.read_bytes(), files.admin.read_bytes()
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=340)
    monkeypatch.setattr(certificates, "_now", lambda: later)
    kept_certificates(tmp_path, NAMES)
    assert files.authority.read_bytes() == authority
    assert files.admin.read_bytes() != admin
    assert read(files.server).not_valid_after_utc > later + dt.timedelta(days=300)


def test_an_expired_authority_is_an_error(tmp_path, monkeypatch):
    kept_certificates(tmp_path, NAMES)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=3700)
    monkeypatch.setattr(certificates, "_now", lambda: later)
    with pytest.raises(CertificateError, match=r"ca\.crt: the authority has expired; remove"):
        kept_certificates(tmp_path, NAMES)


def test_a_changed_authority_signs_the_others_again(tmp_path):
    files = kept_certificates(tmp_path, NAMES)
    other = Authority.new()
    other.write(files.authority, files.authority_key)
    kept_certificates(tmp_path, NAMES)
    assert other.has_signed(read(files.server))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("ca.crt", b"", r"ca\.crt: not a certificate in PEM", id="no authority"),
        pytest.param("ca.key", b"x", r"ca\.key: not a private key in PEM", id="no key"),
    ],
)
def test_a_damaged_authority_is_not_replaced(tmp_path, name, content, message):
    kept_certificates(tmp_path, NAMES)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CertificateError, match=message):
        kept_certificates(tmp_path, NAMES)
    assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize("half", ["ca.key", "ca.crt"])
def test_a_missing_half_of_the_authority_is_an_error(tmp_path, half):
    kept_certificates(tmp_path, NAMES)
    (tmp_path / half).unlink()
    with pytest.raises(CertificateError, match=f"{half}: cannot be read: No such file"):
        kept_certificates(tmp_path, NAMES)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CertificateError, match="file/certificates: certificates cannot be kept"):
        kept_certificates(tmp_path / "file" / "certificates", NAMES)


@pytest.mark.parametrize(
    ("error", "reason"), [(OSError(37, "No locks"), "No locks"), (OSError("broken"), "broken")]
)
def test_a_folder_that_cannot_be_locked_is_an_error(tmp_path, monkeypatch, error, reason):
    def fail(*_):
        raise error

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(CertificateError) as found:
        kept_certificates(tmp_path, NAMES)
    assert str(found.value) == f"{tmp_path}: certificates cannot be kept here: {reason}"


def test_a_file_that_a_killed_process_has_left_is_replaced(tmp_path):
    for name in (".ca.key.partial", ".server.crt.partial"):
        (tmp_path / name).touch()
    kept_certificates(tmp_path, NAMES)
    assert not list(tmp_path.glob(".*"))


def test_a_key_of_another_certificate_is_an_error(tmp_path):
    first = kept_certificates(tmp_path / "first", NAMES)
    check_pair(first.server, first.server_key)
    with pytest.raises(CertificateError, match="not the key of the certificate"):
        check_pair(first.server, first.admin_key)


def test_an_encrypted_key_is_an_error(tmp_path):
    files = kept_certificates(tmp_path, NAMES)
    key = ec.generate_private_key(ec.SECP256R1())
    files.server_key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"password"),
        )
    )
    with pytest.raises(CertificateError, match="the key is encrypted"):
        check_pair(files.server, files.server_key)


@pytest.mark.parametrize(
    ("days", "message"), [(400, "the certificate expired"), (-2, "is not valid before")]
)
def test_a_certificate_that_is_not_valid_now_is_an_error(tmp_path, monkeypatch, days, message):
    files = kept_certificates(tmp_path, NAMES)
    then = dt.datetime.now(dt.UTC) + dt.timedelta(days=days)
    monkeypatch.setattr(certificates, "_now", lambda: then)
    with pytest.raises(CertificateError, match=message):
        check_pair(files.server, files.server_key)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The files of a cluster, which no test changes."""
    return kept_certificates(tmp_path_factory.mktemp("certificates"), NAMES)


def extension(certificate, kind):
    return certificate.extensions.get_extension_for_class(kind)


@pytest.mark.parametrize(
    ("name", "subject", "purposes", "years"),
    [
        ("authority", "CN=podwright", None, 10),
        ("server", "CN=kube-apiserver", [ExtendedKeyUsageOID.SERVER_AUTH], 1),
        ("admin", "CN=admin,O=system:masters", [ExtendedKeyUsageOID.CLIENT_AUTH], 1),
    ],
)
def test_a_certificate_has_the_subject_the_usages_and_the_lifetime_of_kubeadm(
    kept, name, subject, purposes, years
):
    found = read(getattr(kept, name))
    is_authority = purposes is None
    assert found.subject.rfc4514_string() == subject
    assert found.issuer.rfc4514_string() == "CN=podwright"
    constraints, usage = (extension(found, kind) for kind in (x509.BasicConstraints, x509.KeyUsage))
    assert constraints.value.ca is is_authority
    leaf = {
        "extendedKeyUsage": False, "authorityKeyIdentifier": False,
        **({"subjectAltName": False} if name == "server" else {}),
    }  # fmt: skip
    assert {each.oid._name: each.critical for each in found.extensions} == {
        "subjectKeyIdentifier": False, "basicConstraints": True, "keyUsage": True,
        **({} if is_authority else leaf),
    }  # fmt: skip
    may = {
        part
        for part in (
            "digital_signature", "key_encipherment", "key_cert_sign", "crl_sign",
            "content_commitment", "data_encipherment", "key_agreement",
        )
        if getattr(usage.value, part)
    }  # fmt: skip
    expected = {"key_cert_sign", "crl_sign"} if is_authority else {"key_encipherment"}
    assert may == {"digital_signature"} | expected
    if not is_authority:
        assert list(extension(found, x509.ExtendedKeyUsage).value) == purposes
        issuer = extension(found, x509.AuthorityKeyIdentifier).value.key_identifier
        own = extension(read(kept.authority), x509.SubjectKeyIdentifier).value.digest
        assert issuer == own
    now = dt.datetime.now(dt.UTC)
    left = found.not_valid_after_utc - now
    assert dt.timedelta(days=365 * years) - left < dt.timedelta(hours=1)
    assert left <= dt.timedelta(days=365 * years)
    # Clocks of clients may be five minutes late.
    early = now - found.not_valid_before_utc
    assert dt.timedelta(minutes=5) <= early < dt.timedelta(minutes=65)


def test_names_are_names_and_addresses_are_addresses(kept):
    names = extension(read(kept.server), x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert list(map(str, names.get_values_for_type(x509.IPAddress))) == ["127.0.0.1", "::1"]
    assert names_of(kept.admin) == frozenset()


def test_certificates_are_readable_by_all_and_nothing_else_is_in_the_folder(kept):
    folder = kept.authority.parent
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {
        f"{part}.{kind}": mode
        for part in ("ca", "server", "admin")
        for kind, mode in (("crt", 0o644), ("key", 0o600))
    }


@pytest.mark.parametrize(("seconds", "is_kept"), [(-1, True), (0, False)])
def test_certificates_are_renewed_thirty_days_before_their_end(
    tmp_path, monkeypatch, seconds, is_kept
):
    files = kept_certificates(tmp_path, NAMES)
    before = files.server.read_bytes()
    later = read(files.server).not_valid_after_utc + dt.timedelta(days=-30, seconds=seconds)
    monkeypatch.setattr(certificates, "_now", lambda: later)
    kept_certificates(tmp_path, NAMES)
    assert (files.server.read_bytes() == before) is is_kept


def test_clocks_may_be_five_minutes_apart(kept, monkeypatch):
    begin = read(kept.server).not_valid_before_utc
    for minutes, is_valid in ((5, True), (6, False)):
        monkeypatch.setattr(
            certificates, "_now", lambda minutes=minutes: begin - dt.timedelta(minutes=minutes)
        )
        if is_valid:
            check_pair(kept.server, kept.server_key)
        else:
            with pytest.raises(CertificateError, match="is not valid before"):
                check_pair(kept.server, kept.server_key)


@pytest.mark.parametrize(("seconds", "is_valid"), [(-1, True), (0, False)])
def test_a_certificate_is_valid_until_its_end(kept, monkeypatch, seconds, is_valid):
    now = read(kept.server).not_valid_after_utc + dt.timedelta(seconds=seconds)
    monkeypatch.setattr(certificates, "_now", lambda: now)
    raised = contextlib.nullcontext() if is_valid else pytest.raises(CertificateError)
    with raised:
        check_pair(kept.server, kept.server_key)


def test_a_damaged_certificate_of_the_server_is_made_again(tmp_path):
    files = kept_certificates(tmp_path, NAMES)
    admin = files.admin.read_bytes()
    files.server.write_bytes(b"")
    files.server_key.unlink()
    kept_certificates(tmp_path, NAMES)
    check_pair(files.server, files.server_key)
    assert files.admin.read_bytes() == admin


def test_a_key_of_another_kind_cannot_sign(tmp_path, kept):
    key = ed25519.Ed25519PrivateKey.generate()
    found = Authority.read(kept.authority, kept.authority_key).sign_server(key.public_key(), NAMES)
    certificate, private = tmp_path / "x.crt", tmp_path / "x.key"
    certificate.write_bytes(found.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    with pytest.raises(CertificateError, match="must be an RSA or elliptic curve key"):
        check_pair(certificate, private)
