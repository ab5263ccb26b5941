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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from podwright._interludes import ENTER
from podwright.api.endpoints import HttpRequest

T = TypeVar("T")

LARGE_BYTES: Final = 8 * 1024
"""Bodies from this length on are executed in a thread; a switch costs some 50 microseconds."""

SWITCH_SECONDS: Final = 0.001
"""How long the thread computes while the event loop waits for the interpreter lock: a small read
waits for it about five times."""

_READS: Final = ("GET", "HEAD")


class _AbandonedError(BaseException):
    """The server ends; the request is not executed any further."""


def is_read(request: HttpRequest) -> bool:
    """Return whether a request changes nothing."""
    return request.method in _READS


def is_large(request: HttpRequest) -> bool:
    """Return whether a request is executed in a thread."""
    return len(request.body) >= LARGE_BYTES and not is_read(request)


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
        self._may_run = threading.Semaphore(0)
        self._is_off = threading.Semaphore(0)
        self._is_waiting = True
        self._is_abandoned = False
        self._replies: list[T] = []
        self._error: BaseException | None = None
        self._is_done = False
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(min(SWITCH_SECONDS, self._switch_seconds))
        self._thread = threading.Thread(target=self._run, name="large request", daemon=True)
        self._thread.start()

    def advance(self) -> T | None:
        """Let the thread use the cluster until it computes or ends.

        Returns
        -------
        T or None
            What the execution returned, once it has.

        Raises
        ------
        BaseException
            What the execution raised.
        """
        if not self._is_waiting:
            return None
        self._is_waiting = False
        self._may_run.release()
        self._is_off.acquire()
        if not self._is_done:
            return None
        self._end()
        if self._error is not None:
            raise self._error
        return self._replies[0]

    def abandon(self) -> None:
        """End the thread where it uses the cluster next."""
        self._is_abandoned = True
        self._may_run.release()
        self._end()

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
        self._is_off.release()

    def _wait(self) -> None:
        self._may_run.acquire()
        if self._is_abandoned:
            raise _AbandonedError

    @contextmanager
    def _interlude(self) -> Iterator[None]:
        token = ENTER.set(None)
        self._is_off.release()
        try:
            yield
        finally:
            ENTER.reset(token)
            self._is_waiting = True
            self._wake()
            self._wait()
