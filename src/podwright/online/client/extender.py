"""An HTTP client for extenders.

A call is a POST of JSON; every error is part of the reply, never an exception. Connections are
reused for later calls to the same extender.

Differences to upstream's client: no proxy from the environment, no HTTP/2, and redirects are
not followed (the redirect's status is the reply's). See docs/decisions/0006-extender-http.md.

Upstream: pkg/scheduler/extender.go, `makeTransport`, `send`
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import socket
import ssl
import tempfile
import time
import weakref
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, unquote, urlsplit

from podwright.apimachinery.objects import SECOND_NS, FieldError, InputError
from podwright.online.client.kubeconfig import pem_text
from podwright.scheduler.config import (
    Extender,
    ExtenderCall,
    ExtenderReply,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
)

MOST_BODY_BYTES = 512 << 20
"""The maximum size of a reply; a longer one is an error."""

_HEADERS = {"Content-Type": "application/json", "User-Agent": "podwright"}
_PASSWORD = re.compile("(?<=://)([^/?#:@]*):[^/?#]*@")
"""Of the user in a URL, which errors do not show."""


class ExtenderClient:
    """Calls the extenders of a configuration.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration
    source : str
        The source of the configuration, for errors.

    Attributes
    ----------
    close : callable
        Closes all open connections. It is also called when the client is garbage-collected.

    Raises
    ------
    InputError
        If certificates or keys that the configuration names cannot be used.
    """

    def __init__(
        self, configuration: KubeSchedulerConfiguration, *, source: str = "configuration"
    ) -> None:
        self._extenders: dict[int, _Connections] = {}
        problems: list[FieldError] = []
        for index, settings in enumerate(configuration.extenders):
            try:
                self._extenders[index] = _Connections(settings)
            except (OSError, ValueError) as error:
                # The ssl module reports certificate errors as an OSError.
                path = f"extenders[{index}].tlsConfig"
                problems.append(FieldError(source=source, path=path, message=_error_text(error)))
        if problems:
            raise InputError(problems)
        self.close = weakref.finalize(self, _close_all, list(self._extenders.values()))

    def call(self, call: ExtenderCall) -> ExtenderReply:
        """Make one call; errors are part of the reply."""
        try:
            return self._extenders[call.extender].post(call)
        except TimeoutError:
            seconds = call.timeout_ns / SECOND_NS
            return _failed(call, f"no reply within {seconds:g}s (httpTimeout)")
        except (OSError, HTTPException, ValueError) as error:
            return _failed(call, _error_text(error))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _close_all(extenders: list[_Connections]) -> None:
    for connections in extenders:
        connections.close()


def _failed(call: ExtenderCall, why: str) -> ExtenderReply:
    url = _PASSWORD.sub(r"\1:***@", call.url)
    return ExtenderReply(error=f'Post "{url}": {why}')


def _error_text(error: Exception) -> str:
    """Return the text of an exception."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate cannot be verified: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"
    return str(error) or type(error).__name__


class _Connections:
    """One extender: its TLS settings and its idle connections."""

    def __init__(self, settings: Extender) -> None:
        self._tls = settings.tls_config or ExtenderTLSConfig()
        is_https = settings.enable_https or settings.url_prefix.lower().startswith("https:")
        self._context = _context(settings, self._tls) if is_https else None
        # Calls of several threads each have their own connection.
        self._idle: list[_Connection] = []
        self._process = os.getpid()
        self._of_parent: list[_Connection] = []

    def post(self, call: ExtenderCall) -> ExtenderReply:
        """Make one call.

        Raises
        ------
        OSError, HTTPException, ValueError
            If the reply is incomplete, or the URL is invalid.
        """
        deadline = time.monotonic() + call.timeout_ns / SECOND_NS
        url = urlsplit(call.url)
        connection = self._take(url)
        try:
            connection.deadline = deadline
            target = f"{url.path or '/'}?{url.query}" if url.query else url.path
            connection.request("POST", target, body=call.body, headers=_headers(url))
            with connection.getresponse() as response:
                reply = ExtenderReply(status=response.status, body=_whole_body(response))
                is_kept = not response.will_close
        except BaseException:
            connection.close()
            raise
        if is_kept:
            self._idle.append(connection)
        else:
            connection.close()
        return reply

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _take(self, url: SplitResult) -> _Connection:
        """Return an idle connection that can be reused, else a new one."""
        if self._process != os.getpid():
            # A copy of the process: the server continues with the connections, which stay open.
            self._process = os.getpid()
            self._of_parent, self._idle = self._idle, []
        with contextlib.suppress(IndexError):  # another thread may have taken the last one
            while True:
                kept = self._idle.pop()
                if kept.is_good():
                    return kept
                kept.close()
        if url.scheme not in ("http", "https"):
            raise ValueError(f'unsupported protocol scheme "{url.scheme}"')
        if not url.hostname:
            raise ValueError("no Host in request URL")
        context = self._context if url.scheme == "https" else None
        port = url.port or (443 if url.scheme == "https" else 80)
        return _Connection(url.hostname, port, context, self._tls.server_name)


