"""The protocol of a connection: uvicorn's, with a Status for what its parser cannot read."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from podwright.api.endpoints import (
    ApiError,
    HttpReply,
    MediaType,
    error_reply,
    method_not_allowed,
)

_METHOD: Final = re.compile(rb"[A-Z]{1,32}")


class WireProtocol(HttpToolsProtocol):
    """A connection whose invalid requests are answered as the API server does.

    The parser knows the registered methods of HTTP only; another one is not an invalid request
    but one that no resource allows.
    """

    _received: bytes = b""

    def data_received(self, data: bytes) -> None:
        """Parse bytes of the connection."""
        self._received = data
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed, and close the connection."""
        method = self._received.partition(b" ")[0]
        if _METHOD.fullmatch(method) and method.decode() not in _PARSED:
            error = method_not_allowed()
        else:
            error = ApiError(400, "BadRequest", msg)
        self.transport.write(_bytes_of(error_reply(error, MediaType())))
        self.transport.close()


_PARSED: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _bytes_of(reply: HttpReply) -> bytes:
    lines: list[Any] = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    lines += [f"content-length: {len(reply.body)}", "connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + reply.body
