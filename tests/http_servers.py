"""HTTP servers that run for the time of a block."""

from __future__ import annotations

import socket
import ssl
import threading
from asyncio import gather, get_running_loop, sleep  # by name: tests replace asyncio.sleep
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

_POLL_SECONDS = 0.01
"""How long the end of a server waits at most: half a second without it, in each test."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], **members: object) -> Iterator[str]:
    """Serve requests on a free port of 127.0.0.1, without a log; yields the address.

    Parameters
    ----------
    members : object
        Attributes of the handler's class for this server.
    """
    served = type(handler.__name__, (handler,), {"log_message": _nothing, **members})
    with ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@asynccontextmanager
async def serving_all_paths(
    answer: Callable[[Any], Awaitable[web.StreamResponse]],
    *,
    patience_seconds: float = 60,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[str]:
    """Serve all paths in the running loop; yields the address.

    No connection is left at the end, not even one that was accepted just before it.

    Parameters
    ----------
    patience_seconds : float
        How long the end waits for requests that are being answered.
    tls : SSLContext, optional
        The address has https with it.
    """
    server = web.Server(answer)
    connections: list[RequestHandler] = []

    def begin() -> RequestHandler:
        connections.append(server())
        return connections[-1]

    loop = get_running_loop()
    listener = await loop.create_server(begin, "127.0.0.1", 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    try:
        yield "{}://{}:{}".format(scheme, *listener.sockets[0].getsockname())
    finally:
        # A closed server leaves what it has accepted and not begun: it accepts nothing more first.
        for listening in listener.sockets:
            loop.remove_reader(listening)
        await _turns()
        listener.close()
        for each in connections:
            each.close()
        await gather(*(each.shutdown(patience_seconds) for each in connections))
        await _turns()


def is_closed(client: socket.socket) -> bool:
    """Return whether the other side of a connection that has sent nothing has closed it."""
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


async def _turns() -> None:
    """Let the loop turn as often as a connection needs from its acceptance to its handler."""
    for _ in range(5):
        await sleep(0)


def _nothing(*_: object) -> None:
    pass
