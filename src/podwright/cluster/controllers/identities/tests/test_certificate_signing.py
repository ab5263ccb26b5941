"""Approved requests are signed once, and refused ones fail."""

from __future__ import annotations

from base64 import b64decode

import pytest

from podwright.cluster.controllers.identities import (
    CLIENT,
    CertificateSigningController,
    RefusedRequestError,
)
from podwright.cluster.controllers.tests.staged_cluster import Cluster, document

REQUEST = ("certificates.k8s.io", "CertificateSigningRequest")


def a_request(*states, signer=CLIENT, status=(), **spec):
    conditions = [{"type": state, "status": "True"} for state in states]
    return document(
        "CertificateSigningRequest",
        "r",
        api="certificates.k8s.io/v1",
        spec={"request": "cmVxdWVzdA==", "signerName": signer, "usages": ["client auth"]} | spec,
        status={"conditions": conditions} | dict(status),
    )


def signed_status(request):
    def sign(text, signer, usages, seconds):
        if text == "":
            raise RefusedRequestError("no request")
        return f"{text} {signer} {','.join(usages)} {seconds}".encode()

    cluster = Cluster([lambda lister: CertificateSigningController(lister, sign)])
    cluster.add(request)
    cluster.run(1)
    return cluster.status(REQUEST, "r")


@pytest.mark.parametrize(
    ("expiration", "seconds"), [(None, 31_536_000), (1, 600), (3_600, 3_600), (10**9, 31_536_000)]
)
def test_an_approved_request_gets_a_certificate(expiration, seconds):
    more = {} if expiration is None else {"expirationSeconds": expiration}
    found = signed_status(a_request("Approved", **more))
    certificate = b64decode(found["certificate"]).decode()
    assert certificate == f"cmVxdWVzdA== {CLIENT} client auth {seconds}"
    assert [each["type"] for each in found["conditions"]] == ["Approved"]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(a_request(), id="not approved"),
        pytest.param(a_request("Approved", "Failed"), id="failed"),
        pytest.param(a_request("Approved", signer="example.com/own"), id="another signer"),
        pytest.param(a_request("Approved", status={"certificate": "bWluZQ=="}.items()), id="done"),
    ],
)
def test_other_requests_stay_as_they_are(request_):
    assert signed_status(request_) == request_.raw["status"]


def test_a_refused_request_fails():
    found = signed_status(a_request("Approved", request=""))
    assert "certificate" not in found
    (_, failed) = found["conditions"]
    assert (failed["type"], failed["status"]) == ("Failed", "True")
    assert (failed["reason"], failed["message"]) == ("SignerValidationFailure", "no request")
