"""Connections of HTTP/2: many requests at once, at the pace of their client."""

import asyncio
import contextlib
import http.client
import json
import socket
import ssl
from typing import Any

import pytest
import uvicorn
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.settings import SettingCodes
from tests.waiting import SECONDS_MAX, until
from uvicorn.server import ServerState

from podwright.online.apiserver.access.certificates import kept_certificates
from podwright.online.apiserver.tests.conftest import cluster_of, pod
from podwright.online.apiserver.tests.test_slow_clients import (
    MAPS,
    STALL_SECONDS,
    config_map,
    is_closed_by_server,
    subscriptions,
)
from podwright.online.apiserver.wire import http2, serving
from podwright.online.apiserver.wire.http2 import BODY_WINDOW_BYTES, STREAMS_MAX, Http2Protocol
from podwright.online.apiserver.wire.serving import server_context

PODS = "/api/v1/namespaces/default/pods"


class Reply:
    def __init__(self, number):
        self.number = number
        self.headers, self.body = {}, b""
        self.has_ended, self.reset = False, None

    @property
    def status(self):
        return int(self.headers[":status"])

    def json(self):
        return json.loads(self.body)


class Client:
    """A connection whose windows and reads are those that a test asks for."""

    def __init__(self, port, context, *, grants_room=True, buffer_bytes=0):
        plain = socket.socket()
        if buffer_bytes:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        plain.settimeout(SECONDS_MAX)
        plain.connect(("127.0.0.1", port))
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.frames = H2Connection(H2Configuration(header_encoding="utf-8"))
        self.frames.initiate_connection()
        self.grants_room, self.closed_for = grants_room, None
        self.replies = {}
        self.flush()

    def flush(self):
        self.socket.sendall(self.frames.data_to_send())

    def begin(self, method, path, headers=(), *, is_complete=True):
        """Send the head of a request; return its reply to come."""
        number = self.frames.get_next_available_stream_id()
        fields = {
            ":method": method,
            ":path": path,
            ":scheme": "https",
            ":authority": "localhost",
            "content-type": "application/json",
            **dict(headers),
        }
        self.frames.send_headers(number, [*fields.items()], end_stream=is_complete)
        self.flush()
        reply = self.replies[number] = Reply(number)
        return reply

    def write(self, reply, data, *, is_last=True):
        """Send a body, as the server takes it."""
        while data:
            room = min(
                self.frames.local_flow_control_window(reply.number),
                self.frames.max_outbound_frame_size,
            )
            if room:
                part, data = data[:room], data[room:]
                self.frames.send_data(reply.number, part, end_stream=is_last and not data)
                self.flush()
            else:
                self.read()

    def read(self):
        """Read what has arrived, at least something."""
        data = self.socket.recv(65_536)
        if not data:
            self.closed_for = self.closed_for or "the end"
            return
        for event in self.frames.receive_data(data):
            match event:
                case ResponseReceived(stream_id=number, headers=headers):
                    self.replies[number].headers = dict(headers)
                case DataReceived(stream_id=number, data=part, flow_controlled_length=length):
                    self.replies[number].body += part
                    if self.grants_room:
                        self.frames.acknowledge_received_data(length, number)
                case StreamEnded(stream_id=number):
                    self.replies[number].has_ended = True
                case StreamReset(stream_id=number, error_code=code):
                    self.replies[number].reset = code
                case ConnectionTerminated(error_code=code):
                    self.closed_for = code
                case _:
                    pass
        self.flush()

    def finish(self, *replies):
        while not all(each.has_ended or each.reset is not None for each in replies):
            self.read()
            assert self.closed_for is None
        return replies[0]

    def send(self, method, path, body=None, headers=()):
        reply = self.begin(method, path, headers, is_complete=body is None)
        if body is not None:
            self.write(reply, json.dumps(body).encode())
        return self.finish(reply)

    def lines_of(self, reply, count):
        while reply.body.count(b"\n") < count:
            self.read()
        return [json.loads(each) for each in reply.body.splitlines()[:count]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return kept_certificates(tmp_path_factory.mktemp("certificates"), ["localhost", "127.0.0.1"])


def client_context(files, *protocols):
    context = ssl.create_default_context(cafile=files.authority)
    context.load_cert_chain(files.admin, files.admin_key)
    context.set_alpn_protocols([*protocols])
    return context


@pytest.fixture
def connect(serve, files):
    """Return what serves a cluster over TLS, and what connects to it until the test ends."""
    tls = server_context(files.server, files.server_key, files.authority)
    with contextlib.ExitStack() as stack:

        def start(cluster=None, **options):
            served = serve(cluster or cluster_of(0, has_controllers=False), tls=tls, **options)

            def open_one(**options):
                client = Client(served.port, client_context(files, "h2", "http/1.1"), **options)
                stack.callback(client.socket.close)
                return client

            return served, open_one

        yield start


def test_requests_of_one_connection_are_answered_at_once(connect):
    _, open_one = connect()
    client = open_one()
    watch = client.begin("GET", f"{MAPS}?watch=true")
    replies = [
        client.begin("POST", MAPS, is_complete=False),
        client.begin("GET", "/api/v1/nodes"),
    ]
    client.write(replies[0], json.dumps(config_map("a", "x")).encode())
    client.finish(*replies)
    assert [each.status for each in replies] == [201, 200]
    (event,) = client.lines_of(watch, 1)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert not watch.has_ended


def test_a_body_longer_than_the_window_is_read_whole(connect):
    _, open_one = connect()
    client = open_one()
    text = "x" * (3 * BODY_WINDOW_BYTES)
    assert client.send("POST", MAPS, config_map("large", text)).status == 201
    assert client.send("GET", f"{MAPS}/large").json()["data"]["text"] == text


def test_a_reply_is_sent_as_the_client_has_room(connect):
    _, open_one = connect()
    writer, reader = open_one(), open_one(grants_room=False)
    for number in range(3):
        assert writer.send("POST", MAPS, config_map(f"map-{number}")).status == 201
    reply = reader.begin("GET", MAPS)
    while len(reply.body) < 65_535:  # the window at first
        reader.read()
    assert reader.begin("HEAD", "/version").body == b""
    assert not reply.has_ended
    reader.grants_room = True
    reader.frames.increment_flow_control_window(1 << 24)
    reader.frames.increment_flow_control_window(1 << 24, reply.number)
    reader.flush()
    assert len(reader.finish(reply).json()["items"]) == 3


def test_a_larger_window_of_all_streams_is_room(connect):
    _, open_one = connect()
    client = open_one(grants_room=False)
    assert client.send("POST", MAPS, config_map("a"), {"accept": "text/none"}).status == 406
    assert open_one().send("POST", MAPS, config_map("a")).status == 201
    client.frames.increment_flow_control_window(1 << 24)
    reply = client.begin("GET", f"{MAPS}/a")
    while len(reply.body) < 65_535:
        client.read()
    client.frames.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
    client.flush()
    assert client.finish(reply).json()["metadata"]["name"] == "a"


def test_a_larger_window_of_the_connection_is_room(connect):
    _, open_one = connect()
    assert open_one().send("POST", MAPS, config_map("a")).status == 201
    client = open_one(grants_room=False)
    client.frames.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
    client.flush()
    reply = client.begin("GET", f"{MAPS}/a")
    while len(reply.body) < 65_535:
        client.read()
    client.frames.increment_flow_control_window(1 << 24)
    client.flush()
    assert client.finish(reply).json()["metadata"]["name"] == "a"


def test_a_watch_that_its_client_resets_ends_alone(connect):
    served, open_one = connect()
    client = open_one()
    first, second = (client.begin("GET", f"{MAPS}?watch=true") for _ in range(2))
    until(lambda: len(subscriptions(served)) == 2, pause_seconds=0.01)
    client.frames.reset_stream(first.number, ErrorCodes.CANCEL)
    client.flush()
    until(lambda: len(subscriptions(served)) == 1, pause_seconds=0.01)
    assert open_one().send("POST", MAPS, config_map("a", "x")).status == 201
    assert client.lines_of(second, 1)[0]["object"]["metadata"]["name"] == "a"
    assert first.body == b""


def test_a_client_that_leaves_ends_all_of_its_requests(connect):
    served, open_one = connect()
    client = open_one()
    for _ in range(3):
        client.begin("GET", f"{MAPS}?watch=true")
    until(lambda: len(subscriptions(served)) == 3, pause_seconds=0.01)
    client.socket.close()
    until(lambda: not subscriptions(served), pause_seconds=0.01)
    until(lambda: not served.requests_in_progress(), pause_seconds=0.01)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/namespaces/none", 404),
        ("FOO", "/api/v1/pods", 405),
        ("GET", "/api/v1/namespaces/%zz", 400),
        ("GET", "/podwright/v1/none", 404),
    ],
)
def test_requests_that_are_not_served_are_answered(connect, method, path, status):
    _, open_one = connect()
    reply = open_one().send(method, path)
    assert reply.status == status, reply.body


