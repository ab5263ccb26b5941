"""Validation of trust bundles, certificate requests of pods, and storage migrations."""

from __future__ import annotations

import datetime as dt
from base64 import b64encode
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from podwright.apimachinery.schema import Kind, built_in
from podwright.apimachinery.schema.der import PublicKey, read_public_key, request_key

START = dt.datetime(2026, 3, 2, 10, tzinfo=dt.UTC)
ED25519 = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
P224 = ec.derive_private_key(12345, ec.SECP224R1())
P256 = ec.derive_private_key(12345, ec.SECP256R1())
CONDITION = {
    "status": "True",
    "reason": "R",
    "message": "",
    "lastTransitionTime": "2026-03-02T10:00:00Z",
}


def kind(version: str, name: str) -> Kind:
    found = built_in().find(version, name)
    assert found is not None
    return found


def texts(problems: list[Any]) -> list[str]:
    return [f"{path}: {message}" for path, message, _ in problems]


@cache
def certificate(key: Any = ED25519, *, is_authority: bool = True, hours: int = 24) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(START)
        .not_valid_after(START + dt.timedelta(hours=hours))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    return made.sign(key, None).public_bytes(Encoding.PEM).decode()


def request_of(key: Any) -> str:
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return b64encode(made.sign(key, algorithm).public_bytes(Encoding.DER)).decode()


def info_of(key: Any) -> bytes:
    found: bytes = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return found


# ---------------------------------------------------------------------------- trust bundles

BUNDLE = 'spec.trustBundle: Invalid value: "<value omitted>": '


def bundle(text: str, signer: str = "", name: str = "a") -> dict[str, Any]:
    spec = {"trustBundle": text} | ({"signerName": signer} if signer else {})
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(certificate(), [], id="one authority"),
        pytest.param("note\n" + certificate() + certificate(OTHER), [], id="text between blocks"),
        pytest.param("", ["at least one trust anchor must be provided"], id="nothing"),
        pytest.param(certificate() * 2, ["duplicate trust anchor (indices [0 1])"], id="twice"),
        pytest.param(certificate(is_authority=False), ["entry 0 does not have the CA bit set"],
                     id="no authority"),
        pytest.param(certificate() + certificate().replace("CERTIFICATE", "KEY"),
                     ["entry 1 has bad block type: KEY"], id="another block"),
        pytest.param(certificate().replace("-----\n", "-----\na: b\n\n", 1),
                     ["entry 0 has PEM block headers"], id="headers"),
        pytest.param("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n",
                     ["entry 0 does not parse as X.509"], id="no certificate"),
    ],
)  # fmt: skip
def test_the_certificates_of_a_bundle(text, expected):
    found = kind("certificates.k8s.io/v1beta1", "ClusterTrustBundle")
    problems = found.validation_problems(bundle(text))
    assert texts(problems) == [BUNDLE + each for each in expected]


@pytest.mark.parametrize(
    ("name", "signer", "expected"),
    [
        ("a.b:c:d", "a.b/c", []),
        ("a:b", "", ['ClusterTrustBundle without signer name must not have ":" in its name']),
        (
            "d",
            "a.b/c",
            ["ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:"],
        ),
    ],
)
def test_a_bundle_has_the_name_of_its_signer(name, signer, expected):
    found = kind("certificates.k8s.io/v1beta1", "ClusterTrustBundle")
    problems = found.validation_problems(bundle(certificate(), signer, name))
    assert texts(problems) == [
        f'metadata.name: Invalid value: "{name}": {each}' for each in expected
    ]


def test_a_bundle_keeps_its_signer_and_is_parsed_if_it_changes():
    found = kind("certificates.k8s.io/v1beta1", "ClusterTrustBundle")
    old = bundle("was valid", "a.b/c", "a.b:c:d")
    assert found.update_problems(old, old) == []
    new = bundle("x", "a.b/d", "a.b:c:d")
    assert [path for path, _, _ in found.update_problems(new, old)] == [
        "metadata.name", "spec.trustBundle", "spec.signerName",
    ]  # fmt: skip


# ----------------------------------------------------------------- certificate requests of pods


def pod_request(**spec: Any) -> dict[str, Any]:
    fields = {
        "signerName": "a.b/c", "podName": "p", "podUID": "u", "serviceAccountName": "s",
        "serviceAccountUID": "u", "nodeName": "n", "nodeUID": "u", "maxExpirationSeconds": 86400,
        "stubPKCS10Request": request_of(ED25519),
    }  # fmt: skip
    return {"metadata": {"name": "a", "namespace": "b"}, "spec": fields | spec, "status": {}}


