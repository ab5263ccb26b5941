"""A proxy that executes requests to bind pods, and cuts the connection instead of the reply."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.http_servers import serving

SENT = ("Authorization", "Content-Type")


@contextmanager
def forgetful(target: str, *, every: int = 1) -> Iterator[tuple[str, list[str]]]:
    """Run the proxy for the time of a block.

    Parameters
    ----------
    target : str
        The address of the API server; of https, no certificate is verified.
    every : int
        Of so many replies to bindings one is cut.

    Yields
    ------
    (str, list of str)
        Its address (http), and the path and the status of each reply that was cut.
    """
    cut: list[str] = []
    with serving(_Forgetful, target=target, cut=cut, every=every, seen=[]) as address:
        yield address, cut


class _Forgetful(BaseHTTPRequestHandler):
    target = ""
    every = 1
    cut: list[str]
    seen: list[str]

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name: self.headers[name] for name in SENT if name in self.headers}
        with closing(self._connection()) as connection, suppress(OSError, HTTPException):
            connection.request(self.command, self.path, body or None, headers)
            reply = connection.getresponse()
            if self.path.endswith("/binding"):
                self.seen.append(self.path)
                if len(self.seen) % self.every == 0:
                    reply.read()
                    self.cut.append(f"{self.path} {reply.status}")
                    self.close_connection = True
                    return
            self.send_response(reply.status)
            self.end_headers()
            while data := reply.read1(65536):
                self.wfile.write(data)
            reply.close()

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.target)
        if parts.scheme == "http":
            return HTTPConnection(parts.netloc)
        return HTTPSConnection(parts.netloc, context=ssl._create_unverified_context())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815 - names of http.server
