"""What the errors of connections and rejections say, and what to do."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from typing import Any

import aiohttp
import pytest

from podwright.online.client.cluster.errors import (
    RejectedRequest,
    StatusObject,
    connection_failure,
    rejection,
    status_of,
)

WHERE = "https://a:1"
REACH = "check that the cluster runs, and its address in the command line or the kubeconfig"


def certificate_error(message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "long text")
    error.verify_message = message
    return error


TLS_ERROR = ssl.SSLError(1, "long text")  # 1 is EPERM, too
TLS_ERROR.reason = "WRONG_VERSION_NUMBER"


class WrappingError(Exception):
    """An error of aiohttp, which has the original one inside."""

    def __init__(self, **inside: Exception) -> None:
        super().__init__("outside")
        vars(self).update(inside)


@pytest.mark.parametrize(
    ("error", "cause", "advice"),
    [
        pytest.param(
            certificate_error("expired"),
            f"{WHERE}: the server's certificate cannot be verified: expired",
            "set certificate-authority-data or tls-server-name in the kubeconfig",
            id="certificate",
        ),
        pytest.param(
            WrappingError(certificate_error=certificate_error("self-signed")),
            f"{WHERE}: the server's certificate cannot be verified: self-signed",
            "set certificate-authority-data or tls-server-name in the kubeconfig",
            id="certificate in an error of aiohttp",
        ),
        pytest.param(
            aiohttp.ClientPayloadError("short"), f"{WHERE}: the connection was cut", "", id="body"
        ),
        pytest.param(
            aiohttp.ServerDisconnectedError(), f"{WHERE}: the connection was cut", "", id="end"
        ),
        pytest.param(
            TimeoutError(),
            f"{WHERE}: no reply in time",
            "check the network and the proxy",
            id="timeout",
        ),
        pytest.param(
            WrappingError(os_error=ConnectionRefusedError(111, "odd text")),
            f"{WHERE} cannot be reached: Connection refused",
            REACH,
            id="refused",
        ),
        pytest.param(
            WrappingError(os_error=TLS_ERROR),
            f"{WHERE} cannot be reached: TLS failed: wrong version number",
            REACH,
            id="a server without TLS",
        ),
        pytest.param(
            OSError(99_999, "odd number"),
            f"{WHERE} cannot be reached: odd number",
            REACH,
            id="a number that is none of the system",
        ),
        pytest.param(
            WrappingError(os_error=socket.gaierror(-2, "Name or service not known")),
            f"{WHERE} cannot be reached: Name or service not known",
            REACH,
            id="a name that is not known",
        ),
        pytest.param(ValueError("odd"), f"{WHERE} cannot be reached: odd", REACH, id="text"),
        pytest.param(ValueError(), f"{WHERE} cannot be reached: ValueError", REACH, id="no text"),
    ],
)
def test_a_failure_of_a_connection_says_why_and_what_to_do(error, cause, advice):
    found = connection_failure(error, WHERE)
    assert found.cause == cause
    assert str(found) == (f"{cause}; {advice}" if advice else cause)
    assert found.is_remote


def token(claims: Any, parts: int = 3) -> str:
    text = claims if isinstance(claims, str) else json.dumps(claims)
    body = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return ".".join(["head", body, "signature", "more"][:parts])


@pytest.mark.parametrize(
    ("given", "expiry"),
    [
        (token({"exp": 1_700_000_000}), ", whose token is valid until 2023-11-14T22:13:20Z"),
        (token({"exp": 1_700_000_000.9}), ", whose token is valid until 2023-11-14T22:13:20Z"),
        (token({"exp": 10**15}), ", whose token is valid until 9999-12-31T23:59:59Z"),
        (token({"exp": 0, "sub": "x"}), ", whose token is valid until 1970-01-01T00:00:00Z"),
        (token({"exp": 1_700_000_000}, parts=2), ""),
        (token({"exp": 1_700_000_000}, parts=4), ""),
        (token({"exp": "soon"}), ""),
        (token({}), ""),
        (token([1]), ""),
        (token("no json"), ""),
        ("a.b.c", ""),
        ("opaque", ""),
        ("", ""),
    ],
)
def test_rejected_credentials_say_until_when_a_web_token_was_valid(given, expiry):
    found = rejection(b"{}", status=401, retry_after="", what='context "prod"', token=given)
    assert str(found) == (
        f'context "prod": the server rejects the credentials{expiry} (401 Unauthorized); log in '
        "again, or renew the token or the certificate in the kubeconfig"
    )
    assert (found.status, found.cause, found.is_remote) == (401, "Unauthorized", True)


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (409, {"message": "there is one"}, "x: there is one (status 409)"),
        (404, {}, "x: Not Found (status 404)"),
        (599, {}, "x: the request failed (status 599)"),
        (400, {}, "x: Bad Request (status 400)"),
        (403, {"message": "webhook says no"}, "x: webhook says no (status 403)"),
        (
            403,
            {"message": 'u cannot get path "/metrics"'},
            'x: u cannot get path "/metrics"; ask an administrator to grant it: deploy/reader has '
            "the rights of commands that read, deploy/scheduler those of podwright scheduler",
        ),
    ],
)
def test_a_rejection_has_the_message_of_the_server_or_the_phrase_of_its_status(status, body, text):
    found = rejection(json.dumps(body).encode(), status=status, retry_after="", what="x")
    assert str(found) == text
    assert found.cause == body.get("message", text.removeprefix("x: ").partition(" (")[0])


def test_a_redirection_says_to_check_the_address():
    found = rejection(b"", status=302, retry_after="", what="x")
    assert (str(found), found.cause) == (
        "x: the server redirects to another address (status 302); check its address in the command "
        "line or the kubeconfig",
        "Found",
    )


@pytest.mark.parametrize("status", [200, 404, 408, 409, 428, 429, 430, 499, 500, 503, 504])
def test_a_later_attempt_may_pass_where_the_server_is_overloaded_or_has_failed(status):
    found = rejection(b"{}", status=status, retry_after="", what="x")
    assert found.is_passing is (status == 429 or status >= 500)
    # What the server does not say is empty, and it demands no wait.
    bare = RejectedRequest("no", status=status)
    assert (bare.reason, bare.cause, bare.missing_right) == ("", "no", "")
    assert (bare.retry_after_seconds, bare.is_passing) == (0, found.is_passing)


@pytest.mark.parametrize(
    ("message", "right"),
    [
        ('u cannot list resource "x" in API group "" at y', 'list resource "x" in API group ""'),
        ('u cannot get resource "jobs/status" in API', 'get resource "jobs/status"'),
        ('u cannot get path "/healthz"', 'get path "/healthz"'),
        ("u cannot do this", ""),
    ],
)
def test_a_missing_right_is_named_by_verb_resource_and_group(message, right):
    body = json.dumps({"message": message}).encode()
    found = rejection(body, status=403, retry_after="", what="x")
    assert found.missing_right == (f"cannot {right}" if right else "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"message":"m","reason":"r","code":7,"more":1}', StatusObject("m", "r", 7)),
        (b"<html>", StatusObject()),
        (b'{"message":1}', StatusObject()),
        (b"\xff", StatusObject()),
        (b"", StatusObject()),
    ],
)
def test_what_is_no_status_object_is_an_empty_one(body, expected):
    assert status_of(body) == expected