def _headers(url: SplitResult) -> dict[str, str]:
    """Return the headers of a call; a user in the URL is sent as Go's client sends it."""
    if "@" not in url.netloc:
        return _HEADERS
    user = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
    return _HEADERS | {"Authorization": f"Basic {b64encode(user.encode()).decode()}"}


def _whole_body(response: HTTPResponse) -> bytes:
    body = response.read(MOST_BODY_BYTES + 1)
    if len(body) > MOST_BODY_BYTES:
        raise ValueError(f"the reply is longer than {MOST_BODY_BYTES} bytes")
    if response.length:
        raise ValueError("the reply ends too early")
    return body


class _Connection(HTTPConnection):
    """A connection on which a whole exchange has one deadline.

    The standard library's timeout applies to each read, so an extender that sends single bytes
    would never exceed it.

    Attributes
    ----------
    deadline : float
        In seconds of the monotonic clock; set before each exchange.
    """

    deadline: float

    def __init__(
        self, host: str, port: int, context: ssl.SSLContext | None, server_name: str
    ) -> None:
        super().__init__(host, port)
        self._context = context
        self._server_name = server_name or host

    def connect(self) -> None:
        """Connect and, for https, shake hands."""
        plain = socket.create_connection((self.host, self.port), timeout=_left(self.deadline))
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                plain.settimeout(_left(self.deadline))
                plain = self._context.wrap_socket(plain, server_hostname=self._server_name)
        except BaseException:
            plain.close()
            raise
        self.sock: Any = _TimedSocket(plain, self)

    def is_good(self) -> bool:
        """Whether an idle connection can be reused: no data and no end has arrived."""
        if self.sock is None:
            return False
        readable, _, _ = select.select([self.sock], [], [], 0)
        return not readable


class _TimedSocket:
    """The socket interface of http.client, with a check of the deadline before each step."""

    def __init__(self, plain: socket.socket, connection: _Connection) -> None:
        self._plain = plain
        self._connection = connection

    def sendall(self, data: Any) -> None:
        self._plain.settimeout(_left(self._connection.deadline))
        self._plain.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        # Closing the socket takes effect when the file is closed, as http.client expects.
        raw = self._plain.makefile("rb", buffering=0)
        return io.BufferedReader(_TimedReader(raw, self._plain, self._connection))

    def fileno(self) -> int:
        return self._plain.fileno()

    def close(self) -> None:
        self._plain.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, plain: socket.socket, connection: _Connection) -> None:
        self._raw = raw
        self._plain = plain
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._plain.settimeout(_left(self._connection.deadline))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _left(deadline: float) -> float:
    """Return the seconds that are left.

    Raises
    ------
    TimeoutError
        If there are none.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


# -------------------------------------------------------------------- TLS


def _context(settings: Extender, tls: ExtenderTLSConfig) -> ssl.SSLContext:
    """Return the TLS settings of an extender.

    Notes
    -----
    `enableHTTPS` without a CA means that the certificate is not verified.
    """
    has_ca = tls.ca_data or tls.ca_file
    if tls.insecure and has_ca:
        raise ValueError("a root certificates file with the insecure flag is not allowed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if has_ca:
        if tls.ca_data:
            context.load_verify_locations(cadata=pem_text(tls.ca_data))
        else:
            context.load_verify_locations(cafile=tls.ca_file)
    elif tls.insecure or settings.enable_https:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_default_certs()
    has_certificate = bool(tls.cert_data or tls.cert_file)
    if has_certificate != bool(tls.key_data or tls.key_file):
        raise ValueError("a client certificate needs its key, and a key its certificate")
    if has_certificate:
        with (
            _as_file(tls.cert_data, tls.cert_file) as cert,
            _as_file(tls.key_data, tls.key_file) as key,
        ):
            context.load_cert_chain(cert, key)
    return context


@contextmanager
def _as_file(data: bytes, name: str) -> Iterator[str | Path]:
    """Yield a temporary file with `data`, readable by this user only; without data, file `name`."""
    if not data:
        yield name
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pem"
        file.touch(mode=0o600)
        file.write_bytes(data)
        yield file
