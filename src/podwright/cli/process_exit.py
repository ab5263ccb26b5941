"""The end of the process: flushes the output and converts failures into exit statuses.

Output may stay buffered until the process exits. A full disk or a closed pipe is then detected
after the command has returned, and Python reports it with a traceback, or with another status.
This module reports it as one line on stderr and exit status 3. A pipe whose reader has ended, as
with `head`, is reported by the exit status of SIGPIPE alone.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TextIO

BY_SIGNAL = 128
"""Exit status after a signal, less its number; as in shells."""

SYSTEM_FAILED = 3
"""Exit status for a system error or a failed remote call."""

_OF_THE_SYSTEM = frozenset(
    {
        errno.ECONNREFUSED, errno.ECONNRESET, errno.EDQUOT, errno.EFBIG, errno.EHOSTUNREACH,
        errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM,
        errno.ENOSPC, errno.EPIPE, errno.ESTALE, errno.ETIMEDOUT,
    }
)  # fmt: skip

_OF_THE_DISK = ("SQLITE_FULL", "SQLITE_IOERR")
"""SQLite's names for a disk that is full or fails."""

_OF_A_STREAM = frozenset(
    {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE}
)


class OSFailure(Exception):  # noqa: N818 - named for what it is
    """An `OSError` of a command, wrapped: Typer exits silently on EPIPE."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Interruption(Exception):  # noqa: N818 - named for what it is
    """A `KeyboardInterrupt` of a command, wrapped: Typer exits silently."""


@contextmanager
def keep_from_typer() -> Iterator[None]:
    """Raise an `OSFailure` for an `OSError`, an `Interruption` for a `KeyboardInterrupt`."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise Interruption(*interrupt.args) from interrupt
    except OSError as error:
        raise OSFailure(error) from error


def is_system_failure(error: BaseException) -> bool:
    """Return whether the system, such as a full disk, caused an error, and not the input.

    A cluster that does not answer, or rejects a request, is part of the system. What a plugin
    raises when it is made is of the plugin.
    """
    cause: BaseException | None = error
    while cause is not None:
        if getattr(cause, "is_remote", False):
            return True
        if getattr(cause, "is_of_plugin", False):
            return False
        if isinstance(cause, OSError) and cause.errno in _OF_THE_SYSTEM:
            return True
        if getattr(cause, "sqlite_errorname", "").startswith(_OF_THE_DISK):
            return True
        cause = cause.__cause__
    return False


def run_and_exit(command: Callable[[], object]) -> NoReturn:
    """Run a command and exit with its exit status, or with 3 if output is lost."""
    status: str | int | None = 0
    lost: OSError | None = None
    failure = _open_streams()
    if not failure:
        try:
            command()
        except SystemExit as end:
            status = end.code
        except (Interruption, KeyboardInterrupt) as interrupt:
            status = BY_SIGNAL + signal.SIGINT
            with suppress(OSError):
                sys.stderr.write(f"{str(interrupt) or 'interrupted'}\n")
        except OSFailure as error:
            lost = error.error
        except OSError as error:
            lost = error
        except MemoryError:
            failure = "not enough memory"
        except Exception as error:  # noqa: BLE001 - a defect; its status must differ from a result's
            failure = f"podwright failed with {type(error).__name__}: a bug in podwright"
            with suppress(OSError):
                traceback.print_exception(error)
    has_reader = _has_reader(sys.stdout)
    lost = _flushed(sys.stdout) or lost
    if lost is not None and lost.errno == errno.EPIPE and not has_reader:
        # As if SIGPIPE had ended the process: `podwright ... | head` is not a failure.
        _flushed(sys.stderr)
        sys.exit(BY_SIGNAL + signal.SIGPIPE)
    lost = lost or _flushed(sys.stderr)
    failure = failure if lost is None else _error_text(lost)
    if failure:
        status = SYSTEM_FAILED
        with suppress(OSError):
            sys.stderr.write(f"error: {failure}\n")
        _flushed(sys.stderr)
    sys.exit(status)


def _open_streams() -> str:
    """Replace the standard streams that were closed before the process started, or have no buffer.

    Returns
    -------
    str
        The error if stdout was closed; "" otherwise.
    """
    is_lost = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - stays open
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            if isinstance(stream.buffer, io.RawIOBase):
                stream = buffered(stream)
                setattr(sys, name, stream)
            if name == "stdout":
                # Characters that the terminal's encoding lacks must not raise an error.
                stream.reconfigure(errors="backslashreplace")
    return _error_text(OSError(errno.EBADF, os.strerror(errno.EBADF))) if is_lost else ""


def buffered(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream with a buffer, for one without: PYTHONUNBUFFERED.

    Python discards what a partial write leaves, to a pipe whose reader ends or to a full disk, if
    no buffer repeats the write.
    """
    writer = io.BufferedWriter(io.FileIO(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(
        writer, encoding=stream.encoding, errors=stream.errors, line_buffering=True
    )


def _has_reader(stream: TextIO) -> bool:
    """Return whether a stream is not a pipe whose reader has ended."""
    polled = select.poll()
    try:
        polled.register(stream.fileno(), 0)
    except (OSError, ValueError):  # no file
        return True
    return not any(events & select.POLLERR for _, events in polled.poll(0))


def _flushed(stream: TextIO) -> OSError | None:
    """Flush a stream; return the error, None if there is none."""
    try:
        stream.flush()
    except OSError as error:
        # Otherwise the interpreter flushes once more at exit and prints its own error.
        with suppress(OSError), open(os.devnull, "wb") as nothing:  # noqa: PTH123 - a device
            os.dup2(nothing.fileno(), stream.fileno())
        return error
    return None


def _error_text(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason}"
    return f"the output cannot be written: {reason}" if error.errno in _OF_A_STREAM else reason


@contextmanager
def reduced_collection() -> Iterator[None]:
    """Run the garbage collector about a hundred times less often inside the context.

    Almost all objects of a command live to its end or are freed by reference counting.
    Collections take 5 % of the time of a large simulation, and 10 % of the time of imports.
    Not for library code: the collector's settings belong to the application.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 50, 10)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
