"""The client of extenders, against a server of the test that says what it has to send."""

from __future__ import annotations

import os
import re
import socket
import ssl
import stat
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from podwright.online.client import extender as module
from podwright.online.client.extender import ExtenderClient, _as_file, _error_text, _TimedSocket
from podwright.scheduler.config import (
    Extender,
    ExtenderCall,
    ExtenderReply,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
)

SECOND = 1_000_000_000


class RawServer:
    """Sends bytes as they are; a connection ends after a reply of `closing`.

    Attributes
    ----------
    connections : int
        How many were accepted.
    requests : list of bytes
    """

    def __init__(self, replies: list[bytes], closing: set[int]) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self._replies = replies
        self._closing = closing
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self.closed = threading.Event()
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        while text := self._request(connection):
            number = len(self.requests)
            self.requests.append(text)
            connection.sendall(self._replies[number])
            if number in self._closing:
                connection.close()
                self.closed.set()
                return

    @staticmethod
    def _request(connection: socket.socket) -> bytes:
        found = b""
        try:
            while not found.endswith(b"{}"):  # the body of each call of these tests
                part = connection.recv(65536)
                if not part:
                    return b""
                found += part
        except OSError:
            return b""
        return found

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # which ends the wait for a connection
        self._accepting.join()
        self._listener.close()
        for connection in self._open:
            connection.close()


@contextmanager
def serving(*replies: bytes, closing: set[int] | None = None) -> Iterator[RawServer]:
    server = RawServer(list(replies), closing or set())
    try:
        yield server
    finally:
        server.close()


def reply(body: bytes, *, length: int | None = None, status: str = "200 OK") -> bytes:
    size = len(body) if length is None else length
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), size, body)


def client_of(**settings: object) -> ExtenderClient:
    extender = Extender(url_prefix="http://extender", filter_verb="filter", **settings)  # type: ignore[arg-type]
    return ExtenderClient(KubeSchedulerConfiguration(extenders=(extender,)))


def called(
    client: ExtenderClient, url: str, timeout_ns: int = 20 * SECOND, body: bytes = b"{}"
) -> ExtenderReply:
    call = ExtenderCall(extender=0, verb="filter", url=url, body=body, timeout_ns=timeout_ns)
    return client.call(call)


def test_a_reply_is_returned_whole_with_its_status():
    body = b"x" * 200_000
    with serving(reply(body), reply(b"no", status="500 E")) as server, client_of() as client:
        url = f"http://127.0.0.1:{server.port}/some/filter?a=b"
        assert called(client, url) == ExtenderReply(status=200, body=body)
        assert called(client, url) == ExtenderReply(status=500, body=b"no")
    host = b"127.0.0.1:%d" % server.port
    assert server.requests[0] == (
        b"POST /some/filter?a=b HTTP/1.1\r\nHost: %b\r\nAccept-Encoding: identity\r\n"
        b"Content-Length: 2\r\nContent-Type: application/json\r\nUser-Agent: podwright\r\n\r\n{}"
        % host
    )


@pytest.mark.parametrize(
    ("place", "target"),
    [("", b"/"), ("?a=b", b"/?a=b"), ("/", b"/"), ("/f", b"/f"), ("/f?a", b"/f?a")],
)
def test_an_address_without_a_path_has_the_root(place, target):
    with serving(reply(b"")) as server, client_of() as client:
        assert called(client, f"http://127.0.0.1:{server.port}{place}").status == 200
    assert server.requests[0].split(b" ")[1] == target


@pytest.mark.parametrize(
    ("user", "shown", "sent"),
    [
        pytest.param("", "", None, id="none"),
        pytest.param("me:a%40b@", "me:***@", "me:a@b", id="with a password"),
        pytest.param("m%20e@", "m%20e@", "m e:", id="without one"),
        pytest.param(":a/b:c@d@", ":a/b:c@d@", None, id="of a path"),
    ],
)
def test_a_user_in_the_address_is_sent_and_no_error_has_the_password(user, shown, sent):
    # net/http sends both as basic authentication, and url.Error hides the password.
    with serving(reply(b""), reply(b"", length=3), closing={1}) as server, client_of() as client:
        place = f"127.0.0.1:{server.port}"
        url = f"http://{place}/{user}" if "/" in user else f"http://{user}{place}/f"
        assert called(client, url).status == 200
        error = called(client, url).error
    assert error == f'Post "{url.replace(user, shown)}": the reply ends too early'
    (line,) = re.findall(rb"Authorization: Basic (.*?)\r\n", server.requests[0]) or [None]
    assert (line and b64decode(line).decode()) == sent
    assert b"Host: %s\r\n" % place.encode() in server.requests[0]