ONE_OF = (
    "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey,"
    " proofOfPossession) must be set"
)
SIZE = "RSA keys must have modulus size 3072 or 4096"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="valid"),
        pytest.param({"stubPKCS10Request": request_of(P256)}, [], id="another algorithm"),
        pytest.param({"stubPKCS10Request": ""}, [ONE_OF], id="no key"),
        pytest.param({"pkixPublicKey": "YQ=="}, [ONE_OF], id="two keys"),
        pytest.param({"stubPKCS10Request": "YQ=="},
                     ["spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"],
                     id="no request"),
        pytest.param({"stubPKCS10Request": request_of(P224)},
                     ['spec.stubPKCS10Request: Invalid value: "curve P-224": elliptic public keys'
                      " must use curve P256, P384, or P521"], id="a short curve"),
        pytest.param({"stubPKCS10Request": "", "proofOfPossession": "YQ==",
                      "pkixPublicKey": b64encode(info_of(ED25519)).decode()}, [], id="a key"),
        pytest.param({"stubPKCS10Request": "", "proofOfPossession": "YQ==",
                      "pkixPublicKey": "YQ=="},
                     ['spec.pkixPublicKey: Invalid value: "YQ==": must be a valid PKIX-serialized'
                      " public key"], id="no key at all"),
        pytest.param({"maxExpirationSeconds": None},
                     ["spec.maxExpirationSeconds: Required value: must be set"], id="no duration"),
        pytest.param({"signerName": "kubernetes.io/a", "maxExpirationSeconds": 86401},
                     ["spec.maxExpirationSeconds: Invalid value: 86401: must be in the range"
                        " [3600, 86400]"], id="too long for a signer of Kubernetes"),
        pytest.param({"unverifiedUserAnnotations": {"a.b/c": "d", "E": "f"}},
                     ['spec.unverifiedUserAnnotations: Invalid value: "e": must be a'
                      ' domain-prefixed key (such as "acme.io/foo")'], id="keys without domain"),
        pytest.param({"podUID": "", "nodeUID": "x" * 129},
                     ['spec.podUID: Invalid value: "": must not be empty',
                      "spec.nodeUID: Too long: may not be more than 128 bytes"], id="uids"),
    ],
)  # fmt: skip
def test_a_request_of_a_pod(spec, expected):
    found = kind("certificates.k8s.io/v1beta1", "PodCertificateRequest")
    assert texts(found.validation_problems(pod_request(**spec))) == expected


def test_the_duration_of_a_request_has_a_default():
    found = kind("certificates.k8s.io/v1beta1", "PodCertificateRequest")
    assert found.with_defaults({})["spec"] == {"maxExpirationSeconds": 86400}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (ED25519, PublicKey("Ed25519")),
        (P256, PublicKey("ECDSA", curve="P-256")),
        (rsa.generate_private_key(65537, 1024), PublicKey("RSA", modulus_bits=1024)),
    ],
    ids=["Ed25519", "ECDSA", "RSA"],
)
def test_the_algorithm_of_a_key(key, expected):
    assert read_public_key(info_of(key)[2:] if key is ED25519 else _inner(key)) == expected


def _inner(key: Any) -> bytes:
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return request_key(made.sign(key, hashes.SHA256()).public_bytes(Encoding.DER))


ISSUED = CONDITION | {"type": "Issued"}
TIMES = {
    "notBefore": "2026-03-02T10:00:00Z",
    "notAfter": "2026-03-03T10:00:00Z",
    "beginRefreshAt": "2026-03-02T22:00:00Z",
}


def issued(chain: str = certificate(), **fields: Any) -> dict[str, Any]:
    return {"conditions": [ISSUED], "certificateChain": chain, **TIMES, **fields}


