"""Reader processes: long reading, such as explaining the past, beside the turn loop.

Theory of operation
-------------------
A reader is a copy of this process (`fork`): it has the objects, the scheduler and its log as they
were between two turns, shares their memory with the server until one of them changes, and cannot
change the cluster. It calls one function, sends the result through a pipe, and ends. A reader that
crashes, or is killed because its request was cancelled, is an error of that request only.
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
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from podwright.apiserver.turn_loop import TurnLoop
from podwright.objects import PodwrightError

T = TypeVar("T")

READERS_MAX: Final = 2
"""The number of readers at a time; further requests wait."""

Report: TypeAlias = Callable[[object], None]
"""Reports progress: a value that can be pickled."""

_LENGTH: Final = struct.Struct("!Q")
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
        A reader begins between the requests of a turn.
    """

    def __init__(self, turns: TurnLoop) -> None:
        self._turns = turns
        self._free = asyncio.Semaphore(READERS_MAX)

    async def call(self, function: Callable[[Report], T], *, progressed: Report | None = None) -> T:
        """Call a function in a reader, and return its result.

        Cancellation kills the reader.

        Parameters
        ----------
        function : callable
            Reads the cluster; receives a function that reports progress. Its result and what it
            raises are pickled.
        progressed : callable, optional
            Receives the reports.

        Raises
        ------
        ReaderFailed
            The reader crashed, or its result cannot be pickled.
        Exception
            What the function raised.
        """
        async with self._free:
            process, pipe = await self._turns.call(lambda _: _fork(function))
            try:
                result: T = await _result(pipe, progressed)
                return result
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)  # it has ended, or is not needed
                await asyncio.to_thread(os.waitpid, process, 0)


async def _result(pipe: int, progressed: Report | None) -> Any:
    reader = asyncio.StreamReader(limit=1 << 20)
    with os.fdopen(pipe, "rb", buffering=0) as file:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), file
        )
        try:
            while True:
                (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
                kind, value = pickle.loads(await reader.readexactly(length))
                if kind == _RESULT:
                    return value
                if kind == _ERROR:
                    raise value
                if progressed is not None:
                    progressed(value)
        except asyncio.IncompleteReadError as error:
            raise ReaderFailed("the reader process ended without a result") from error
        finally:
            transport.close()


def _fork(function: Callable[[Report], Any]) -> tuple[int, int]:
    """Begin a reader; return its process id, and the end of the pipe from which to read."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Other threads only call extenders; a reader uses none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        _read(function, writing)
    os.close(writing)
    return process, reading


def _read(function: Callable[[Report], Any], writing: int) -> NoReturn:
    """Be the reader: call the function, send its result, and end without any cleaning up."""
    status = 1
    try:
        gc.disable()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        # Sockets of clients must close when the server closes them.
        os.closerange(3, writing)
        os.closerange(writing + 1, os.sysconf("SC_OPEN_MAX"))
        logging.disable()
        try:
            kind, value = _RESULT, function(lambda report: _send(writing, _PROGRESS, report))
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
