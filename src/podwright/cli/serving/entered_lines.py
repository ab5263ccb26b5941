"""Lines that are entered on stdin while an event loop runs."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from io import UnsupportedOperation
from typing import Final

_CHUNK: Final = 4096


class EnteredLines:
    """Waits for lines on stdin, which is read from the first wait on.

    The thread that reads does not keep the process from ending.
    """

    def __init__(self) -> None:
        self._entered: asyncio.Queue[bool] = asyncio.Queue()
        self._thread: threading.Thread | None = None

    async def next(self) -> bool:
        """Wait for a line; return False when the input has ended."""
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._read, args=(loop,), daemon=True)
            self._thread.start()
        return await self._entered.get()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop has ended
            for count in _line_counts():
                for _ in range(count):
                    loop.call_soon_threadsafe(self._entered.put_nowait, True)
            loop.call_soon_threadsafe(self._entered.put_nowait, False)


def _line_counts() -> Iterator[int]:
    """Yield how many lines each read of stdin has."""
    try:
        number = sys.stdin.fileno()
    except UnsupportedOperation:  # no file: all of it is there
        yield len(sys.stdin.readlines())
        return
    # Not sys.stdin.readline: a thread that waits in it holds a lock when the interpreter ends.
    while data := os.read(number, _CHUNK):
        yield data.count(b"\n")
