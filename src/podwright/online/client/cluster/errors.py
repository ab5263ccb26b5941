"""Errors of requests to a cluster, each in one line with what to do."""

from __future__ import annotations

import base64
import binascii
import errno
import os
import re
import ssl
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import msgspec

from podwright.apimachinery.objects import UNDECODABLE, PodwrightError, timestamp_text

_MISSING_RIGHT: Final = re.compile(r'cannot \w+ (resource|path) "[^"]*"( in API group "[^"]*")?')
"""Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go"""


class UnreachableCluster(PodwrightError):  # noqa: N818 - named for what it is
    """A cluster that does not answer; the text says why and what to do.

    Attributes
    ----------
    cause : str
        Why, without what to do.
    is_passing : bool
        Whether a later attempt may succeed: the server may be starting.
    """

    is_remote = True

    def __init__(self, cause: str, advice: str = "", *, is_passing: bool = True) -> None:
        super().__init__(f"{cause}; {advice}" if advice else cause)
        self.cause = cause
        self.is_passing = is_passing


class RejectedRequest(PodwrightError):  # noqa: N818 - named for what it is
    """A request that the API server rejected.

    Attributes
    ----------
    status : int
        The HTTP status.
    reason : str
        The reason of the Status object, such as Expired; "" without one.
    retry_after_seconds : float
        What the server demands; 0 without it.
    missing_right : str
        The verb, the resource and the API group that RBAC does not grant; "" for other reasons,
        such as admission.
    cause : str
        What the server says, without the name of the cluster and what to do.
    """

    is_remote = True

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str = "",
        retry_after_seconds: float = 0.0,
        cause: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.cause = cause or message
        self.retry_after_seconds = retry_after_seconds
        found = _MISSING_RIGHT.search(message)
        self.missing_right = "" if found is None else found[0]

    @property
    def is_passing(self) -> bool:
        """Whether a later attempt may succeed: the server is overloaded, or has failed."""
        return (
            self.status == HTTPStatus.TOO_MANY_REQUESTS
            or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        )


class _Details(msgspec.Struct, frozen=True, kw_only=True):
    retryAfterSeconds: int = 0  # noqa: N815 - the field of the API


class StatusObject(msgspec.Struct, frozen=True):
    """The fields that are read of a Status object."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


def status_of(body: bytes) -> StatusObject:
    """Read a Status object; an empty one if the body is something else."""
    try:
        return msgspec.json.decode(body, type=StatusObject)
    except UNDECODABLE:
        return StatusObject()


def rejection(
    body: bytes, *, status: int, retry_after: str, what: str, token: str = ""
) -> RejectedRequest:
    """Return the error for a reply.

    Parameters
    ----------
    body : bytes
    status : int
        The HTTP status.
    retry_after : str
        The header; "" without it.
    what : str
        The cluster, such as `context "prod"`.
    token : str
        The bearer token of the request; "" without one.
    """
    found = status_of(body)
    details = found.details
    seconds = float(retry_after) if retry_after.isdecimal() else 0.0
    if not seconds and details is not None:
        seconds = details.retryAfterSeconds
    return RejectedRequest(
        _rejection_text(found, status, what, token),
        status=status,
        reason=found.reason,
        retry_after_seconds=seconds,
        cause=found.message or _phrase(status),
    )


def _rejection_text(found: StatusObject, status: int, what: str, token: str) -> str:
    text = found.message or _phrase(status)
    if status == HTTPStatus.UNAUTHORIZED:
        expiry = _expiry_text(token)
        return (
            f"{what}: the server rejects the credentials{expiry} (401 Unauthorized); log in again, "
            "or renew the token or the certificate in the kubeconfig"
        )
    # The status is 403, but 422 if a strategy checks further rights within a request.
    if _MISSING_RIGHT.search(text):
        return (
            f"{what}: {text}; ask an administrator to grant it: deploy/reader has the rights of "
            "commands that read, deploy/scheduler those of podwright scheduler"
        )
    if status < HTTPStatus.BAD_REQUEST:
        return (
            f"{what}: the server redirects to another address (status {status}); check its address "
            "in the command line or the kubeconfig"
        )
    return f"{what}: {text} (status {status})"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "the request failed"


def _expiry_text(token: str) -> str:
    """Return since when a JSON web token is expired; "" if that is not known."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        body = base64.urlsafe_b64decode(parts[1] + "==")  # more than needed is allowed
        claims = msgspec.json.decode(body)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return ""
    expiry = claims.get("exp") if isinstance(claims, dict) else None
    if not isinstance(expiry, int | float):
        return ""
    return f", whose token is valid until {timestamp_text(int(expiry) * 1_000_000_000)}"


def connection_failure(error: Exception, server: str) -> UnreachableCluster:
    """Return the error for a connection that was not made, or was cut."""
    # aiohttp's errors are errors of ssl and of the system, with the original one inside.
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return UnreachableCluster(
            f"{server}: the server's certificate cannot be verified: {cause.verify_message}",
            "set certificate-authority-data or tls-server-name in the kubeconfig",
            is_passing=False,
        )
    if isinstance(cause, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return UnreachableCluster(f"{server}: the connection was cut")
    if isinstance(cause, TimeoutError):
        return UnreachableCluster(f"{server}: no reply in time", "check the network and the proxy")
    number: Any = getattr(cause, "errno", None)
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    if isinstance(cause, ssl.SSLError):  # its numbers are those of OpenSSL
        text = f"TLS failed: {(cause.reason or text).replace('_', ' ').lower()}"
    elif number in errno.errorcode:
        text = os.strerror(number)
    return UnreachableCluster(
        f"{server} cannot be reached: {text}",
        "check that the cluster runs, and its address in the command line or the kubeconfig",
    )