def test_the_reply_to_a_head_has_no_body(connect):
    _, open_one = connect()
    client = open_one()
    reply = client.send("HEAD", MAPS)
    assert (reply.status, reply.body, reply.has_ended) == (405, b"", True)
    assert "date" in reply.headers


def test_the_authority_is_the_host(connect):
    _, open_one = connect()
    client = open_one()
    refused = client.send("GET", MAPS, headers={":authority": "rebound.example"})
    assert refused.status == 403


def test_a_client_without_http2_is_served(connect, files):
    served, _ = connect()
    context = client_context(files, "http/1.1")
    connection = http.client.HTTPSConnection("localhost", served.port, context=context)
    with contextlib.closing(connection):
        connection.request("GET", MAPS)
        assert connection.getresponse().status == 200


def test_the_certificate_is_that_of_each_request(connect):
    _, open_one = connect()
    client = open_one()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    for _ in range(2):
        found = client.send("POST", path, review).json()
        assert found["status"]["userInfo"]["username"] == "admin"


def test_a_request_without_a_path_is_refused_alone(connect):
    _, open_one = connect()
    client = open_one()
    assert client.send("GET", "version").reset == ErrorCodes.PROTOCOL_ERROR
    assert client.send("GET", "/version").status == 200


def test_what_is_not_http2_ends_the_connection(connect):
    _, open_one = connect()
    client = open_one()
    client.send("GET", "/version")
    client.socket.sendall(b"\x00\x00\x04\x00\x00\x00\x00\x00\x00abcd")  # data of no stream
    while client.closed_for is None:
        client.read()
    assert client.closed_for == ErrorCodes.PROTOCOL_ERROR