def test_what_a_connection_is_to_after_a_call_depends_on_the_reply():
    closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"
    with serving(closing, reply(b"b"), reply(b"123", length=9), closing={2}) as server:
        client = client_of()
        idle, url = client._extenders[0]._idle, f"http://127.0.0.1:{server.port}/f"
        assert (called(client, url).body, idle) == (b"a", [])
        assert called(client, url).body == b"b"
        (kept,) = idle
        assert kept.is_good()
        assert called(client, url).error
        assert (idle, kept.sock) == ([], None)
        assert not kept.is_good()
        assert server.connections == 2


def test_a_client_that_ends_closes_its_idle_connections():
    with serving(reply(b"")) as server:
        with client_of() as client:
            called(client, f"http://127.0.0.1:{server.port}/f")
            (connection,) = client._extenders[0]._idle
            assert connection.sock is not None
            without_delay = connection.sock._plain.getsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY
            )
        assert (client._extenders[0]._idle, connection.sock) == ([], None)
        assert without_delay


def test_a_handshake_that_fails_closes_the_connection():
    opened: list[socket.socket] = []
    seconds: list[float | None] = []

    class Context:
        def wrap_socket(self, plain: socket.socket, *, server_hostname: str) -> socket.socket:
            opened.append(plain)
            seconds.append(plain.gettimeout())
            raise ssl.SSLError(1, f"not {server_hostname}")

    with serving() as server, client_of(enable_https=True) as client:
        context: Any = Context()
        client._extenders[0]._context = context
        url = f"https://127.0.0.1:{server.port}/f"
        assert called(client, url) == ExtenderReply(error=f'Post "{url}": not 127.0.0.1')
    (plain,), (left,) = opened, seconds
    assert plain.fileno() == -1
    assert left is not None
    assert 0 < left <= 20, "of the time of the call"


def test_a_connection_is_used_again_unless_the_server_has_ended_it():
    replies = [reply(b"%d" % number) for number in range(3)]
    with serving(*replies, closing={1}) as server, client_of() as client:
        url = f"http://127.0.0.1:{server.port}/filter"
        assert [called(client, url).body for _ in range(2)] == [b"0", b"1"]
        assert server.connections == 1
        assert server.closed.wait(20)
        assert called(client, url).body == b"2"
        assert server.connections == 2


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        pytest.param(reply(b"{}", length=3), "the reply ends too early", id="cut"),
        pytest.param(reply(b"123456"), "the reply is longer than 5 bytes", id="too long"),
        pytest.param(b"", "Remote end closed connection without response", id="none"),
        pytest.param(b"odd\r\n\r\n", "odd\r\n", id="no HTTP"),
    ],
)
def test_a_reply_that_is_not_whole_is_an_error_of_the_call(monkeypatch, sent, why):
    monkeypatch.setattr(module, "MOST_BODY_BYTES", 5)
    with serving(sent, reply(b"12345"), closing={0}) as server, client_of() as client:
        url = f"http://127.0.0.1:{server.port}/filter"
        assert called(client, url) == ExtenderReply(error=f'Post "{url}": {why}')
        assert called(client, url).body == b"12345", "the next call has a new connection"


def test_a_kept_connection_is_used_at_once():
    with serving(reply(b"1"), reply(b"2")) as server, client_of() as client:
        url = f"http://127.0.0.1:{server.port}/filter"
        assert called(client, url).body == b"1"
        assert called(client, url, SECOND // 2).body == b"2"


def test_a_connection_that_is_not_accepted_ends_at_the_timeout_too():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, client_of() as client:
        address = full.getsockname()
        # What the kernel accepts by itself fills its queue; the call is one more.
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        url = f"http://127.0.0.1:{address[1]}/filter"
        begun = time.monotonic()
        error = called(client, url, SECOND // 5).error
        for each in waiting:
            each.close()
    assert error == f'Post "{url}": no reply within 0.2s (httpTimeout)'
    assert time.monotonic() - begun < 10


def test_a_call_ends_at_its_timeout():
    with serving(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1") as server, client_of() as client:
        url = f"http://127.0.0.1:{server.port}/filter"
        error = called(client, url, SECOND // 5).error
        assert error == f'Post "{url}": no reply within 0.2s (httpTimeout)'


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://a/b", 'unsupported protocol scheme "ftp"'),
        ("http:///b", "no Host in request URL"),
    ],
)
def test_an_address_that_cannot_be_called_is_an_error_of_the_call(url, why):
    with client_of() as client:
        assert called(client, url) == ExtenderReply(error=f'Post "{url}": {why}')


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://host/f", ("host", 80)),
        ("https://host/f", ("host", 443)),
        ("https://host:8443/f", ("host", 8443)),
        ("http://[::1]:81", ("::1", 81)),
    ],
)
def test_the_port_is_that_of_the_address_or_of_its_scheme(url, place):
    with client_of() as client:
        connection = client._extenders[0]._take(urlsplit(url))
    assert (connection.host, connection.port) == place


