"""Reader processes: long reading, such as explaining the past, beside the turn loop.

Theory of operation
-------------------
A reader is a copy of this process (`fork`): it has the objects, the scheduler and its log as they
were between two turns, shares their memory with the server until one of them changes, and cannot
change the cluster. The file of the store stays the server's: a reader reads what is in memory. It
calls one function, sends the result through a pipe, and ends. A reader that crashes, or is killed
because its request was cancelled, is an error of that request only.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import pickle
import signal
import struct
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from podwright.apimachinery.objects import PodwrightError
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver.turn_loop import TurnLoop

T = TypeVar("T")

READERS_MAX: Final = 2
"""The number of readers at a time; further requests wait."""

Report: TypeAlias = Callable[[object], None]
"""Reports progress: a value that can be pickled."""

_LENGTH: Final = struct.Struct("!Q")
_READ_BYTES: Final = 1 << 18
_PART_BYTES: Final = 1 << 18
_PROGRESS: Final = 0
_RESULT: Final = 1
_ERROR: Final = 2


class ReaderFailed(PodwrightError):  # noqa: N818 - named for what it is
    """A reader process that ended without a result."""


class Readers:
    """Calls functions in copies of the server's process.

    Parameters
    ----------
    turns : TurnLoop
        A reader starts between the requests of a turn.
    """

    def __init__(self, turns: TurnLoop) -> None:
        self._turns = turns
        self._free = asyncio.Semaphore(READERS_MAX)

    async def call(
        self,
        function: Callable[[Report], T],
        *,
        progressed: Report | None = None,
        prepare: Callable[[], object] = lambda: None,
    ) -> T:
        """Call a function in a reader, and return its result.

        Cancellation kills the reader.

        Parameters
        ----------
        function : callable
            Reads the cluster; receives a function that reports progress. Its result and what it
            raises are pickled.
        progressed : callable, optional
            Receives the reports.
        prepare : callable
            Called by the server just before the reader starts.

        Raises
        ------
        ReaderFailed
            The reader crashed, or its result cannot be pickled.
        Exception
            What the function raised.
        """
        async with self._reader(function, prepare) as pipe:
            result: T = await _result(pipe, progressed)
            return result

    def parts(self, content: Callable[[], bytes]) -> AsyncIterator[bytes]:
        """Call a function in a reader, and yield the bytes that it returns in parts.

        For long replies: receiving 100 MB as a whole, and copying them, holds the event loop for
        200 ms.

        Parameters
        ----------
        content : callable
            Reads the cluster; called once.

        Raises
        ------
        ReaderFailed
            The reader crashed.
        Exception
            What the function raised, before the first part.
        """
        return self.reports(lambda report: report_parts(content(), report))

    async def reports(self, function: Callable[[Report], object]) -> AsyncGenerator[Any, None]:
        """Call a function in a reader, and yield what it reports.

        Raises
        ------
        ReaderFailed
            The reader crashed.
        Exception
            What the function raised.
        """
        async with self._reader(function) as pipe:
            with _received(pipe) as received:
                while True:
                    kind, value = await _message(received)
                    if kind == _RESULT:
                        return
                    yield value

    @contextlib.asynccontextmanager
    async def _reader(
        self, function: Callable[[Report], Any], prepare: Callable[[], object] = lambda: None
    ) -> AsyncIterator[int]:
        """Start a reader, and return the end of its pipe; the reader ends with the block."""

        def begin(_: object) -> tuple[int, int]:
            prepare()
            return _fork(self._turns.cluster.store, function)

        async with self._free:
            process, pipe = await self._turns.call(begin)
            try:
                yield pipe
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)  # it has ended, or is not needed
                await asyncio.to_thread(os.waitpid, process, 0)


async def begun(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Return the parts of a reply, of which the first is there: errors can still be a reply."""
    first = await anext(parts, b"")

    async def all_parts() -> AsyncIterator[bytes]:
        yield first
        async for part in parts:
            yield part

    return all_parts()


def report_parts(content: bytes, report: Report) -> None:
    """Report long content in parts."""
    for first in range(0, len(content), _PART_BYTES):
        report(content[first : first + _PART_BYTES])


async def _result(pipe: int, progressed: Report | None) -> Any:
    """Return the result of a reader, and close the pipe."""
    with _received(pipe) as received:
        while True:
            kind, value = await _message(received)
            if kind == _RESULT:
                return value
            if progressed is not None:
                progressed(value)


async def _message(received: asyncio.StreamReader) -> tuple[int, Any]:
    """Return the kind and the value of the next message of a reader; raise what it raised."""
    try:
        (length,) = _LENGTH.unpack(await received.readexactly(_LENGTH.size))
        kind, value = pickle.loads(await received.readexactly(length))
    except asyncio.IncompleteReadError as error:
        raise ReaderFailed("the reader process ended without a result") from error
    if kind == _ERROR:
        raise value
    return kind, value


@contextlib.contextmanager
def _received(pipe: int) -> Iterator[asyncio.StreamReader]:
    """Return a stream of what a reader sends, and close the pipe after the block.

    The pipe is not a transport: uvloop closes the descriptor of a transport once more after the
    file object is closed, when a client's connection may have its number already.
    """
    loop = asyncio.get_running_loop()
    received = asyncio.StreamReader()

    def receive() -> None:
        try:
            data = os.read(pipe, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            received.feed_data(data)
        else:
            loop.remove_reader(pipe)
            received.feed_eof()

    os.set_blocking(pipe, False)
    loop.add_reader(pipe, receive)
    try:
        yield received
    finally:
        loop.remove_reader(pipe)
        os.close(pipe)


def _fork(store: ObjectStore, function: Callable[[Report], Any]) -> tuple[int, int]:
    """Start a reader; return its process id, and the end of the pipe from which to read."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Other threads only call extenders; a reader uses none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        _read(store, function, writing)
    os.close(writing)
    return process, reading


def _read(store: ObjectStore, function: Callable[[Report], Any], writing: int) -> NoReturn:
    """Be the reader: call the function, send its result, and end without any cleaning up."""
    status = 1
    try:
        store.leave_file()
        gc.disable()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        # Sockets of clients must close when the server closes them.
        os.closerange(3, writing)
        os.closerange(writing + 1, os.sysconf("SC_OPEN_MAX"))
        logging.disable()
        try:
            kind, value = _RESULT, function(lambda report: _send(writing, _PROGRESS, report))
        except RecursionError as error:
            # What it refers to may be nested too deeply for pickle as well.
            kind, value = _ERROR, RecursionError(str(error))
        except Exception as error:  # noqa: BLE001 - sent to the server
            kind, value = _ERROR, error
        try:
            _send(writing, kind, value)
        except Exception as error:  # noqa: BLE001 - what cannot be pickled raises anything
            failure = ReaderFailed(f"the reader cannot send {value!r}: {error}")
            _send(writing, _ERROR, failure)
        status = 0
    finally:
        os._exit(status)


def _send(writing: int, kind: int, value: object) -> None:
    data = pickle.dumps((kind, value), protocol=pickle.HIGHEST_PROTOCOL)
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(writing, view) :]
