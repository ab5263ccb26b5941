"""Calls of extenders in threads, so that a slow extender delays nothing but its own pods.

The threads are daemons: a call that hangs does not delay the end of the process.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Final, TypeAlias

from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.scheduler.framework import CallExtender

THREADS_MAX: Final = 16
"""The number of calls at a time; further ones wait. A scheduling cycle makes one at a time, and
bindings make the others."""

Replied: TypeAlias = Callable[[int, ExtenderReply], None]


class ExtenderThreads:
    """Makes calls to extenders outside the turn loop.

    Parameters
    ----------
    call : callable
        Makes one call, and returns within its timeout.
    replied : callable
        Receives the number of a call and its reply, in a thread of this object.

    Attributes
    ----------
    call : callable
    is_idle : threading.Event
        Set while no call is unfinished.
    """

    def __init__(self, call: CallExtender, replied: Replied) -> None:
        self.call = call
        self._replied = replied
        self._requests: queue.SimpleQueue[tuple[int, ExtenderCall]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._unfinished = 0
        self._threads = 0
        self.is_idle = threading.Event()
        self.is_idle.set()

    def begin(self, number: int, request: ExtenderCall) -> None:
        """Start a call; `replied` receives its reply."""
        with self._lock:
            self._unfinished += 1
            self.is_idle.clear()
            is_thread_needed = self._unfinished > self._threads and self._threads < THREADS_MAX
            self._threads += is_thread_needed
        self._requests.put((number, request))
        if is_thread_needed:
            name = f"extender-{self._threads}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while True:
            number, request = self._requests.get()
            try:
                reply = self.call(request)
            except Exception as error:  # noqa: BLE001 - the caller is given by the user
                reply = ExtenderReply(error=f"{type(error).__name__}: {error}")
            with self._lock:
                self._unfinished -= 1
            self._replied(number, reply)
            with self._lock:
                if not self._unfinished:
                    self.is_idle.set()