@pytest.mark.parametrize(("named", "expected"), [("inner.example", "inner.example"), ("", "host")])
def test_the_certificate_is_that_of_the_server_name_else_of_the_host(named, expected):
    client = client_of(enable_https=True, tls_config=ExtenderTLSConfig(server_name=named))
    with client:
        connection = client._extenders[0]._take(urlsplit("https://host/filter"))
    assert connection._server_name == expected
    assert (connection.host, connection.port) == ("host", 443)


def test_a_connection_ends_with_its_reply_whoever_is_closed_first():
    """As http.client has it: a reply may be read after its connection was closed."""
    for ends in (("connection", "reply"), ("reply", "connection")):
        here, there = socket.socketpair()
        with here, there:
            connection: Any = SimpleNamespace(deadline=time.monotonic() + 60)
            timed = _TimedSocket(here, connection)
            closed: dict[str, Any] = {"connection": timed, "reply": timed.makefile("rb")}
            closed[ends[0]].close()
            assert here.fileno() >= 0
            closed[ends[1]].close()
            assert here.fileno() == -1
            assert there.recv(1) == b""


def test_each_step_of_a_call_has_what_is_left_of_its_time():
    steps: list[float] = []
    plain: Any = SimpleNamespace(
        settimeout=steps.append, sendall=lambda data: steps.append(len(data))
    )

    connection: Any = SimpleNamespace(deadline=time.monotonic() + 60)
    timed = _TimedSocket(plain, connection)
    timed.sendall(b"abc")
    seconds, size = steps
    assert 0 < seconds <= 60
    assert size == 3
    connection.deadline = time.monotonic() - 0.5
    with pytest.raises(TimeoutError):
        timed.sendall(b"abc")
    assert len(steps) == 2


def certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "long text")
    error.verify_message = "expired"
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (certificate_error(), "the certificate cannot be verified: expired"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (FileNotFoundError(2, "No such file", "ca.pem"), "No such file: ca.pem"),
        (OSError("plain"), "plain"),
        (ValueError("odd"), "odd"),
        (ValueError(), "ValueError"),
    ],
)
def test_an_error_of_a_call_is_told_in_a_line(error, text):
    assert _error_text(error) == text


@pytest.mark.parametrize(
    ("settings", "has_tls"),
    [
        ({"enable_https": True}, True),
        ({"url_prefix": "HTTPS://x"}, True),
        ({"url_prefix": "http://x"}, False),
    ],
)
def test_an_extender_has_settings_of_tls_if_https_is_enabled_or_in_its_url(settings, has_tls):
    given: Any = {"url_prefix": "http://x", "filter_verb": "filter"} | settings
    with ExtenderClient(KubeSchedulerConfiguration(extenders=(Extender(**given),))) as client:
        connections = client._extenders[0]
        assert (connections._context is not None) is has_tls
        assert (connections._take(urlsplit("https://h/f"))._context is not None) is has_tls
        assert connections._take(urlsplit("http://h/f"))._context is None


def test_the_copy_of_a_process_leaves_the_connections_of_the_first_one_open(monkeypatch):
    replies = [reply(b"%d" % number) for number in range(3)]
    with serving(*replies) as server, client_of() as client:
        url = f"http://127.0.0.1:{server.port}/filter"
        assert called(client, url).body == b"0"
        connections = client._extenders[0]
        (first,) = connections._idle
        monkeypatch.setattr(os, "getpid", lambda: -1)  # as in a fork
        assert [called(client, url).body for _ in range(2)] == [b"1", b"2"]
        assert server.connections == 2, "the copy makes one and keeps it"
        assert first.sock is not None, "still open"
        assert first not in connections._idle
        first.close()


def test_a_key_in_the_configuration_is_a_file_that_only_this_user_reads():
    with _as_file(b"PEM", "unused") as name:
        file = Path(name)
        assert file.read_bytes() == b"PEM"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not file.exists()
    with _as_file(b"", "key.pem") as name:
        assert name == "key.pem"
