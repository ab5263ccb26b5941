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
from typing import Any, Final, NoReturn, TextIO

import typer
from typer.core import TyperGroup

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

    A cluster that does not answer, or rejects a request, is part of the system.
    """
    cause: BaseException | None = error
    while cause is not None:
        if getattr(cause, "is_remote", False):
            return True
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
            failure = f"podwright failed with {type(error).__name__}: a defect of podwright"
            with suppress(OSError):
                traceback.print_exception(error)
    has_reader = _has_reader(sys.stdout)
    lost = _flushed(sys.stdout) or lost
    if lost is not None and lost.errno == errno.EPIPE and not has_reader:
        # As if SIGPIPE had ended the process: `podwright ... | head` is no failure.
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
    """Replace the standard streams that were closed before the process started.

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
        elif name == "stdout" and isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal's encoding lacks must not raise an error.
            stream.reconfigure(errors="backslashreplace")
    return _error_text(OSError(errno.EBADF, os.strerror(errno.EBADF))) if is_lost else ""


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


# Reduces garbage collection in a process that runs one command and exits.


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


# Groups of commands whose errors become a message and an exit status.

_UsageError: Any = typer.BadParameter.__mro__[1]
"""The base class of all wrong uses; Typer exports only classes derived from it."""

_EXTRA_OF: Final = {
    "aiohttp": "podwright[live]",
    "cryptography": "podwright[tls]",
    "httpx": "podwright[ui]",
    "kubernetes_asyncio": "podwright[live]",
    "nicegui": "podwright[ui]",
    "prometheus_client": "podwright[live]",
    "pyarrow": "podwright[tables]",
}
"""What to install for a module that is not part of the core."""


class ReportingGroup(TyperGroup):
    """A group of commands that reports errors."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Read the command line."""
        with keep_from_typer(), _reported_usage():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; convert a `PodwrightError` into a message and an exit status."""
        with keep_from_typer(), _reported_usage():
            try:
                with reduced_collection():
                    return super().invoke(ctx)
            except (typer.Exit, typer.Abort, KeyboardInterrupt):
                raise
            except _refusals() as error:
                from podwright.cli.console import report_error

                raise typer.Exit(report_error(error)) from error
            except ModuleNotFoundError as error:
                extra = _EXTRA_OF.get((error.name or "").partition(".")[0])
                if extra is None:
                    raise
                from podwright.cli.console import report_error

                message = f"{error.name} is not installed; install it with: pip install '{extra}'"
                raise typer.Exit(report_error(_refusals()(message))) from error
            except Exception:
                raise
            except BaseException as error:
                from podwright.cli.console import report_error

                raise typer.Exit(report_error(_ended_by_a_plugin(error))) from error


@contextmanager
def _reported_usage() -> Iterator[None]:
    """Print a wrong use of the command line, with the same prefix as other errors."""
    try:
        yield
    except _UsageError as error:
        context = error.ctx
        if context is not None:
            hint = f"Try '{context.command_path} {context.help_option_names[0]}' for help."
            typer.echo(f"{context.get_usage()}\n{hint}\n", err=True)
        typer.echo(f"error: {error.format_message()}", err=True)
        raise typer.Exit(error.exit_code) from error


def _ended_by_a_plugin(error: BaseException) -> Exception:
    from traceback import extract_tb

    # No command raises SystemExit or the like, so the innermost frame is in a plugin.
    place = extract_tb(error.__traceback__)[-1]
    return _refusals()(f"{place.filename}: line {place.lineno}: {type(error).__name__} was raised")


def _refusals() -> type[Exception]:
    # Evaluated only when an exception was raised, so `--help` does not import it.
    from podwright.apimachinery.objects import PodwrightError

    return PodwrightError
