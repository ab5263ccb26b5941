"""A proxy of a cluster that passes GET requests on, watches included, and refuses all others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.http_servers import serving


class HeldRequests:
    """The requests of a path, which get no reply before the proxy ends.

    Attributes
    ----------
    have_come : threading.Event
        Set when there is one.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.have_come = threading.Event()
        self.is_over = threading.Event()

    def hold(self) -> None:
        """Wait until the proxy ends."""
        self.have_come.set()
        self.is_over.wait()


class _Handler(BaseHTTPRequestHandler):
    target = ""
    writes: list[str]
    held: HeldRequests | None = None

    def do_GET(self) -> None:
        if self.held is not None and urlsplit(self.path).path == self.held.path:
            self.held.hold()
            return
        with closing(HTTPConnection(urlsplit(self.target).netloc)) as connection:
            connection.request("GET", self.path, headers={"Accept": "application/json"})
            reply = connection.getresponse()
            with suppress(OSError):  # the client may be gone
                self.send_response(reply.status)
                self.end_headers()
                # HTTP/1.0: the body ends with the connection.
                while data := reply.read1(65536):
                    self.wfile.write(data)
            reply.close()

    def _refuse(self) -> None:
        self.writes.append(f"{self.command} {self.path}")
        self.send_error(405)

    do_POST = do_PUT = do_PATCH = do_DELETE = _refuse  # noqa: N815 - names of http.server


@contextmanager
def read_only(target: str, held: HeldRequests | None = None) -> Iterator[tuple[str, list[str]]]:
    """Serve the proxy for the time of a block; yields its address and the refused requests."""
    writes: list[str] = []
    with serving(_Handler, target=target, writes=writes, held=held) as address:
        try:
            yield address, writes
        finally:
            if held is not None:
                held.is_over.set()
