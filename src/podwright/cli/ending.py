"""How the process of the command line ends: with all its output written, or with the reason.

Output may stay in a buffer until the process ends. A full disk or a closed pipe is then noticed
after the result was decided, and Python reports it with a traceback, or with a status of its own.
Here it is one line on stderr and exit status 3.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TextIO

SYSTEM_FAILED = 3
"""Exit status if the system, or the other side, failed."""

_OF_THE_SYSTEM = frozenset(
    {
        errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM,
        errno.ENOSPC, errno.EPIPE, errno.ESTALE, errno.ETIMEDOUT,
    }
)  # fmt: skip

_OF_A_STREAM = frozenset(
    {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE}
)


class SystemFailure(Exception):  # noqa: N818 - named for what it is
    """An `OSError` of a command. Typer ends a process at a closed pipe without a word."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def failures_kept() -> Iterator[None]:
    """Raise a `SystemFailure` for an `OSError`."""
    try:
        yield
    except OSError as error:
        raise SystemFailure(error) from error


def is_of_the_system(error: BaseException) -> bool:
    """Tell whether an error goes back to a full disk or the like, and not to wrong use."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _OF_THE_SYSTEM:
            return True
        cause = cause.__cause__
    return False


def end_with(command: Callable[[], object]) -> NoReturn:
    """Run a command and end the process with its exit status, or with 3 if output is lost."""
    status: str | int | None = 0
    failure = _open_streams()
    if not failure:
        try:
            command()
        except SystemExit as end:
            status = end.code
        except SystemFailure as error:
            failure = _told(error.error)
        except OSError as error:
            failure = _told(error)
        except MemoryError:
            failure = "not enough memory"
        except Exception as error:  # noqa: BLE001 - a defect; its status must not be that of an answer
            failure = f"podwright failed with {type(error).__name__}: a defect of podwright"
            with suppress(OSError):
                traceback.print_exception(error)
    failure = _flushed(sys.stdout) or _flushed(sys.stderr) or failure
    if failure:
        status = SYSTEM_FAILED
        with suppress(OSError):
            sys.stderr.write(f"error: {failure}\n")
        _flushed(sys.stderr)
    sys.exit(status)


def _open_streams() -> str:
    """Put a stream in the place of each that was closed before the process began.

    Returns
    -------
    str
        Why there is no use in going on; "" if there is.
    """
    is_lost = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
        elif name == "stdout" and isinstance(stream, io.TextIOWrapper):
            # What a terminal's encoding does not have is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    return _told(OSError(errno.EBADF, os.strerror(errno.EBADF))) if is_lost else ""


def _flushed(stream: TextIO) -> str:
    """Write what is left of a stream; return why it cannot be written, "" if it can."""
    try:
        stream.flush()
    except OSError as error:
        # The interpreter would try once more, and report it in its own way.
        with suppress(OSError), open(os.devnull, "wb") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), stream.fileno())
        return _told(error)
    return ""


def _told(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason}"
    return f"the output cannot be written: {reason}" if error.errno in _OF_A_STREAM else reason
