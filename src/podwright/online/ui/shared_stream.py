"""One stream of server-sent events of the server for all pages.

The bytes since the last snapshot are kept. A page that joins receives the snapshot and what
followed it; each page reads at its own pace, and one that is behind a newer snapshot continues with
that. So a slow page costs no memory of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

import msgspec

from podwright.online.ui.upstream import UnreachableServer

RETRY_SECONDS: Final = 1.0
KEPT_BYTES_MAX: Final = 16 * 1024 * 1024
"""How much may follow a snapshot before a new one replaces it."""

_END: Final = b"\n\n"

OpenStream = Callable[[], AbstractAsyncContextManager[AsyncIterator[bytes]]]


class SharedStream:
    """The events of one stream of the server, for any number of pages.

    Parameters
    ----------
    open_stream : callable
        Opens the stream; raises `UnreachableServer`.
    open_beside : callable, optional
        Opens another stream, whose events are added. It is opened after each snapshot, so that
        pages which receive the snapshot receive all of its events.
    retry_seconds : float
        How long to wait before the stream is opened again.
    kept_bytes_max : int
        How many bytes may follow a snapshot before the stream is opened again.
    """

    def __init__(
        self,
        open_stream: OpenStream,
        open_beside: OpenStream | None = None,
        *,
        retry_seconds: float = RETRY_SECONDS,
        kept_bytes_max: int = KEPT_BYTES_MAX,
    ) -> None:
        self._open_stream = open_stream
        self._open_beside = open_beside
        self._retry_seconds = retry_seconds
        self._kept_bytes_max = kept_bytes_max
        self._pages = 0
        self._reading: asyncio.Task[None] | None = None
        self._reading_beside: asyncio.Task[None] | None = None
        self._restart()

    def _restart(self) -> None:
        self._events: list[bytes] = []
        self._generation = 0
        self._changed = asyncio.Event()

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield the events for one page, several of them as one value if it is slow."""
        self._pages += 1
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        generation, position = self._generation, 0
        try:
            while True:
                changed = self._changed
                if generation != self._generation:
                    generation, position = self._generation, 0
                if position == len(self._events):
                    await changed.wait()
                    continue
                part = b"".join(self._events[position:])
                position = len(self._events)
                yield part
        finally:
            self._pages -= 1
            if not self._pages:
                if self._reading is not None:
                    self._reading.cancel()
                    self._reading = None
                self._close_beside()
                self._restart()

    async def _read(self) -> None:
        while True:
            try:
                async with self._open_stream() as parts:
                    await self._read_events(parts)
            except UnreachableServer as error:
                self._close_beside()
                event = _disconnected(str(error))
                if self._events[-1:] != [event]:
                    self._add(event)
                await asyncio.sleep(self._retry_seconds)

    def _open_beside_again(self) -> None:
        self._close_beside()
        if self._open_beside is not None:
            self._reading_beside = asyncio.ensure_future(self._read_beside(self._open_beside))

    def _close_beside(self) -> None:
        if self._reading_beside is not None:
            self._reading_beside.cancel()
            self._reading_beside = None

    async def _read_beside(self, open_stream: OpenStream) -> None:
        while True:
            with suppress(UnreachableServer):  # the stream itself reports a server that is gone
                async with open_stream() as events:
                    async for event in events:
                        self._add(event)
            await asyncio.sleep(self._retry_seconds)

    async def _read_events(self, parts: AsyncIterator[bytes]) -> None:
        rest = b""
        followed_bytes = 0
        async for part in parts:
            *whole, rest = (rest + part).split(_END)
            for event in whole:
                if _is_snapshot(event):
                    self._events = []
                    self._generation += 1
                    followed_bytes = 0
                    self._open_beside_again()
                else:
                    followed_bytes += len(event)
                self._add(event + _END)
            if followed_bytes > self._kept_bytes_max:
                return  # the next stream starts with a snapshot
        raise UnreachableServer("The server has ended the stream.")

    def _add(self, event: bytes) -> None:
        self._events.append(event)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _is_snapshot(event: bytes) -> bool:
    return any(line == b"event: snapshot" for line in event.split(b"\n", 3)[:3])


def _disconnected(reason: str) -> bytes:
    data = msgspec.json.encode({"reason": reason})
    return b"event: disconnected\ndata: " + data + _END
