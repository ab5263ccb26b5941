"""HTTP servers that run for the time of a block."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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


def _nothing(*_: object) -> None:
    pass
