"""Validation of certificate requests."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import approval_problems, built_in

PEM = b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\n").decode()
CERTIFICATE = b64encode(b"-----BEGIN CERTIFICATE-----\n").decode()


def request(
    conditions: list[Document] | None = None, certificate: str = "", **spec: Any
) -> Document:
    fields = {"request": PEM, "signerName": "acme.io/signer", "usages": ["client auth"]} | spec
    status = {"conditions": conditions or [], "certificate": certificate}
    return {"metadata": {"name": "r"}, "spec": fields, "status": status}


def condition(kind: str, status: str = "True", **more: str) -> Document:
    return {"type": kind, "status": status, **more}


def texts(found: list[Any]) -> list[str]:
    return [f"{path}: {message}" for path, message, _ in found]


def kind() -> Any:
    return built_in().find("certificates.k8s.io/v1", "CertificateSigningRequest")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"request": "eA=="},
         ['spec.request: Invalid value: "eA==": PEM block type must be CERTIFICATE REQUEST']),
        ({"usages": []}, ["spec.usages: Required value"]),
        ({"usages": ["any", "any"]}, ['spec.usages[1]: Duplicate value: "any"']),
        ({"signerName": ""}, ["spec.signerName: Required value"]),
        ({"signerName": "x"}, [
            'spec.signerName: Invalid value: "x": must be a fully qualified domain and path of the'
            " form 'example.com/signer-name'"]),
        ({"signerName": "acme/x"}, [
            'spec.signerName: Invalid value: "acme": should be a domain with at least two segments'
            " separated by dots"]),
        ({"signerName": "kubernetes.io/legacy-unknown"}, [
            'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName'
            " is not allowed via this API version"]),
        ({"expirationSeconds": 599}, [
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600"
            " seconds (10 minutes)"]),
    ],
)  # fmt: skip
def test_a_new_request(fields, expected):
    assert texts(kind().validation_problems(request(**fields))) == expected


def test_the_labels_of_a_signer_are_checked():
    (found,) = texts(kind().validation_problems(request(signerName="A.io/x")))
    assert found.startswith('spec.signerName: Invalid value: "A.io": validating label "A": a low')


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ([condition("Approved")], [], []),
        ([condition("Approved", "False")], [], [
            'status.conditions[0].status: Unsupported value: "False": supported values: "True"']),
        ([], [condition("Denied")], [
            'status.conditions: Forbidden: updates may not remove a condition of type "Denied"']),
        ([condition("Approved"), condition("Denied")], [], [
            'status.conditions: Invalid value: "Denied": Approved and Denied conditions are'
            " mutually exclusive"]),
        ([condition("X", "")], [], ["status.conditions[0].status: Required value"]),
        ([condition("X"), condition("X")], [],
         ['status.conditions[1].type: Duplicate value: "X"']),
    ],
)  # fmt: skip
def test_an_approval(new, old, expected):
    assert texts(approval_problems(request(new), request(old))) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (request(certificate=CERTIFICATE), request(), []),
        (request(certificate="eA=="), request(), [
            'status.certificate: Invalid value: "<certificate data>": must contain at least one'
            " CERTIFICATE PEM block"]),
        (request(certificate=CERTIFICATE + "eA=="), request(certificate=CERTIFICATE), [
            "status.certificate: Forbidden: updates may not modify existing certificate content"]),
        (request([condition("Approved")]), request(), [
            'status.conditions: Forbidden: updates may not add a condition of type "Approved"']),
        (request([condition("Denied", reason="a")]), request([condition("Denied", reason="b")]), [
            'status.conditions: Forbidden: updates may not modify a condition of type "Denied"\n'
            '@@ -2,7 +2,7 @@\n  {\n   "Type": "Denied",\n   "Status": "True",\n-  "Reason": "b",\n'
            '+  "Reason": "a",\n   "Message": "",\n   "LastUpdateTime": null,\n'
            '   "LastTransitionTime": null\n']),
        (request([condition("Failed")]), request(), []),
    ],
)  # fmt: skip
def test_a_changed_status(new, old, expected):
    assert texts(kind().status_problems(new, old)) == expected


def test_the_certificate_is_set_in_the_status_only():
    found = approval_problems(request(certificate=CERTIFICATE), request())
    assert texts(found) == [
        "status.certificate: Forbidden: updates may not set certificate content"
    ]
