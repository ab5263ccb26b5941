"""Work that computes long, in a thread beside the event loop: large writes, slices of the world.

Theory of operation
-------------------
Of a body of a megabyte a request makes some 100,000 values, each of which is decoded, checked and
owned, which takes a second; so does a scheduling cycle or a sync with such an object. Most of that
changes nothing that a read shows. A `ComputingThread` therefore executes such work, and either the
thread or the event loop uses the cluster, never both:

- the thread, while the event loop waits in `advance`;
- the event loop, while the thread computes in an interlude, or waits at its end for `advance`.

While the thread computes, the loop executes reads only, so that the work finds the cluster as it
left it, and writes keep their order. An interlude costs a microsecond: the thread continues with
the cluster unless the loop has waited for a slice.
"""

from __future__ import annotations

import asyncio
import queue
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Generic, TypeAlias, TypeVar

from podwright._interludes import ENTER
from podwright.apimachinery.objects import NamespacedName
from podwright.cluster.store import GroupKind
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.scheduler.framework import CallExtender

T = TypeVar("T")

SLICE_SECONDS: Final = 0.004
"""How long the event loop waits in a turn for the thread that computes: most requests are done."""

SWITCH_SECONDS: Final = 0.001
"""How long the thread computes while the event loop waits for the interpreter lock: a small read
waits for it about five times."""

LONG_NS: Final = 20_000_000
LONG_FOR: Final = 256
"""A slice of the world with so much CPU is long, and so many after it are executed in a thread."""

_DATA_KINDS: Final = (("", "ConfigMap"), ("", "Secret"))
_DEFINITIONS: Final = "apiextensions.k8s.io"
"""Kinds of which the components of a cluster read little, and a group of such kinds."""


class _AbandonedError(BaseException):
    """The server ends; the work is not executed any further."""


class LongSlices:
    """Which slices of the world are executed in a thread, because they may take long.

    Parameters
    ----------
    large : mapping
        The names of the large objects of each kind; see `ObjectStore`. Components compute long for
        one pod with 20,000 containers, or a template of such pods.
    """

    def __init__(self, large: Mapping[GroupKind, Collection[NamespacedName]]) -> None:
        self._large = large
        self._left = 0

    @property
    def is_next_long(self) -> bool:
        """Whether the next slice may take long."""
        return self._left > 0 or any(_is_computed_with(kind) for kind in self._large)

    def add(self, cpu_ns: int) -> None:
        """Add the CPU of a slice: what took long often does so again, such as a slow plugin."""
        self._left = LONG_FOR if cpu_ns >= LONG_NS else max(self._left - 1, 0)


def _is_computed_with(kind: GroupKind) -> bool:
    """Whether components compute with objects of a kind; not with those of custom ones."""
    group = kind[0]
    if kind in _DATA_KINDS or group == _DEFINITIONS:
        return False
    return "." not in group or group.endswith(".k8s.io")


class ComputingThread(Generic[T]):
    """Work that is executed in a thread.

    Parameters
    ----------
    execute : callable
        Called in the thread.
    wake : callable
        Called in the thread when it waits for `advance`.

    Attributes
    ----------
    result : T
        What the execution returned; set when it has ended.
    """

    result: T

    def __init__(self, execute: Callable[[], T], wake: Callable[[], None]) -> None:
        self._execute = execute
        self._wake = wake
        # Held by the loop or the thread, whichever uses the cluster; one may release the other's.
        self._cluster = _acquired_lock()
        # Held by the loop while it waits for the cluster, so that it is the next to use it.
        self._turnstile = threading.Lock()
        self._has_ended = _acquired_lock()
        # A thread that waits for the cluster has it before the loop waits for it again.
        self._is_waiting, self._is_handed_over = True, False
        self._was_taken = _acquired_lock()
        self._is_abandoned = self._is_done = False
        self._error: BaseException | None = None
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(min(SWITCH_SECONDS, self._switch_seconds))
        threading.Thread(target=self._run, name="computing", daemon=True).start()

    def advance(self, slice_seconds: float = SLICE_SECONDS) -> bool:
        """Let the thread use the cluster until it ends, or computes after a slice.

        Parameters
        ----------
        slice_seconds : float
            -1 waits until it ends.

        Returns
        -------
        bool
            Whether it has ended.

        Raises
        ------
        BaseException
            What the execution raised.
        """
        self._is_handed_over = is_handed_over = self._is_waiting
        self._cluster.release()
        if is_handed_over:
            self._was_taken.acquire()
        self._has_ended.acquire(timeout=slice_seconds)
        with self._turnstile:
            self._cluster.acquire()
        if self._is_done:
            self._end()
            if self._error is not None:
                raise self._error
        return self._is_done

    def abandon(self) -> None:
        """End the thread where it uses the cluster next."""
        self._is_abandoned = True
        self._cluster.release()
        self._end()

    def _end(self) -> None:
        sys.setswitchinterval(self._switch_seconds)

    def _run(self) -> None:
        ENTER.set(self._interlude)
        try:
            self._take_cluster()
            self.result = self._execute()
        except _AbandonedError:
            return
        except BaseException as error:  # noqa: BLE001 - raised in the event loop
            self._error = error
        self._is_done = True
        self._has_ended.release()
        self._cluster.release()

    @contextmanager
    def _interlude(self) -> Iterator[None]:
        token = ENTER.set(None)
        self._cluster.release()
        try:
            yield
        finally:
            ENTER.reset(token)
            with self._turnstile:
                pass
            if not self._cluster.acquire(blocking=False):
                self._is_waiting = True
                self._wake()
                self._take_cluster()
            elif self._is_abandoned:
                raise _AbandonedError

    def _take_cluster(self) -> None:
        """Wait for the loop to hand over the cluster."""
        self._cluster.acquire()
        self._is_waiting = False
        if self._is_handed_over:
            self._is_handed_over = False
            self._was_taken.release()
        if self._is_abandoned:
            raise _AbandonedError


def _acquired_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


# Slices of time for a thread beside a busy event loop.
#
# A thread that waits for the interpreter lock demands it only after a switch interval of 5 ms in
# which the holder has not released it. A busy event loop releases the lock at each system call,
# and takes it back before the other thread has woken up. So the other thread may wait without end:
# under load, a checkpoint that takes 0.7 s was not written within 12 s. Here the event loop waits
# for the thread, and so lets it take the lock.


async def share_with_thread(
    is_done: threading.Event, *, slice_seconds: float, pause_seconds: float
) -> None:
    """Block the event loop for slices of time until a thread is done.

    A thread that computes keeps the lock for up to a switch interval after the end of a slice.

    Parameters
    ----------
    is_done : threading.Event
        Set by the thread; it ends the slice as well.
    slice_seconds : float
        How long the event loop waits for the thread at once.
    pause_seconds : float
        How long the event loop continues in between, at least: one iteration with 0.
    """
    while not is_done.wait(slice_seconds):  # noqa: ASYNC110 - an asyncio.Event would not block
        await asyncio.sleep(pause_seconds)


# Calls of extenders in threads, so that a slow extender delays nothing but its own pods.
#
# The threads are daemons: a call that hangs does not delay the end of the process.

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