def test_a_reply_that_is_not_read_is_given_up_alone(connect, monkeypatch):
    monkeypatch.setattr(Http2Protocol, "stall_seconds", STALL_SECONDS)
    _, open_one = connect()
    writer, lazy = open_one(), open_one(grants_room=False)
    for number in range(10):
        assert writer.send("POST", MAPS, config_map(f"map-{number}")).status == 201
    lazy.frames.increment_flow_control_window(1 << 24)  # only the stream has no room
    reply = lazy.begin("GET", MAPS)
    while reply.reset is None:
        lazy.read()
    assert reply.reset == ErrorCodes.CANCEL
    assert lazy.send("GET", "/version").status == 200


def test_a_client_that_reads_nothing_loses_its_connection(connect, monkeypatch):
    monkeypatch.setattr(Http2Protocol, "stall_seconds", STALL_SECONDS)
    served, open_one = connect()
    writer, lazy = open_one(), open_one(buffer_bytes=4096)
    for number in range(40):
        assert writer.send("POST", MAPS, config_map(f"map-{number}")).status == 201
    lazy.frames.increment_flow_control_window(1 << 30)
    lazy.frames.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
    lazy.begin("GET", MAPS)
    until(served.requests_in_progress, pause_seconds=0.01)
    until(lambda: not served.requests_in_progress(), pause_seconds=0.05)
    assert is_closed_by_server(lazy.socket)


