"""Certificate requests are signed for the signers of Kubernetes, or refused."""

from __future__ import annotations

import datetime as dt
import ipaddress
from base64 import b64decode, b64encode

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from podwright.cluster.controllers import (
    CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    RefusedRequestError,
)
from podwright.online.apiserver.access.certificates import Authority, RequestSigner

KEY = ec.generate_private_key(ec.SECP256R1())
AUTHORITY = Authority.new()
NODE = {"user": "system:node:n1", "groups": ("system:nodes",)}
ADDRESS = x509.IPAddress(ipaddress.ip_address("10.0.0.7"))
CLIENT_USAGES = ("digital signature", "client auth")
SERVER_USAGES = ("digital signature", "key encipherment", "server auth")


def a_request(user="kim", groups=("dev",), names=()):
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    pem = builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return b64encode(pem).decode()


def signed(request, signer, usages, seconds=3_600):
    pem = RequestSigner(AUTHORITY)(request, signer, usages, seconds)
    return x509.load_pem_x509_certificate(pem)


def extension(certificate, kind):
    return certificate.extensions.get_extension_for_class(kind).value


def test_a_client_gets_a_certificate_of_its_subject():
    found = signed(a_request(), CLIENT, CLIENT_USAGES)
    assert AUTHORITY.has_signed(found)
    assert found.subject.rfc4514_string() == "CN=kim,O=dev"
    assert found.public_key() == KEY.public_key()
    assert list(extension(found, x509.ExtendedKeyUsage)) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    usage = extension(found, x509.KeyUsage)
    assert (usage.digital_signature, usage.key_encipherment) == (True, False)
    assert not extension(found, x509.BasicConstraints).ca
    left = found.not_valid_after_utc - dt.datetime.now(dt.UTC)
    assert dt.timedelta(minutes=55) < left <= dt.timedelta(hours=1)


def test_no_certificate_outlasts_the_authority():
    found = signed(a_request(), CLIENT, CLIENT_USAGES, seconds=10**9)
    assert found.not_valid_after_utc == AUTHORITY.certificate.not_valid_after_utc


def test_a_kubelet_gets_a_server_certificate_with_its_names():
    found = signed(a_request(**NODE, names=[ADDRESS]), KUBELET_SERVING, SERVER_USAGES)
    assert list(extension(found, x509.SubjectAlternativeName)) == [ADDRESS]
    assert list(extension(found, x509.ExtendedKeyUsage)) == [ExtendedKeyUsageOID.SERVER_AUTH]


@pytest.mark.parametrize(
    ("request_", "signer", "usages", "message"),
    [
        pytest.param(a_request(), CLIENT, ("digital signature",),
                     "missing required usage for client certificate: client auth", id="no usage"),
        pytest.param(a_request(), CLIENT, (*CLIENT_USAGES, "server auth"),
                     "invalid usage for client certificate: server auth", id="other usage"),
        pytest.param(a_request(), KUBELET_CLIENT, CLIENT_USAGES,
                     "subject organization is not system:nodes", id="organization"),
        pytest.param(a_request("kim", ("system:nodes",)), KUBELET_CLIENT, CLIENT_USAGES,
                     "subject common name does not begin with system:node:", id="common name"),
        pytest.param(a_request(**NODE, names=[ADDRESS]), KUBELET_CLIENT, CLIENT_USAGES,
                     "IP subjectAltNames are not allowed", id="address of a client"),
        pytest.param(a_request(**NODE), KUBELET_SERVING, SERVER_USAGES,
                     "DNS or IP subjectAltName is required", id="server without names"),
        pytest.param(a_request(**NODE), KUBELET_CLIENT, SERVER_USAGES,
                     r"usages did not match \[client auth digital signature key encipherment\]",
                     id="usages of the other signer"),
        pytest.param(a_request("system:node:n1", ("system:nodes", "dev")), KUBELET_CLIENT,
                     CLIENT_USAGES, "subject organization is not system:nodes", id="two"),
        pytest.param(a_request(**NODE, names=[x509.RFC822Name("a@b.c"), ADDRESS]), KUBELET_SERVING,
                     SERVER_USAGES, "Email subjectAltNames are not allowed", id="email"),
        pytest.param(a_request(**NODE, names=[x509.UniformResourceIdentifier("a://b"), ADDRESS]),
                     KUBELET_SERVING, SERVER_USAGES, "URI subjectAltNames are not allowed",
                     id="URI"),
        pytest.param(a_request(**NODE, names=[x509.DNSName("n1")]), KUBELET_CLIENT, CLIENT_USAGES,
                     "DNS subjectAltNames are not allowed", id="name of a client"),
        pytest.param(a_request(**NODE, names=[x509.RFC822Name("a@b.c")]), KUBELET_CLIENT,
                     CLIENT_USAGES, "Email subjectAltNames are not allowed", id="client's email"),
        pytest.param(a_request(**NODE), KUBELET_CLIENT, ("client auth", "key encipherment"),
                     "usages did not match", id="no signature"),
        pytest.param(a_request(**NODE), KUBELET_CLIENT, ("client auth", *CLIENT_USAGES),
                     "usages did not match", id="repeated usage"),
        pytest.param(a_request(**NODE, names=[ADDRESS]), KUBELET_SERVING, CLIENT_USAGES,
                     r"usages did not match \[digital signature key encipherment server auth\]",
                     id="usages of a client"),
        pytest.param("bm90IFBFTQ==", CLIENT, CLIENT_USAGES, "unable to parse csr: ", id="no PEM"),
    ],
)  # fmt: skip
def test_requests_without_what_the_signer_demands_are_refused(request_, signer, usages, message):
    with pytest.raises(RefusedRequestError, match=f"^{message}"):
        signed(request_, signer, usages)


@pytest.mark.parametrize(
    ("request_", "signer", "usages", "has_encipherment"),
    [
        (a_request(**NODE), KUBELET_CLIENT, CLIENT_USAGES, False),
        (a_request(**NODE), KUBELET_CLIENT, ("key encipherment", *CLIENT_USAGES), True),
        (a_request(**NODE, names=[x509.DNSName("n1")]), KUBELET_SERVING, SERVER_USAGES, True),
        (a_request(names=[x509.DNSName("any")]), CLIENT, ("client auth",), False),
    ],
    ids=["kubelet's client", "with encipherment", "name of a kubelet", "names of a client"],
)
def test_requests_with_what_the_signer_demands_are_signed(
    request_, signer, usages, has_encipherment
):
    found = signed(request_, signer, usages)
    assert extension(found, x509.KeyUsage).key_encipherment is has_encipherment
    assert len(list(extension(found, x509.ExtendedKeyUsage))) == 1


def test_a_request_that_was_changed_after_it_was_signed_is_refused():
    pem = b64decode(a_request())
    encoded = bytearray(x509.load_pem_x509_csr(pem).public_bytes(serialization.Encoding.DER))
    encoded[encoded.index(b"kim")] = ord("j")
    body = b64encode(bytes(encoded)).decode()
    changed = f"-----BEGIN CERTIFICATE REQUEST-----\n{body}\n-----END CERTIFICATE REQUEST-----\n"
    with pytest.raises(RefusedRequestError, match="the signature is not valid"):
        signed(b64encode(changed.encode()).decode(), CLIENT, CLIENT_USAGES)
