"""Requests over a kept connection to a server with a self-signed certificate."""

from __future__ import annotations

import gzip
import http.client
import json
import ssl
from typing import Any

import msgspec

from podwright.cluster.api.endpoints import HttpRequest

_ANSWER_SECONDS_MAX = 60


class Answer(msgspec.Struct, frozen=True):
    """A response: status, headers in lower case, and the body, parsed if it is JSON."""

    status: int
    headers: dict[str, str]
    body: Any


class Connection:
    """A connection to 127.0.0.1, over which requests go one after another."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection = self._opened()

    def send(self, request: HttpRequest, *, watch: bool = False) -> Answer:
        """Send a request and return the answer; the body of a watch is its list of events."""
        try:
            return self._send(request, watch=watch)
        except (OSError, http.client.HTTPException):
            # The server has closed the connection, as it does after some errors.
            self._connection.close()
            self._connection = self._opened()
            return self._send(request, watch=watch)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _send(self, request: HttpRequest, *, watch: bool) -> Answer:
        connection = self._connection
        target = f"{request.path}?{request.query}" if request.query else request.path
        connection.putrequest(request.method, target, skip_accept_encoding=True)
        for name, value in request.headers.items():
            connection.putheader(name, value)
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(request.body)))
        connection.endheaders(request.body or None)
        response = connection.getresponse()
        raw = response.read()
        # Several values of one header are joined.
        names = {name.lower() for name, _ in response.getheaders()}
        headers = {name: ", ".join(response.headers.get_all(name) or ()) for name in names}
        if headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        return Answer(response.status, headers, _parsed(raw, response.status, watch=watch))

    def _opened(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1",
            self._port,
            timeout=_ANSWER_SECONDS_MAX,
            context=ssl._create_unverified_context(),
        )


def _parsed(raw: bytes, status: int, *, watch: bool) -> Any:
    try:
        if watch and status == http.HTTPStatus.OK:
            return [json.loads(line) for line in raw.splitlines() if line.strip()]
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")
