"""The protocol of a connection: uvicorn's, with a Status for what its parser cannot read."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from podwright.cluster.api.endpoints import (
    HttpReply,
    MediaType,
    Rejection,
    error_reply,
    method_not_allowed,
)
from podwright.online.apiserver.access.certificates import certified_user

CERTIFIED: Final = "certified"
"""The name of the user of the client certificate in the state of a scope."""

ABORT: Final = "abort"
"""The name of the function in the state of a scope that closes its connection at once."""

HEAD_SECONDS: Final = 32.0
"""How long the head of a request, or the first request of a connection, may take; upstream:
staging/src/k8s.io/apiserver/pkg/server/secure_serving.go, ReadHeaderTimeout."""

HEAD_BYTES_MAX: Final = (1 << 20) + 4096
"""The largest head of a request; upstream: net/http server.go, initialReadLimitSize."""

_HEAD_TOO_LONG: Final = b"431 Request Header Fields Too Large"

_HEAD_END: Final = b"\r\n\r\n"

_METHOD: Final = re.compile(rb"[A-Z]{1,32}")


class WireProtocol(HttpToolsProtocol):
    """A connection whose invalid requests are answered as the API server does.

    The parser knows the registered methods of HTTP only; another one is not an invalid request
    but one that no resource allows.
    """

    head_seconds = HEAD_SECONDS

    _received: bytes = b""
    _has_head = False
    _head_bytes = 0
    _tail: bytes = b""
    _is_head_too_long = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of TCP
        """Start a connection; its client certificate is that of all its requests."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort}
        self._limit_head()
        connection = transport.get_extra_info("ssl_object")
        if connection is not None:
            self.app_state = {**self.app_state, CERTIFIED: certified_user(connection)}

    def data_received(self, data: bytes) -> None:
        """Parse bytes of the connection."""
        self._received = data
        super().data_received(data)
        if self._has_head:
            self._head_bytes = 0
            return
        # Only a part of a head: rare, so that nothing of this is on the way of most requests.
        self._head_bytes += len(data)
        self._tail = data[1 - len(_HEAD_END) :]
        if self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self._reject_head()
        elif self._head_timer is None:
            self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._release_head()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start a request."""
        self._has_head = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Start to execute a request."""
        self._has_head = True
        # The last part of a head arrives with its end.
        may_be_long = self._head_bytes + len(self._received) > HEAD_BYTES_MAX
        if may_be_long and self._head_bytes_until_end() > HEAD_BYTES_MAX:
            self._is_head_too_long = True
            raise ValueError("the parser reports this as an invalid request")
        if self._head_timer is not None:
            self._release_head()
        super().on_headers_complete()

    def _head_bytes_until_end(self) -> int:
        """Return the bytes of a head of several parts, of which the last was received."""
        begin = self._tail if self._head_bytes else b""
        end = (begin + self._received).find(_HEAD_END)
        in_last = len(self._received) if end < 0 else end + len(_HEAD_END) - len(begin)
        return self._head_bytes + in_last

    def _limit_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _release_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed, and close the connection."""
        method = self._received.partition(b" ")[0]
        if self._is_head_too_long:
            self._reject_head()
            return
        if _METHOD.fullmatch(method) and method.decode() not in _PARSED:
            error = method_not_allowed()
        else:
            error = Rejection(400, "BadRequest", msg)
        self._reject(error)

    def _reject_head(self) -> None:
        """Answer a head that is too long as Go does."""
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n%b"
            % (_HEAD_TOO_LONG, _HEAD_TOO_LONG)
        )
        self.transport.close()

    def _reject(self, error: Rejection) -> None:
        self.transport.write(_bytes_of(error_reply(error, MediaType())))
        self.transport.close()


_PARSED: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _bytes_of(reply: HttpReply) -> bytes:
    lines: list[Any] = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    lines += [f"content-length: {len(reply.body)}", "connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + reply.body