@pytest.mark.parametrize(
    ("status", "old", "expected"),
    [
        pytest.param(issued(), {}, [], id="issued"),
        pytest.param({"conditions": [CONDITION | {"type": "Denied"}]}, {}, [], id="denied"),
        pytest.param(issued(), {"conditions": [ISSUED]}, ["immutable after"], id="again"),
        pytest.param({"notBefore": TIMES["notBefore"]}, {}, ["status is immutable"], id="early"),
        pytest.param({"conditions": [CONDITION | {"type": "Failed"}], **TIMES}, {},
                     ["non-condition status fields must be empty"], id="failed with times"),
        pytest.param({"conditions": [CONDITION | {"type": "Other"}]}, {},
                     ['supported values: "Issued", "Denied", "Failed"'], id="another condition"),
        pytest.param({"conditions": [ISSUED, CONDITION | {"type": "Denied"}]}, {},
                     ["There may be at most one condition"], id="two conditions"),
        pytest.param({"conditions": [ISSUED | {"status": "False"}]}, {},
                     ['supported values: "True"'], id="a condition that is false"),
        pytest.param(issued(""), {}, ["must contain at least one certificate"], id="no chain"),
        pytest.param(issued(certificate(OTHER)), {}, ["not issued to the requested public key"],
                     id="another key"),
        pytest.param(issued(certificate() + certificate().replace("CERTIFICATE", "KEY")), {},
                     ["CERTFICATE PEM blocks"], id="another block"),
        pytest.param(issued(notBefore=None), {}, ["consistent with the issued certificate"],
                     id="no start"),
        pytest.param(issued(notAfter=TIMES["notBefore"]), {}, ["must be set to the NotAfter"],
                     id="another end"),
        pytest.param(issued(beginRefreshAt=TIMES["notBefore"]), {}, ["10 minutes after"],
                     id="an early refresh"),
        pytest.param(issued(certificate(hours=48), notAfter="2026-03-04T10:00:00Z"), {},
                     ["must be <= spec.maxExpirationSeconds (86400)"], id="too long"),
    ],
)  # fmt: skip
def test_the_status_of_a_request_of_a_pod(status, old, expected):
    found = kind("certificates.k8s.io/v1beta1", "PodCertificateRequest")
    new, before = pod_request() | {"status": status}, pod_request() | {"status": old}
    problems = texts(found.status_problems(new, before))
    assert len(problems) == len(expected)
    assert all(part in problem for part, problem in zip(expected, problems, strict=True))


# ---------------------------------------------------------------------- storage migrations


def migration(resource: str, group: str = "", **status: Any) -> dict[str, Any]:
    spec = {"resource": {"group": group, "resource": resource}}
    return {"metadata": {"name": "a"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (migration("pods"), []),
        (migration("deployments", "apps"), []),
        (migration(""), ["spec.resource.resource: Required value: resource is required to be set"]),
        (migration("9a", "A_"), [
            'spec.resource.resource: Invalid value: "9a": a DNS-1035 label',
            'spec.resource.group: Invalid value: "A_": a lowercase RFC 1123 subdomain']),
    ],
)  # fmt: skip
def test_a_migration_names_a_resource(document, expected):
    found = kind("storagemigration.k8s.io/v1beta1", "StorageVersionMigration")
    problems = texts(found.validation_problems(document))
    assert [
        problem[: len(text)] for problem, text in zip(problems, expected, strict=True)
    ] == expected


def condition(name: str, status: str = "True", **fields: Any) -> dict[str, Any]:
    return CONDITION | {"type": name, "status": status} | fields


@pytest.mark.parametrize(
    ("status", "old", "expected"),
    [
        ({"resourceVersion": "5", "conditions": [condition("Running")]}, {}, []),
        ({"resourceVersion": "05"}, {}, ["not well formed: 05"]),
        ({"resourceVersion": "6"}, {"resourceVersion": "5"}, ["field is immutable"]),
        ({"conditions": [condition("Succeeded"), condition("Failed")]}, {},
         ["cannot be true at the same time"]),
        ({"conditions": []}, {"conditions": [condition("Succeeded")]},
         ["Success condition cannot be set to false"]),
        ({"conditions": [condition("Failed", "False")]}, {"conditions": [condition("Failed")]},
         ["Failed condition cannot be set to false"]),
        ({"conditions": [condition("Running", reason="a b")]}, {},
         ["a condition reason must start"]),
        ({"conditions": [condition("Running", reason="", observedGeneration=-1)]}, {},
         ["must be greater than or equal to zero", "reason: Required value"]),
        ({"conditions": [condition("Running", reason="a" * 1025, message="b" * 32769)]}, {},
         ["may not be more than 1024 bytes", "may not be more than 32768 bytes"]),
    ],
)  # fmt: skip
def test_the_status_of_a_migration(status, old, expected):
    found = kind("storagemigration.k8s.io/v1beta1", "StorageVersionMigration")
    problems = texts(found.status_problems(migration("a", **status), migration("a", **old)))
    assert len(problems) == len(expected)
    assert all(part in problem for part, problem in zip(expected, problems, strict=True))


def test_a_migration_keeps_its_resource():
    found = kind("storagemigration.k8s.io/v1beta1", "StorageVersionMigration")
    (problem,) = found.update_problems(migration("b"), migration("a"))
    assert problem[1] == (
        'Invalid value: {"Resource":{"group":"","resource":"b"}}: field is immutable'
    )
