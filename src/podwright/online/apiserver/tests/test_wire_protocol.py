"""What a connection answers to bytes that are not a request, and how long it waits for a head."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from podwright.cluster.api.endpoints import HttpReply
from podwright.online.apiserver.wire.application import Application, _body
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.online.apiserver.wire.sending import WireProtocol

HEAD_BYTES_MAX, HEAD_SECONDS = (1 << 20) + 4096, 32
TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"connection: close\r\n\r\n431 Request Header Fields Too Large"
)
BEGIN = b"GET / HTTP/1.1\r\nhost: localhost\r\nx-more: "
FULL = BEGIN + b"y" * (HEAD_BYTES_MAX - len(BEGIN))
ENDED = FULL[:-4] + b"\r\n\r\n"


class Line(asyncio.Transport):
    """Keeps what is written to it, and its end."""

    def __init__(self):
        super().__init__()
        self.written = []

    def write(self, data):
        self.written.append(data)

    def close(self):
        self.written.append("closed")

    def abort(self):
        self.written.append("aborted")

    def is_closing(self):
        return "closed" in self.written

    def pause_reading(self):
        """Receive the next request, though the one before is not answered."""


class Task:
    """A request that is not executed."""

    def add_done_callback(self, function):
        """Call nothing."""


class Timers:
    """The part of an event loop that a connection uses; its tasks are not executed."""

    def __init__(self):
        self.pending = []

    def call_later(self, seconds, function):
        timer = (seconds, function)
        self.pending.append(timer)
        return SimpleNamespace(cancel=lambda: self.pending.remove(timer))

    def create_task(self, coroutine):
        coroutine.close()
        return Task()


async def application(scope, receive, send):
    """Answer nothing."""


def connected():
    config = uvicorn.Config(application, lifespan="off", log_config=None, access_log=False)
    config.load()
    line, timers = Line(), Timers()
    loop: Any = timers
    protocol = WireProtocol(config, ServerState(), {}, _loop=loop)
    protocol.connection_made(line)
    return protocol, line, timers


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        pytest.param([FULL], [], id="a head of the limit, without its end"),
        pytest.param([FULL, b"y"], [TOO_LONG, "closed"], id="a byte more, alone"),
        pytest.param([FULL + b"y", b"y", b"y"], [TOO_LONG, "closed"], id="one answer only"),
        pytest.param([ENDED[:9], ENDED[9:]], [], id="a head that ends at the limit"),
        pytest.param([FULL[:-3], b"\r\n\r\n"], [TOO_LONG, "closed"], id="its end is beyond"),
        pytest.param([FULL[:-2] + b"\r\n", b"\r\n"], [TOO_LONG, "closed"], id="half its end"),
    ],
)
def test_a_head_has_at_most_the_bytes_of_the_limit(parts, written):
    protocol, line, _ = connected()
    for part in parts:
        protocol.data_received(part)
    assert line.written == written


@pytest.mark.parametrize(
    ("sent", "status", "reason", "message"),
    [
        (b"BREW /pot HTTP/1.1\r\n\r\n", 405, "MethodNotAllowed",
         "the server does not allow this method on the requested resource"),
        (b"get / HTTP/1.1\r\n\r\n", 400, "BadRequest", "Invalid HTTP request received."),
        (b"GET /\x00 HTTP/1.1\r\n\r\n", 400, "BadRequest", "Invalid HTTP request received."),
        (b"GET / HTTP/1.1\r\na b\r\n\r\n", 400, "BadRequest", "Invalid HTTP request received."),
    ],
)  # fmt: skip
def test_what_is_no_request_is_answered_with_a_status(sent, status, reason, message):
    protocol, line, _ = connected()
    protocol.data_received(sent)
    (answer, end) = line.written
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b" ")[:2] == [b"HTTP/1.1", str(status).encode()]
    assert f"content-length: {len(body)}\r\nconnection: close" in head.decode()
    found = json.loads(body)
    assert (found["code"], found["reason"], found["message"], end) == (
        status, reason, message, "closed",
    )  # fmt: skip


def test_a_head_has_a_limit_of_time_and_an_idle_connection_has_not():
    protocol, line, timers = connected()
    found = [list(timers.pending)]
    for part in (b"GET / HTTP/1.1\r\n", b"host: a\r\n", b"\r\n", b"POST /", b" HTTP/1.1\r\n\r\n"):
        protocol.data_received(part)
        found.append(list(timers.pending))
    limited = [(HEAD_SECONDS, line.abort)]
    assert found == [limited, limited, limited, [], limited, []]
    protocol.data_received(b"GET")
    protocol.connection_lost(OSError())
    assert (timers.pending, line.written) == ([], [])


@pytest.mark.parametrize(
    ("method", "written"),
    [
        pytest.param(b"GET", [b"HTTP/1.1 200 OK\r\n\r\nbody"], id="in one packet with the body"),
        pytest.param(b"HEAD", [b"HTTP/1.1 200 OK\r\n\r\n", b"body"], id="nothing follows"),
    ],
)
def test_the_head_of_a_reply_waits_for_its_body(method, written):
    protocol, line, _ = connected()
    protocol.data_received(method + b" / HTTP/1.1\r\nhost: localhost\r\n\r\n")

    async def reply():
        for part in (b"HTTP/1.1 200 OK\r\n\r\n", b"body"):
            protocol.cycle.transport.write(part)

    asyncio.run(reply())
    assert line.written == written


@pytest.mark.parametrize(
    ("method", "reply", "length"),
    [
        pytest.param("GET", HttpReply(200, (), b"body"), ["4"], id="a body"),
        pytest.param("GET", HttpReply(200, ()), ["0"], id="an empty body"),
        pytest.param("GET", HttpReply(304, ()), [], id="what a client has already"),
        pytest.param("GET", HttpReply(204, ()), [], id="nothing to show"),
        pytest.param("HEAD", HttpReply(200, ()), [], id="the head of another reply"),
        pytest.param("HEAD", HttpReply(404, (), b"body"), ["4"], id="the head of an error"),
        pytest.param(
            "HEAD", HttpReply(200, (("content-length", "7"),)), ["7"], id="a length that is known"
        ),
    ],
)
def test_a_reply_has_the_length_of_its_own_body_only(method, reply, length):
    """As with Go's server: the missing body must not look like an empty one."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def execute(_: Any) -> Any:
        return reply

    async def main() -> None:
        turns: Any = SimpleNamespace(execute=execute, is_stopping=False)
        scheduler: Any = SimpleNamespace()
        scope = {
            "type": "http", "method": method, "path": "/apis", "raw_path": b"/apis",
            "scheme": "http", "query_string": b"", "headers": [(b"host", b"127.0.0.1")],
            "state": {},
        }  # fmt: skip
        application: Any = Application(turns, AllowedHosts(), scheduler=scheduler)
        await application(scope, receive, send)

    asyncio.run(main())
    headers = [(name, value) for name, value in sent[0]["headers"] if name == b"content-length"]
    assert [value.decode() for _, value in headers] == length


LIMIT_BYTES = 3 << 20


@pytest.mark.parametrize(
    ("parts", "read_bytes"),
    [
        pytest.param([0], 0, id="none"),
        pytest.param([5, 0, 7], 12, id="several parts, one of them empty"),
        pytest.param([LIMIT_BYTES, 1, 1], LIMIT_BYTES + 1, id="a byte past the limit is enough"),
        pytest.param([LIMIT_BYTES + 9, 9], LIMIT_BYTES + 9, id="in one part"),
        pytest.param([5, None], None, id="the client leaves"),
    ],
)
def test_of_a_body_that_is_too_long_no_further_part_is_kept(parts, read_bytes):
    """Upstream: limitedReadBody in endpoints/handlers/rest.go rejects what has a byte more."""
    left = [*parts]

    async def receive() -> Any:
        size = left.pop(0)
        if size is None:
            return {"type": "http.disconnect"}
        more = {"more_body": True} if left else {}
        return {"type": "http.request", "body": b"x" * size} | more

    found = asyncio.run(_body(receive))
    assert (None if found is None else len(found), left) == (read_bytes, [])
