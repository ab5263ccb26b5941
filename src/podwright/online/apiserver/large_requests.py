"""Requests with large bodies, executed in a thread that computes beside the event loop.

Theory of operation
-------------------
Of a body of a megabyte a request makes some 100,000 values, each of which is decoded, checked and
owned, which takes a second. Nothing of that uses the cluster. A `LargeRequest` therefore runs in a
thread, and either the thread or the event loop uses the cluster, never both:

- the thread, while the event loop waits in `advance`;
- the event loop, while the thread computes in an interlude, or waits at its end for `advance`.

While the thread computes, the loop executes reads only, so that the request finds the cluster as
it left it, and requests that write have their order.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from podwright._interludes import ENTER
from podwright.cluster.api.endpoints import ApiServer, HttpRequest

T = TypeVar("T")

LARGE_BYTES: Final = 64 * 1024
LARGE_CUSTOM_BYTES: Final = 4 * 1024
"""Requests with bodies from these lengths on are executed in a thread, which costs half a
millisecond. The rules of custom resources take long for few bytes."""

SLICE_SECONDS: Final = 0.004
"""How long the event loop waits in a turn for the thread that computes: most requests are done."""

SWITCH_SECONDS: Final = 0.001
"""How long the thread computes while the event loop waits for the interpreter lock: a small read
waits for it about five times."""

_READS: Final = ("GET", "HEAD")


class _AbandonedError(BaseException):
    """The server ends; the request is not executed any further."""


def is_read(request: HttpRequest) -> bool:
    """Return whether a request changes nothing."""
    return request.method in _READS


def is_large(request: HttpRequest, server: ApiServer) -> bool:
    """Return whether a request is executed in a thread."""
    length = len(request.body)
    if length < LARGE_CUSTOM_BYTES or is_read(request):
        return False
    return length >= LARGE_BYTES or server.is_about_custom(request)


class LargeRequest(Generic[T]):
    """A request that is executed in a thread.

    Parameters
    ----------
    execute : callable
        Executes the request; called in the thread.
    wake : callable
        Called in the thread when `advance` has something to do.
    """

    def __init__(self, execute: Callable[[], T], wake: Callable[[], None]) -> None:
        self._execute = execute
        self._wake = wake
        # One thread acquires them, and the other one releases them.
        self._may_use_cluster = _acquired_lock()
        self._uses_no_cluster = _acquired_lock()
        self._needs_cluster = threading.Lock()
        self._is_loop_waiting = False
        self._is_abandoned = False
        self._replies: list[T] = []
        self._error: BaseException | None = None
        self._is_done = False
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(min(SWITCH_SECONDS, self._switch_seconds))
        threading.Thread(target=self._run, name="large request", daemon=True).start()

    def advance(self, slice_seconds: float = SLICE_SECONDS) -> T | None:
        """Let the thread use the cluster until it computes for longer than a slice, or ends.

        Returns
        -------
        T or None
            What the execution returned, once it has.

        Raises
        ------
        BaseException
            What the execution raised.
        """
        end = time.perf_counter() + slice_seconds
        while self._is_needing_cluster(end - time.perf_counter()):
            self._may_use_cluster.release()
            self._uses_no_cluster.acquire()
            if self._is_done:
                self._end()
                if self._error is not None:
                    raise self._error
                return self._replies[0]
        return None

    def abandon(self) -> None:
        """End the thread where it uses the cluster next."""
        self._is_abandoned = True
        self._may_use_cluster.release()
        self._end()

    def _is_needing_cluster(self, seconds: float) -> bool:
        """Wait for the thread to need the cluster; return whether it does."""
        self._is_loop_waiting = True
        if seconds > 0 and self._needs_cluster.acquire(timeout=seconds):
            return True
        # From here on the thread wakes the loop; what it has released before is found now.
        self._is_loop_waiting = False
        return self._needs_cluster.acquire(blocking=False)

    def _end(self) -> None:
        sys.setswitchinterval(self._switch_seconds)

    def _run(self) -> None:
        ENTER.set(self._interlude)
        try:
            self._wait()
            self._replies.append(self._execute())
        except _AbandonedError:
            return
        except BaseException as error:  # noqa: BLE001 - raised in the event loop
            self._error = error
        self._is_done = True
        self._uses_no_cluster.release()

    def _wait(self) -> None:
        self._may_use_cluster.acquire()
        if self._is_abandoned:
            raise _AbandonedError

    @contextmanager
    def _interlude(self) -> Iterator[None]:
        token = ENTER.set(None)
        self._uses_no_cluster.release()
        try:
            yield
        finally:
            ENTER.reset(token)
            self._needs_cluster.release()
            if not self._is_loop_waiting:
                self._wake()
            self._wait()


def _acquired_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
