"""HTTP servers that run for the time of a block."""

from __future__ import annotations

import threading
from asyncio import sleep  # by name: tests replace the one of the module
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiohttp import web

_TURNS = 5
"""How many turns of a loop a connection takes from its acceptance to its handler."""

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
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]], *, patience_seconds: float = 60
) -> AsyncIterator[str]:
    """Serve all paths in the running loop; yields the address.

    No connection is left at the end, not even one that was accepted just before it.

    Parameters
    ----------
    patience_seconds : float
        How long the end waits for requests that are being answered.
    """
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=patience_seconds)
    await runner.setup()
    served = runner.server
    assert served is not None
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
        for _ in range(_TURNS):
            await sleep(0)
        await served.shutdown(0)
        for _ in range(_TURNS):
            await sleep(0)


def _nothing(*_: object) -> None:
    pass