def test_pings_that_are_not_read_end_the_connection(connect, monkeypatch):
    monkeypatch.setattr(http2, "_UNREAD_MAX_BYTES", 4 << 10)
    _, open_one = connect()
    client = open_one(buffer_bytes=4096)
    pings = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00pingping" * 1_000
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while True:
            client.socket.sendall(pings)
    assert is_closed_by_server(client.socket)


def test_a_body_that_stalls_is_answered_with_a_timeout(connect):
    _, open_one = connect(stall_seconds=STALL_SECONDS)
    client = open_one()
    reply = client.begin("POST", MAPS, is_complete=False)
    client.write(reply, b"{", is_last=False)
    assert client.finish(reply).json()["reason"] == "Timeout"


def test_a_connection_without_a_request_is_closed(connect, monkeypatch):
    monkeypatch.setattr(Http2Protocol, "head_seconds", STALL_SECONDS)
    _, open_one = connect()
    silent, kept = open_one(), open_one()
    assert kept.send("GET", "/version").status == 200
    while silent.closed_for is None:
        silent.read()
    assert silent.closed_for == ErrorCodes.NO_ERROR
    assert kept.send("GET", "/version").status == 200  # requests are longer in coming later


def test_a_server_that_stops_ends_watches_and_connections(connect, monkeypatch, caplog):
    monkeypatch.setattr(serving, "STOP_SECONDS", 2)
    served, open_one = connect()
    client = open_one()
    watch = client.begin("GET", f"{MAPS}?watch=true")
    until(lambda: subscriptions(served), pause_seconds=0.01)
    served.loop.call_soon_threadsafe(served.turns.stop)
    while client.closed_for is None:
        client.read()
    assert watch.has_ended
    until(served.loop.is_closed, pause_seconds=0.01)
    assert not caplog.records


def test_requests_that_are_reset_again_and_again_are_refused(connect, monkeypatch):
    monkeypatch.setattr(http2, "_EXECUTED_MAX", 20)
    _, open_one = connect()
    client = open_one()
    with monkeypatch.context() as at_once:
        at_once.setattr(client, "flush", lambda: None)
        for _ in range(30):
            reply = client.begin("GET", MAPS)
            client.frames.reset_stream(reply.number, ErrorCodes.CANCEL)
    client.flush()
    while client.closed_for is None:
        client.read()
    assert client.closed_for == ErrorCodes.ENHANCE_YOUR_CALM


def test_a_connection_has_as_many_requests_as_upstreams(connect):
    _, open_one = connect()
    client = open_one()
    client.send("GET", "/version")
    assert client.frames.remote_settings.max_concurrent_streams == STREAMS_MAX == 1_000


def test_a_defect_ends_its_request_alone(connect, monkeypatch):
    served, open_one = connect()
    client = open_one()

    async def fail(request):
        raise RuntimeError(request.path)

    monkeypatch.setattr(served.turns, "execute", fail)
    assert client.send("GET", MAPS).reset == ErrorCodes.INTERNAL_ERROR
    monkeypatch.undo()
    assert client.send("POST", PODS, pod("web")).status == 201


class Pipe(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self):
        super().__init__({"sockname": ("127.0.0.1", 6443), "peername": ("192.0.2.1", 50_000)})
        self.written = b""
        self.closed = False
        self.unread = 0

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def get_extra_info(self, name, default=None):
        return Uncertified() if name == "ssl_object" else super().get_extra_info(name, default)

    def abort(self):
        self.written, self.closed = b"aborted", True

    def get_write_buffer_size(self):
        return self.unread

    def pause_reading(self):
        """Nothing is read."""

    def resume_reading(self):
        """Nothing is read."""


class Uncertified:
    """A connection without a client certificate."""

    def getpeercert(self, binary_form=False):
        return b"" if binary_form else None


