"""Names, keys, chains and times of certificates and their requests: a row, and its lines."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from podwright.apimachinery.schema import approval_problems
from podwright.apimachinery.schema.tests.pod_errors import shown
from podwright.apimachinery.schema.tests.test_single_rules import BITS, INT, NAME, der
from podwright.apimachinery.schema.tests.test_validation_certificates import (
    CERTIFICATE,
    condition,
    kind as signing,
    request,
)
from podwright.apimachinery.schema.tests.test_validation_gated_kinds import (
    CONDITION,
    ED25519,
    OTHER,
    P224,
    TIMES,
    bundle,
    certificate,
    info_of,
    issued,
    kind,
    pod_request,
    request_of,
)

CHAIN = certificate()
NOTHING = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
SHORT = {CHAIN: "CHAIN ", certificate(OTHER): "OTHER ", NOTHING: "NOTHING "}
SHORT |= {text.replace("CERTIFICATE", "KEY"): f"KEY OF {name}" for text, name in SHORT.items()}


def lines(problems: list[Any]) -> list[str]:
    found = []
    for path, message, _ in problems:
        text = shown(message.split(', "data')[0])
        for chain, name in SHORT.items():
            text = text.replace(chain.replace("\n", "\\n"), name)
        found.append(f"{path}: {text}")
    return found


def of_bundle(signer: str, **metadata: Any) -> list[str]:
    found = kind("certificates.k8s.io/v1beta1", "ClusterTrustBundle")
    return lines(found.validation_problems(bundle(CHAIN, signer) | {"metadata": metadata}))


def of_anchors(text: str) -> list[str]:
    found = kind("certificates.k8s.io/v1beta1", "ClusterTrustBundle")
    return lines(found.validation_problems(bundle(text)))


def of_pod_request(spec: dict[str, Any]) -> list[str]:
    found = kind("certificates.k8s.io/v1beta1", "PodCertificateRequest")
    return lines(found.validation_problems(pod_request(**spec)))


def of_key(key: bytes, proof: bytes = b"a") -> list[str]:
    fields = {"pkixPublicKey": b64encode(key).decode(), "stubPKCS10Request": None}
    return of_pod_request(fields | {"proofOfPossession": b64encode(proof).decode()})


def of_modulus(bits: int) -> list[str]:
    key = rsa.RSAPublicNumbers(65537, (1 << (bits - 1)) + 1).public_key()
    info = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return of_key(info)


UNKNOWN = der(0x30, der(0x30, der(6, b"\x01")), BITS)
X25519 = der(0x30, der(0x30, der(6, bytes.fromhex("2b656e"))), der(3, bytes(33)))


def of_stub(key: bytes) -> list[str]:
    stub = der(0x30, der(0x30, INT, NAME, key), NAME, BITS)
    return of_pod_request({"stubPKCS10Request": b64encode(stub).decode()})


def of_issued(status: dict[str, Any], spec: dict[str, Any] | None = None) -> list[str]:
    found = kind("certificates.k8s.io/v1beta1", "PodCertificateRequest")
    old = pod_request(**(spec or {}))
    return lines(found.status_problems(old | {"status": status}, old))


def of_signer(name: str) -> list[str]:
    return lines(signing().validation_problems(request(signerName=name)))


def of_conditions(*conditions: dict[str, Any]) -> list[str]:
    return lines(approval_problems(request(list(conditions)), request()))


def of_update(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    return lines(signing().update_problems(new, old))


def of_request(spec: dict[str, Any]) -> list[str]:
    return lines(signing().validation_problems(request(**spec)))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_bundle("", name="a"), []),
        (lambda: of_bundle("", name="A"),
         ['metadata.name: Invalid value: "A": SUBDOMAIN']),
        (lambda: of_bundle("", generateName="a-"), []),
        (lambda: of_bundle("", generateName="a:-"),
         ['metadata.generateName: Invalid value: "a:-": ClusterTrustBundle without signer'
           ' name must not have ":" in its name']),
        (lambda: of_bundle("", generateName="-"),
         ['metadata.generateName: Invalid value: "-": SUBDOMAIN']),
        (lambda: of_bundle("", generateName="A-"), []),
        (lambda: of_bundle("a.b/c", generateName="a.b:c:-"),
         ['metadata.generateName: Invalid value: "a.b:c:-": SUBDOMAIN']),
        (lambda: of_bundle("a.b/c", generateName="a.b:c:"),
         ['metadata.generateName: Invalid value: "a.b:c:": SUBDOMAIN']),
        (lambda: of_bundle("a.b/c", generateName="a.b:c:x-"), []),
        (lambda: of_bundle("a.b/c", generateName="x-"),
         ['metadata.generateName: Invalid value: "x-": ClusterTrustBundle for signerName'
           " a.b/c must be named with prefix a.b:c:"]),
        (lambda: of_bundle("a.b/c", name="a.b:c:-"),
         ['metadata.name: Invalid value: "a.b:c:-": SUBDOMAIN']),
        (lambda: of_bundle("a", name="a:x"),
         ['spec.signerName: Invalid value: "a": must be a fully qualified domain and path of'
           " the form 'example.com/signer-name'"]),
        (lambda: of_bundle("", name="a", generateName="B"),
         ['metadata.generateName: Invalid value: "B": SUBDOMAIN']),
        (lambda: of_anchors("a" * (1024 * 1024 + 1)),
         ["spec.trustBundle: Too long: may not be more than 1048576 bytes"]),
        (lambda: of_anchors("a" * 1024 * 1024),
         ['spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must'
           " be provided"]),
        (lambda: of_anchors("é" * (512 * 1024 + 1)),
         ["spec.trustBundle: Too long: may not be more than 1048576 bytes"]),
        (lambda:
          of_anchors(certificate(OTHER) + CHAIN + certificate(OTHER) + CHAIN + CHAIN),
         ['spec.trustBundle: Invalid value: "<value omitted>": duplicate trust anchor'
           " (indices [0 2])",
          'spec.trustBundle: Invalid value: "<value omitted>": duplicate trust anchor'
           " (indices [1 3 4])"]),
        (lambda: of_anchors(CHAIN * 2 + certificate(is_authority=False)),
         ['spec.trustBundle: Invalid value: "<value omitted>": entry 2 does not have the CA'
           " bit set"]),
    ],
)  # fmt: skip
def test_bundles(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_pod_request({"podName": "", "serviceAccountName": "B", "nodeName":
          "n_"}),
         ['spec.podName: Invalid value: "": SUBDOMAIN',
          'spec.serviceAccountName: Invalid value: "B": SUBDOMAIN',
          'spec.nodeName: Invalid value: "n_": SUBDOMAIN']),
        (lambda: of_pod_request({"podUID": "é" * 64}), []),
        (lambda: of_pod_request({"serviceAccountUID": "é" * 65, "podUID": "x" * 128}),
         ["spec.serviceAccountUID: Too long: may not be more than 128 bytes"]),
        (lambda: of_pod_request({"signerName": ""}),
         ["spec.signerName: Required value"]),
        (lambda: of_pod_request({"maxExpirationSeconds": 3599}),
         ["spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]"]),
        (lambda: of_pod_request({"maxExpirationSeconds": 3600}), []),
        (lambda: of_pod_request({"maxExpirationSeconds": 7862400}), []),
        (lambda: of_pod_request({"maxExpirationSeconds": 7862401}),
         ["spec.maxExpirationSeconds: Invalid value: 7862401: must be in the range [3600,"
           " 7862400]"]),
        (lambda: of_pod_request({"maxExpirationSeconds": 86400, "signerName":
          "kubernetes.io/a"}), []),
        (lambda: of_pod_request({"maxExpirationSeconds": 86401, "signerName":
          "a.kubernetes.io/b"}),
         ["spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]"]),
        (lambda: of_pod_request({"maxExpirationSeconds": 86401, "signerName":
          "akubernetes.io/b"}), []),
        (lambda: of_pod_request({"unverifiedUserAnnotations": {"a.b/c": "d", "B": "", "A":
          ""}}),
         ['spec.unverifiedUserAnnotations: Invalid value: "a": must be a domain-prefixed key'
           ' (such as "acme.io/foo")',
          'spec.unverifiedUserAnnotations: Invalid value: "b": must be a domain-prefixed key'
           ' (such as "acme.io/foo")']),
        (lambda: of_pod_request({"unverifiedUserAnnotations": {"-": "", "B": ""}}),
         ['spec.unverifiedUserAnnotations: Invalid value: "-": NAME PART',
          'spec.unverifiedUserAnnotations: Invalid value: "b": must be a domain-prefixed key'
           ' (such as "acme.io/foo")']),
        (lambda: of_pod_request({"proofOfPossession": "YQ=="}),
         ["spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey,"
           " proofOfPossession) must be set"]),
        (lambda: of_pod_request({"stubPKCS10Request": "", "pkixPublicKey": "YQ=="}),
         ["spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey,"
           " proofOfPossession) must be set"]),
        (lambda: of_pod_request({"stubPKCS10Request": "", "proofOfPossession": "YQ=="}),
         ["spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey,"
           " proofOfPossession) must be set"]),
        (lambda: of_pod_request({"stubPKCS10Request": b64encode(bytes(10240)).decode()}),
         ["spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"]),
        (lambda: of_pod_request({"stubPKCS10Request": b64encode(bytes(10241)).decode()}),
         ["spec.stubPKCS10Request: Too long: may not be more than 10240 bytes"]),
        (lambda: of_key(info_of(ED25519)), []),
        (lambda: of_key(info_of(ED25519), bytes(10240)), []),
        (lambda: of_key(info_of(ED25519), bytes(10241)),
         ["spec.proofOfPossession: Too long: may not be more than 10240 bytes"]),
        (lambda: of_key(bytes(10241), bytes(10241)),
         ["spec.pkixPublicKey: Too long: may not be more than 10240 bytes"]),
        (lambda: of_key(info_of(P224)),
         ['spec.pkixPublicKey: Invalid value: "curve P-224": elliptic public keys must use'
           " curve P256 or P384"]),
        (lambda: of_key(info_of(rsa.generate_private_key(65537, 1024))),
         ['spec.pkixPublicKey: Invalid value: "1024-bit modulus": RSA keys must have modulus'
           " size 3072 or 4096"]),
        (lambda: of_key(info_of(ED25519) + b"a"),
         ["spec.pkixPublicKey: Invalid value:"
           ' "MCowBQYDK2VwAyEAO2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ilh": must be a valid'
           " PKIX-serialized public key"]),
        (lambda: of_key(b""),
         ["spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey,"
           " proofOfPossession) must be set"]),
        (lambda: of_modulus(4096), []),
        (lambda: of_modulus(3072), []),
        (lambda: of_modulus(4104),
         ['spec.pkixPublicKey: Invalid value: "4104-bit modulus": RSA keys must have'
           " modulus size 3072 or 4096"]),
        (lambda: of_modulus(2048),
         ['spec.pkixPublicKey: Invalid value: "2048-bit modulus": RSA keys must have'
           " modulus size 3072 or 4096"]),
        (lambda: of_key(UNKNOWN),
         ['spec.pkixPublicKey: Invalid value: "MAkwAwYBAQMCAAE=": must be a valid'
           " PKIX-serialized public key"]),
        (lambda: of_key(X25519),
         ['spec.pkixPublicKey: Invalid value: "MCowBQYDK2VuAyEA*44=": unknown public key'
           " type; supported types are Ed25519, ECDSA, and RSA"]),
        (lambda: of_stub(UNKNOWN),
         ["spec.stubPKCS10Request: Invalid value: unknown public key type; supported types"
           " are Ed25519, ECDSA, and RSA"]),
        (lambda: of_stub(X25519),
         ["spec.stubPKCS10Request: Invalid value: unknown public key type; supported types"
           " are Ed25519, ECDSA, and RSA"]),
    ],
)  # fmt: skip
def test_requests_of_pods(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_issued({}), []),
        (lambda: of_issued(issued()), []),
        (lambda: of_issued(issued("a" * (100 * 1024 + 1))),
         ["status.certificateChain: Too long: may not be more than 102400 bytes"]),
        (lambda: of_issued(issued("a")),
         ['status.certificateChain: Invalid value: "a": issued certificate chain must contain'
           " at least one certificate"]),
        (lambda: of_issued(issued(CHAIN.replace("CERTIFICATE", "KEY"))),
         ['status.certificateChain: Invalid value: "KEY OF CHAIN ": issued certificate chain'
           " must consist entirely of CERTIFICATE PEM blocks"]),
        (lambda: of_issued(issued(NOTHING)),
         ['status.certificateChain: Invalid value: "NOTHING ": leaf certificate does not'
           " parse as valid X.509"]),
        (lambda: of_issued(issued(CHAIN + certificate(OTHER))), []),
        (lambda: of_issued(issued(CHAIN + NOTHING)),
         ['status.certificateChain: Invalid value: "CHAIN NOTHING ": intermediate certificate'
           " does not parse as valid X.509"]),
        (lambda: of_issued(issued(CHAIN + certificate(OTHER).replace("CERTIFICATE",
          "KEY"))),
         ['status.certificateChain: Invalid value: "CHAIN KEY OF OTHER ": issued certificate'
           " chain must consist entirely of CERTFICATE PEM blocks"]),
        (lambda: of_issued(issued(CHAIN + certificate(OTHER).replace("CERTIFICATE", "KEY"),
          notBefore=None)),
         ["status.notBefore: Required value: must be present and consistent with the issued"
           " certificate"]),
        (lambda: of_issued(issued(certificate(OTHER))),
         ['status.certificateChain: Invalid value: "OTHER ": leaf certificate was not issued'
           " to the requested public key"]),
        (lambda: of_issued(issued(), {"stubPKCS10Request": None, "pkixPublicKey":
          b64encode(info_of(ED25519)).decode()}), []),
        (lambda: of_issued(issued(), {"stubPKCS10Request": None, "pkixPublicKey":
          b64encode(info_of(OTHER)).decode()}),
         ['status.certificateChain: Invalid value: "CHAIN ": leaf certificate was not issued'
           " to the requested public key"]),
        (lambda: of_issued(issued(), {"stubPKCS10Request": request_of(OTHER)}),
         ['status.certificateChain: Invalid value: "CHAIN ": leaf certificate was not issued'
           " to the requested public key"]),
        (lambda: of_issued({"conditions": issued()["conditions"], "certificateChain":
          CHAIN}),
         ["status.notBefore: Required value: must be present and consistent with the issued"
           " certificate",
          "status.notAfter: Required value: must be present and consistent with the issued"
           " certificate",
          "status.beginRefreshAt: Required value: must be present and in the range"
           " [notbefore+10min, notafter-10min]"]),
        (lambda: of_issued(issued(notBefore=TIMES["notAfter"],
          notAfter=TIMES["notBefore"])),
         ['status.notBefore: Invalid value: "2026-03-03T10:00:00Z": must be set to the'
           " NotBefore time encoded in the leaf certificate"]),
        (lambda: of_issued(issued(notAfter="2026-03-03T10:00:01Z")),
         ['status.notAfter: Invalid value: "2026-03-03T10:00:01Z": must be set to the'
           " NotAfter time encoded in the leaf certificate"]),
        (lambda: of_issued(issued(beginRefreshAt="2026-03-02T10:10:00Z")), []),
        (lambda: of_issued(issued(beginRefreshAt="2026-03-02T10:09:59Z")),
         ['status.beginRefreshAt: Invalid value: "2026-03-02T10:09:59Z": must be at least 10'
           " minutes after status.notBefore"]),
        (lambda: of_issued(issued(beginRefreshAt="2026-03-03T09:50:00Z")), []),
        (lambda: of_issued(issued(beginRefreshAt="2026-03-03T09:50:01Z")),
         ['status.beginRefreshAt: Invalid value: "2026-03-03T09:50:01Z": must be at least 10'
           " minutes before status.notAfter"]),
        (lambda: of_issued(issued(), {"maxExpirationSeconds": 86399}),
         ["status.certificateChain: Invalid value: 86400000000000: leaf certificate lifetime"
           " must be <= spec.maxExpirationSeconds (86399)"]),
        (lambda: of_issued(issued(certificate(hours=1), notAfter="2026-03-02T11:00:00Z",
          beginRefreshAt="2026-03-02T10:30:00Z")), []),
        (lambda: of_issued({"conditions": [CONDITION | {"type": "Denied"},
          CONDITION | {"type": "X"}, CONDITION | {"type": "Failed", "status": "Unknown"}]}),
         ['status.conditions.[1].type: Unsupported value: "X": supported values: "Issued",'
           ' "Denied", "Failed"',
          'status.conditions.[2].type: Invalid value: "Failed": There may be at most one'
           ' condition with type "Issued", "Denied", or "Failed"',
          'status.conditions.[2].status: Unsupported value: "Unknown": supported values: "True"']),
        (lambda: of_issued({"conditions": [CONDITION | {"type": "Denied", "reason": ""}]}),
         ["status.conditions[0].reason: Required value"]),
        (lambda: of_issued({"conditions": [CONDITION | {"type": "Denied"}], "notAfter":
          TIMES["notAfter"]}),
         ["status: Invalid value: non-condition status fields must be empty when denying or"
           " failing the PodCertificateRequest"]),
        (lambda: of_issued({"conditions": [CONDITION | {"type": "Failed"}]}), []),
        (lambda: of_issued({"certificateChain": CHAIN}),
         ['status: Invalid value: status is immutable unless transitioning to "Issued",'
           ' "Denied", or "Failed"']),
    ],
)  # fmt: skip
def test_issued_certificates(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_signer("a.b/c"), []),
        (lambda: of_signer("a.b/c.d"), []),
        (lambda: of_signer("a.b/c/d"),
         ['spec.signerName: Invalid value: "a.b/c/d": must be a fully qualified domain and'
           " path of the form 'example.com/signer-name'"]),
        (lambda: of_signer("a.b"),
         ['spec.signerName: Invalid value: "a.b": must be a fully qualified domain and path'
           " of the form 'example.com/signer-name'"]),
        (lambda: of_signer("a/b"),
         ['spec.signerName: Invalid value: "a": should be a domain with at least two segments'
           " separated by dots"]),
        (lambda: of_signer("a.b/"),
         ['spec.signerName: Invalid value: "": validating label "": SUBDOMAIN']),
        (lambda: of_signer("/b"),
         ['spec.signerName: Invalid value: "": validating label "": LABEL',
          'spec.signerName: Invalid value: "": should be a domain with at least two segments'
           " separated by dots"]),
        (lambda: of_signer("A.B/C.D"),
         ['spec.signerName: Invalid value: "A.B": validating label "A": LABEL',
          'spec.signerName: Invalid value: "C.D": validating label "C": SUBDOMAIN']),
        (lambda: of_signer(".".join(["a" * 63] * 3 + ["b" * 61]) + "/c"), []),
        (lambda: of_signer(".".join(["a" * 63] * 3 + ["b" * 62]) + "/c"),
         ["spec.signerName: Too long: may not be more than 253 bytes"]),
        (lambda: of_signer("a." + "b" * 64 + "/c"),
         ['spec.signerName: Invalid value: "a.bb*64": validating label "bb*64": must be no'
           " more than 63 characters"]),
        (lambda: of_request({"usages": ["x", "signing", "x", "any", "signing"]}),
         ['spec.usages[0]: Unsupported value: "x": supported values: "any", "cert sign",'
           ' "client auth", "code signing", "content commitment", "crl sign"',
          'spec.usages[2]: Unsupported value: "x": supported values: "any", "cert sign",'
           ' "client auth", "code signing", "content commitment", "crl sign"',
          'spec.usages[2]: Duplicate value: "x"',
          'spec.usages[4]: Duplicate value: "signing"']),
        (lambda: of_request({"expirationSeconds": 600}), []),
        (lambda: of_request({"expirationSeconds": 599}),
         ["spec.expirationSeconds: Invalid value: 599: may not specify a duration less than"
           " 600 seconds (10 minutes)"]),
        (lambda: of_request({"expirationSeconds": None}), []),
        (lambda: of_request({"expirationSeconds": 0}),
         ["spec.expirationSeconds: Invalid value: 0: may not specify a duration less than 600"
           " seconds (10 minutes)"]),
        (lambda: of_request({"request": "%"}),
         ['spec.request: Invalid value: "%": PEM block type must be CERTIFICATE REQUEST']),
        (lambda: of_request({"request": CERTIFICATE}),
         ['spec.request: Invalid value: "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==": PEM block'
           " type must be CERTIFICATE REQUEST"]),
        (lambda: of_conditions({"type": "", "status": "True"}),
         ["status.conditions[0].type: Required value"]),
        (lambda: of_conditions({"type": "X", "status": "x"}, {"type": "Failed", "status":
          "False"}),
         ['status.conditions[0].status: Unsupported value: "x": supported values: "False",'
           ' "True", "Unknown"',
          'status.conditions[1].status: Unsupported value: "False": supported values: "True"']),
        (lambda: of_conditions({"type": "X", "status": "Unknown"}, {"type": "Y", "status":
          "False"}), []),
        (lambda: of_conditions(condition("Denied"), condition("Approved")),
         ['status.conditions: Invalid value: "Approved": Approved and Denied conditions are'
           " mutually exclusive"]),
        (lambda: of_conditions(condition("Denied"), condition("Denied")),
         ['status.conditions[1].type: Duplicate value: "Denied"']),
        (lambda: of_conditions(condition("Denied"), condition("Failed")), []),
        (lambda: of_update(request([condition("Approved")]), request()),
         ['status.conditions: Forbidden: updates may not add a condition of type "Approved"']),
        (lambda: of_update(request(), request([condition("Failed"), condition("Denied")])),
         ['status.conditions: Forbidden: updates may not remove a condition of type "Denied"',
          'status.conditions: Forbidden: updates may not remove a condition of type "Failed"']),
        (lambda: of_update(request([condition("Approved")]),
          request([condition("Approved")])), []),
        (lambda: of_update(request([condition("Failed")]), request()), []),
        (lambda: of_update(request(certificate=CERTIFICATE), request()),
         ["status.certificate: Forbidden: updates may not set certificate content"]),
        (lambda: of_update(request(certificate="YQ=="), request(certificate="YQ==")), []),
        (lambda: of_update(request(certificate=""), request(certificate=CERTIFICATE)),
         ["status.certificate: Forbidden: updates may not set certificate content"]),
        (lambda: lines(signing().status_problems(request(certificate="YQ=="),
          request(certificate="YQ=="))), []),
        (lambda: lines(signing().status_problems(request(),
          request(certificate=CERTIFICATE))),
         ["status.certificate: Forbidden: updates may not modify existing certificate content"]),
        (lambda: lines(signing().validation_problems(request(certificate="YQ=="))),
         ['status.certificate: Invalid value: "<certificate data>": must contain at least one'
           " CERTIFICATE PEM block"]),
        (lambda: lines(signing().validation_problems(request(certificate="YQ"))),
         ['status.certificate: Invalid value: "<certificate data>": must contain at least one'
           " CERTIFICATE PEM block"]),
        (lambda: lines(signing().validation_problems(request(certificate="!"))),
         ['status.certificate: Invalid value: "<certificate data>": must contain at least'
           " one CERTIFICATE PEM block"]),
        (lambda: of_issued({"conditions": [CONDITION | {"type": "Issued"}], "certificateChain":
          "a" * 102_400}),
         ['status.certificateChain: Invalid value: "aa*102400": issued certificate chain'
           " must contain at least one certificate"]),
        (lambda: of_issued({"conditions": [CONDITION | {"type": "Issued"}], "certificateChain":
          "a" * 102_401}),
         ["status.certificateChain: Too long: may not be more than 102400 bytes"]),
        (lambda: of_update(request(expirationSeconds=1) | {"metadata": request()["metadata"] |
          {"finalizers": ["a"]}}, request()),
         ['metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer'
           " name nor is it fully qualified",
          "spec.expirationSeconds: Invalid value: 1: may not specify a duration less than"
           " 600 seconds (10 minutes)",
          'metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer'
           " name nor is it fully qualified"]),
        (lambda: lines(approval_problems(request() | {"metadata": request()["metadata"] |
          {"finalizers": ["a"]}}, request())),
         ['metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer'
           " name nor is it fully qualified",
          'metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer'
           " name nor is it fully qualified"]),
        (lambda: of_update(request() | {"metadata": request()["metadata"] | {"uid": "v"}},
          request()),
         ['metadata.uid: Invalid value: "v": field is immutable']),
    ],
)  # fmt: skip
def test_requests_of_certificates(call: Any, expected: list[str]) -> None:
    assert call() == expected
