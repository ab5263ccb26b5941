"""Slow, stuck and vanishing clients: the others are served, and memory stays bounded."""

import contextlib
import json
import socket

import pytest
from tests.waiting import SECONDS_MAX, until

from podwright.cluster.api.endpoints import wire_headers
from podwright.online.apiserver.tests.conftest import cluster_of
from podwright.online.apiserver.wire import serving
from podwright.online.apiserver.wire.sending import WireProtocol
from podwright.online.apiserver.wire.serving import KEEP_ALIVE_SECONDS

HEAD_BYTES_MAX = (1 << 20) + 4096
NOT_OLDER = "resourceVersionMatch=NotOlderThan"
MAPS = "/api/v1/namespaces/default/configmaps"
STALL_SECONDS = 2
"""Far longer than a client that reads may be delayed by other load of the computer."""
METADATA_ONLY = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
LARGE = "x" * 200_000


def config_map(name, text=LARGE):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"text": text},
    }


def stuck(served, path):
    """Send a request, and read nothing of its reply."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", served.port))
    connection.sendall(b"GET %s HTTP/1.1\r\nhost: localhost\r\n\r\n" % path.encode())
    return connection


def is_closed_by_server(connection):
    """Read until the connection ends; whether the server closed it in an orderly way or not."""
    connection.settimeout(SECONDS_MAX)
    with contextlib.suppress(ConnectionError):
        while connection.recv(1 << 20):
            pass
    return True


def subscriptions(served):
    return served.turns._subscriptions


def test_a_watch_that_is_not_read_is_closed_and_costs_the_others_nothing(serve):
    served = serve(cluster_of(0, has_controllers=False), stall_seconds=STALL_SECONDS)
    lazy = stuck(served, f"{MAPS}?watch=true")
    with contextlib.closing(lazy), contextlib.closing(served.connection()) as other:
        # Its events fit into the buffers of the connection, however late they are read.
        other.request("GET", f"{MAPS}?watch=true", headers=METADATA_ONLY)
        response = other.getresponse()
        for number in range(60):
            assert served.send("POST", MAPS, config_map(f"map-{number}"))[0] == 201
            event = json.loads(response.readline())
            assert event["object"]["metadata"]["name"] == f"map-{number}"
        # The server gave up after the stall, with far less in its buffers than was written.
        while len(subscriptions(served)) > 1:
            assert served.send("GET", f"{MAPS}/map-0")[0] == 200
        lazy.settimeout(SECONDS_MAX)
        received = 0
        with contextlib.suppress(ConnectionError):
            while part := lazy.recv(1 << 20):
                received += len(part)
        assert received < 60 * len(LARGE) / 2


def test_a_list_that_is_not_read_is_given_up(serve):
    cluster = cluster_of(0, has_controllers=False)
    served = serve(cluster, stall_seconds=STALL_SECONDS)
    for number in range(150):
        served.send("POST", MAPS, config_map(f"map-{number}"))
    with contextlib.closing(stuck(served, MAPS)) as lazy:
        assert lazy.recv(1)  # the reply has begun
        while served.requests_in_progress():
            assert served.send("GET", f"{MAPS}/map-0")[0] == 200
        assert is_closed_by_server(lazy)


def test_a_server_that_stops_closes_the_connections_of_stuck_clients(serve, monkeypatch, caplog):
    monkeypatch.setattr(serving, "STOP_SECONDS", 2)
    served = serve(cluster_of(0, has_controllers=False))
    for number in range(150):
        served.send("POST", MAPS, config_map(f"map-{number}"))
    with contextlib.ExitStack() as stack:
        paths = (MAPS, f"{MAPS}?watch=true&sendInitialEvents=true&{NOT_OLDER}")
        clients = [stack.enter_context(contextlib.closing(stuck(served, path))) for path in paths]
        assert all(client.recv(1) for client in clients)
        served.loop.call_soon_threadsafe(served.turns.stop)
        assert all(map(is_closed_by_server, clients))
        until(served.loop.is_closed, pause_seconds=0.01)
    assert not caplog.records


def test_half_a_head_is_closed(serve, monkeypatch):
    monkeypatch.setattr(WireProtocol, "head_seconds", STALL_SECONDS)
    served = serve(cluster_of(0, has_controllers=False))
    with socket.create_connection(("127.0.0.1", served.port)) as half:
        half.sendall(b"POST /api/v1/namespaces HTTP/1.1\r\nhost: local")
        assert served.send("GET", MAPS)[0] == 200
        assert is_closed_by_server(half)


def test_a_connection_without_a_request_is_closed(serve, monkeypatch):
    monkeypatch.setattr(WireProtocol, "head_seconds", STALL_SECONDS)
    served = serve(cluster_of(0, has_controllers=False))
    with socket.create_connection(("127.0.0.1", served.port)) as silent:
        assert is_closed_by_server(silent)


def test_an_idle_connection_is_kept_for_three_minutes(serve, monkeypatch):
    monkeypatch.setattr(WireProtocol, "head_seconds", STALL_SECONDS)
    served = serve(cluster_of(0, has_controllers=False))
    with contextlib.closing(served.connection()) as idle:
        idle.request("GET", MAPS)
        idle.getresponse().read()
        with socket.create_connection(("127.0.0.1", served.port)) as silent:
            assert is_closed_by_server(silent)  # as long as that
        idle.request("GET", MAPS)
        assert idle.getresponse().status == 200
    assert KEEP_ALIVE_SECONDS >= 180


def test_half_a_body_is_answered_with_a_timeout(serve):
    served = serve(cluster_of(0, has_controllers=False), stall_seconds=STALL_SECONDS)
    with socket.create_connection(("127.0.0.1", served.port), timeout=SECONDS_MAX) as half:
        head = b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n"
        half.sendall(head % MAPS.encode() + b"{")
        assert served.send("GET", MAPS)[0] == 200
        answer = b""
        while part := half.recv(65_536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body)["reason"] == "Timeout"


def test_an_endless_head_is_rejected(serve):
    served = serve(cluster_of(0, has_controllers=False))
    with socket.create_connection(("127.0.0.1", served.port), timeout=SECONDS_MAX) as endless:
        endless.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n")
        line = b"x-more: " + b"y" * 8_000 + b"\r\n"
        answer = b""
        with contextlib.suppress(ConnectionError):
            for _ in range(4 * HEAD_BYTES_MAX // len(line)):
                endless.sendall(line)
        with contextlib.suppress(ConnectionError):
            answer = endless.recv(65_536)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
    assert served.send("GET", MAPS)[0] == 200


def test_a_head_without_end_is_rejected_at_the_first_byte_beyond_the_limit(serve):
    served = serve(cluster_of(0, has_controllers=False))
    begin = b"GET / HTTP/1.1\r\nhost: localhost\r\nx-more: "
    with socket.create_connection(("127.0.0.1", served.port), timeout=SECONDS_MAX) as endless:
        endless.sendall(begin + b"y" * (HEAD_BYTES_MAX + 1 - len(begin)))
        answer = b""
        while part := endless.recv(65_536):
            answer += part
    head, _, text = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert text == b"431 Request Header Fields Too Large"


def test_a_head_that_ends_beyond_the_limit_is_rejected(serve):
    served = serve(cluster_of(0, has_controllers=False))
    lines = b"a: b\r\n" * (HEAD_BYTES_MAX // 4)
    with socket.create_connection(("127.0.0.1", served.port), timeout=SECONDS_MAX) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n" + lines + b"\r\n")
        answer = b""
        with contextlib.suppress(ConnectionError):
            answer = connection.recv(65_536)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
    assert served.send("GET", MAPS)[0] == 200


@pytest.mark.parametrize(("beyond", "status"), [(0, b"200"), (1, b"431")])
def test_a_body_and_an_earlier_request_do_not_count_as_parts_of_a_head(serve, beyond, status):
    served = serve(cluster_of(0, has_controllers=False))
    body = json.dumps(config_map(f"c{beyond}")).encode()
    begin = (
        f"PUT {MAPS}/none HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
        "content-type: application/json\r\n"
    ).encode()
    many = b"a: b\r\n" * 100_000
    left = HEAD_BYTES_MAX + beyond - len(begin + many + b"x: \r\n\r\n")
    head = begin + many + b"x: " + b"y" * left + b"\r\n\r\n"
    assert len(head) == HEAD_BYTES_MAX + beyond
    with socket.create_connection(("127.0.0.1", served.port), timeout=SECONDS_MAX) as connection:
        connection.sendall(b"HEAD /version HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 ")
        connection.sendall(head[:-2])
        connection.sendall(head[-2:] + body)
        answer = connection.recv(65_536)
    assert answer.split(b" ", 2)[1] != (b"431" if status == b"200" else b"200")
    assert (answer.split(b" ", 2)[1] == b"431") == (status == b"431")


def test_values_of_a_repeated_header_are_joined():
    pairs = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"a", b"4")]
    assert wire_headers(pairs) == {"a": "1, 3, 4", "b": "2"}


@pytest.mark.parametrize("query", ["", "?watch=true"])
def test_clients_that_vanish_leave_nothing_behind(serve, query):
    served = serve(cluster_of(0, has_controllers=False))
    for _ in range(20):
        stuck(served, f"{MAPS}{query}").close()
    while served.requests_in_progress() or subscriptions(served):
        assert served.send("GET", MAPS)[0] == 200