def taken(application, *requests):
    """Return the events of a client whose requests an application answers over HTTP/2."""

    async def main():
        config = uvicorn.Config(application, lifespan="off", log_config=None, interface="asgi3")
        config.load()
        state, pipe = ServerState(), Pipe()
        state.default_headers = [(b"server", b"podwright")]
        protocol = Http2Protocol(config, state, {"shared": 1})
        protocol.connection_made(pipe)
        client = H2Connection(H2Configuration(header_encoding=None))
        client.initiate_connection()
        for number, headers in enumerate(requests):
            client.send_headers(2 * number + 1, headers, end_stream=True)
        protocol.data_received(client.data_to_send())
        await asyncio.wait(state.tasks)
        await asyncio.sleep(0)
        connections: Any = state.connections
        assert connections == {protocol}
        assert state.total_requests == len(requests)
        protocol.connection_lost(None)
        assert connections == set()
        return client.receive_data(pipe.written)

    return asyncio.run(main())


def test_a_request_is_that_of_the_asgi_specification_and_a_reply_has_the_headers_of_the_server():
    scopes = []

    async def application(scope, receive, send):
        scopes.append(scope)
        assert await receive() == {"type": "http.request", "body": b"", "more_body": False}
        headers = [(b"a", b"b"), (b"Connection", b"close"), (b"transfer-encoding", b"chunked")]
        await send({"type": "http.response.start", "status": 404, "headers": headers})
        await send({"type": "http.response.body", "body": b"none"})

    found = taken(
        application,
        [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"a.example"),
         (b":path", b"/a%20b?c=d%20e"), (b"accept", b"x"), (b"accept", b"y")],
        [(b":method", b"DELETE"), (b":scheme", b"https"), (b":authority", b"a.example"),
         (b":path", b"/"), (b"host", b"a.example")],
    )  # fmt: skip
    first, second = scopes
    states = [each.pop("state") for each in scopes]
    assert [{**each, "abort": None} for each in states] == [
        {"shared": 1, "certified": None, "abort": None}
    ] * 2
    assert first == {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "2",
        "server": ("127.0.0.1", 6443),
        "client": ("192.0.2.1", 50_000),
        "scheme": "https",
        "root_path": "",
        "method": "GET",
        "path": "/a b",
        "raw_path": b"/a%20b",
        "query_string": b"c=d%20e",
        "headers": [(b"accept", b"x"), (b"accept", b"y"), (b"host", b"a.example")],
    }
    assert second == first | {
        "method": "DELETE", "path": "/", "raw_path": b"/", "query_string": b"",
        "headers": [(b"host", b"a.example")],
    }  # fmt: skip
    replies = [each for each in found if isinstance(each, ResponseReceived)]
    assert [(each.stream_id, each.headers) for each in replies] == [
        (number, [(b":status", b"404"), (b"server", b"podwright"), (b"a", b"b")])
        for number in (1, 3)
    ]
    bodies = [(each.stream_id, each.data) for each in found if isinstance(each, DataReceived)]
    assert bodies == [(1, b"none"), (3, b"none")]


HEAD = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"a"), (b":path", b"/")]


class Peers:
    """A connection of a server and that of its client, whose requests wait until `release`."""

    def __init__(self):
        config = uvicorn.Config(self.answer, lifespan="off", log_config=None, interface="asgi3")
        config.load()
        self.state, self.pipe, self.release = ServerState(), Pipe(), asyncio.Event()
        self.server = Http2Protocol(config, self.state, {})
        self.server.connection_made(self.pipe)
        self.client = H2Connection(H2Configuration(header_encoding=None))
        self.client.initiate_connection()

    async def answer(self, scope, receive, send):
        await self.release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 10})

    async def pass_on(self):
        """Deliver what both have sent; return the events of the client."""
        self.server.data_received(self.client.data_to_send())
        for _ in range(5):
            await asyncio.sleep(0)
        found, self.pipe.written = self.pipe.written, b""
        return [type(each).__name__ for each in self.client.receive_data(found)]


