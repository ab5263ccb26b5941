"""A proxy of a cluster that passes GET requests on, watches included, and refuses all others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target
        self.writes: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        with closing(HTTPConnection(urlsplit(self.server.target).netloc)) as connection:
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
        self.server.writes.append(f"{self.command} {self.path}")
        self.send_error(405)

    do_POST = do_PUT = do_PATCH = do_DELETE = _refuse  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def read_only(target: str) -> Iterator[tuple[str, list[str]]]:
    """Serve the proxy for the time of a block; yields its address and the refused requests."""
    with _Server(target) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.writes
        finally:
            server.shutdown()
            thread.join()
