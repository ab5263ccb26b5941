"""Requests to a cluster that a kubeconfig names: its address, token and certificates."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.online.client.kubeconfig import choose, pem_text, read_file


class ClusterError(PodwrightError):
    """A cluster that cannot be reached, or that rejected a request; the text says why."""


class FailedCluster(ClusterError):  # noqa: N818 - named for what it is
    """A cluster that cannot be reached, or that failed; the request may be right."""

    is_remote = True


class ClusterAccess(msgspec.Struct, frozen=True, kw_only=True):
    """How a cluster is reached.

    Attributes
    ----------
    server : str
        The address.
    token : str
        The bearer token; "" for none.
    authority : bytes
        The trusted certificates, in PEM; empty for those of the system.
    server_name : str
        The name in the server's certificate, if it is not that of the address.
    is_unverified : bool
        Whether the server's certificate is not checked.
    """

    server: str
    token: str = ""
    authority: bytes = b""
    server_name: str = ""
    is_unverified: bool = False


def read_access(files: str, context: str = "") -> ClusterAccess:
    """Return the access that a context of kubeconfigs gives; of a user, only the token counts.

    Parameters
    ----------
    files : str
        Paths, separated as in $KUBECONFIG.
    context : str, optional
        The current context if left out.

    Raises
    ------
    ConnectionSettingsError
        A file cannot be read, or the context cannot be used.
    """
    choice = choose(files, context)
    cluster = choice.cluster
    return ClusterAccess(
        server=cluster.server,
        token=choice.user.token,
        authority=cluster.certificate_authority_data or read_file(cluster.certificate_authority),
        server_name=cluster.tls_server_name,
        is_unverified=cluster.insecure_skip_tls_verify,
    )


def send(
    access: ClusterAccess, method: str, path: str, body: Any = None, *, timeout_seconds: float = 60
) -> Any:
    """Send a request with JSON, and return the JSON of the reply.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or its reply is an error.
    """
    headers = {"Accept": "application/json"}
    if access.token:
        headers["Authorization"] = f"Bearer {access.token}"
    data = None
    if method != "GET":
        headers["Content-Type"] = "application/json"
        data = json.dumps({} if body is None else body)
    try:
        connection = _connection(access, timeout_seconds)
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            found = json.loads(response.read() or b"null")
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise FailedCluster(
            f"{access.server} cannot be reached: {text}; check that podwright up serves there"
        ) from error
    if response.status == HTTPStatus.UNAUTHORIZED:
        raise ClusterError(
            f"{access.server} rejects the credentials (401 Unauthorized); use the kubeconfig that "
            "the cluster wrote when it was started"
        )
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise FailedCluster(_rejection(found, response.status))
    if response.status >= HTTPStatus.BAD_REQUEST:
        raise ClusterError(_rejection(found, response.status))
    return found


def _rejection(found: Any, status: int) -> str:
    if not isinstance(found, Mapping):
        return f"the cluster answered with status {status}"
    text = str(found.get("detail") or found.get("message") or f"status {status}")
    field = found.get("field")
    return f"{field}: {text}" if field else text


def _connection(access: ClusterAccess, timeout_seconds: float) -> HTTPConnection:
    url = urlsplit(access.server)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("the address must be http://HOST:PORT or https://HOST:PORT")
    if url.scheme == "http":
        return HTTPConnection(url.hostname, url.port, timeout=timeout_seconds)
    context = ssl.create_default_context(cadata=pem_text(access.authority) or None)
    if access.is_unverified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return _TlsConnection(
        url.hostname, url.port, timeout_seconds, context, access.server_name or url.hostname
    )


class _TlsConnection(HTTPSConnection):
    """A connection whose certificate may have another name than the address."""

    def __init__(
        self,
        host: str,
        port: int | None,
        timeout_seconds: float,
        context: ssl.SSLContext,
        server_name: str,
    ) -> None:
        super().__init__(host, port, timeout=timeout_seconds, context=context)
        self._tls = context
        self._server_name = server_name

    def connect(self) -> None:
        """Connect and shake hands."""
        HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)


# Several writes of the Kubernetes API as one request, which a server of podwright takes.

WRITES: Final = "/podwright/v1/writes"
WRITES_MAX: Final = 1_000
ABSENT: Final = b"null"
"""The body of a write without one."""


class Write(
    msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A request of the Kubernetes API.

    Attributes
    ----------
    method : str
    path : str
    content_type : str
        Of the body, such as `application/merge-patch+json`.
    body : JSON
        Left out for none.
    """

    method: Literal["POST", "PUT", "PATCH", "DELETE"]
    path: Annotated[str, msgspec.Meta(pattern="^/apis?/")]
    content_type: str = "application/json"
    body: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(ABSENT))


class Writes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Writes in their order.

    Attributes
    ----------
    writes : list of Write
    """

    writes: Annotated[list[Write], msgspec.Meta(max_length=WRITES_MAX)]


class WriteReply(msgspec.Struct, frozen=True):
    """What the Kubernetes API replies to a write.

    Attributes
    ----------
    status : int
        The HTTP status.
    body : JSON
        The object, or the error; a string for paths that do not exist, as their text is not JSON.
    """

    status: int
    body: msgspec.Raw


class WriteReplies(msgspec.Struct, frozen=True):
    """The replies in the order of the writes.

    Attributes
    ----------
    replies : list of WriteReply
    """

    replies: list[WriteReply]