def with_peers(use, of=Peers):
    async def main():
        peers = of()
        await peers.pass_on()
        await use(peers)
        peers.server.connection_lost(None)
        peers.release.set()
        if peers.state.tasks:
            await asyncio.wait(peers.state.tasks)

    asyncio.run(main())


def test_a_connection_without_requests_ends_at_once_with_the_server():
    async def use(peers):
        peers.server.shutdown()
        assert peers.pipe.closed
        assert peers.server._timer is not None

    with_peers(use)


def test_a_connection_with_a_request_ends_after_it_and_takes_no_others():
    async def use(peers):
        peers.client.send_headers(1, HEAD, end_stream=True)
        await peers.pass_on()
        assert peers.server._timer is None, "no limit while there is a request"
        peers.server.shutdown()
        assert not peers.pipe.closed
        peers.client.send_headers(3, HEAD, end_stream=True)
        assert await peers.pass_on() == ["StreamReset"]
        peers.release.set()
        assert await peers.pass_on() == [
            "ResponseReceived", "DataReceived", "StreamEnded", "ConnectionTerminated"
        ]  # fmt: skip
        assert peers.pipe.closed

    with_peers(use)


def test_a_client_that_says_goodbye_ends_the_connection_and_its_requests():
    async def use(peers):
        peers.client.send_headers(1, HEAD, end_stream=True)
        await peers.pass_on()
        peers.client.close_connection()
        await peers.pass_on()
        assert (peers.pipe.closed, peers.server._streams) == (True, {})

    with_peers(use)


@pytest.mark.parametrize(("unread", "is_aborted"), [(1 << 20, False), ((1 << 20) + 1, True)])
def test_a_client_that_leaves_too_many_frames_unread_is_cut_off(unread, is_aborted):
    async def use(peers):
        peers.pipe.unread = unread
        peers.client.ping(b"12345678")
        peers.server.data_received(peers.client.data_to_send())
        assert (peers.pipe.written == b"aborted") is is_aborted
        peers.pipe.written = b""

    with_peers(use)


def test_a_reply_waits_while_the_client_does_not_read():
    async def use(peers):
        peers.client.send_headers(1, HEAD, end_stream=True)
        await peers.pass_on()
        peers.server.pause_writing()
        peers.release.set()
        assert await peers.pass_on() == []
        peers.server.resume_writing()
        assert (await peers.pass_on())[-1] == "StreamEnded"
        assert peers.server._timer is not None, "the limit of an idle connection"
        assert peers.state.total_requests == 1

    with_peers(use)


def test_a_reply_that_waits_ends_with_its_connection():
    async def use(peers):
        peers.client.send_headers(1, HEAD, end_stream=True)
        await peers.pass_on()
        peers.server.pause_writing()
        peers.release.set()
        await peers.pass_on()
        (task,) = peers.state.tasks
        peers.server.connection_lost(None)
        # Not after the time that a client may take nothing.
        for _ in range(10):
            await asyncio.sleep(0)
        assert (task.done(), peers.state.tasks) == (True, set())

    with_peers(use)


class Receiving(Peers):
    """Peers whose requests only receive, until they are disconnected."""

    received: list[str]

    async def answer(self, scope, receive, send):
        kind = ""
        while kind != "http.disconnect":
            kind = (await receive())["type"]
            self.received.append(kind)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda peers: peers.server.connection_lost(None), id="it is lost"),
        pytest.param(lambda peers: peers.client.close_connection(), id="a goodbye"),
        pytest.param(lambda peers: peers.server.data_received(b"\0" * 99), id="no frames"),
    ],
)
def test_each_request_of_a_connection_that_ends_is_disconnected(end):
    """As the specification of ASGI has it: watches end with their client."""

    async def use(peers):
        peers.received = []
        for number in (1, 3):
            peers.client.send_headers(number, HEAD, end_stream=True)
        await peers.pass_on()
        assert peers.received == ["http.request"] * 2
        end(peers)
        await peers.pass_on()
        assert peers.received[2:] == ["http.disconnect"] * 2
        assert not peers.state.tasks

    with_peers(use, Receiving)
