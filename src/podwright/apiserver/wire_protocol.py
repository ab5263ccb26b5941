"""The protocol of a connection: uvicorn's, with a Status for what its parser cannot read."""

from __future__ import annotations

import asyncio
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
from podwright.apiserver.certified_users import certified_user

CERTIFIED: Final = "certified"
"""The name of the user of the client certificate in the state of a scope."""

_METHOD: Final = re.compile(rb"[A-Z]{1,32}")


class WireProtocol(HttpToolsProtocol):
    """A connection whose invalid requests are answered as the API server does.

    The parser knows the registered methods of HTTP only; another one is not an invalid request
    but one that no resource allows.
    """

    _received: bytes = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection; its client certificate is that of all its requests."""
        super().connection_made(transport)
        connection = transport.get_extra_info("ssl_object")
        if connection is not None:
            self.app_state = {**self.app_state, CERTIFIED: certified_user(connection)}

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
