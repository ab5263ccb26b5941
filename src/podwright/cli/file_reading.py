"""What a command does while it reads files: shows the progress, and uses the cache of dumps."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Self

from rich.console import Console
from rich.status import Status

from podwright._garbage import frozen_creations
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    PodwrightError,
    decoding_message,
    utf8,
)
from podwright.cli.console import stderr
from podwright.simulation.files import DocumentCache, Watch


class MissingLiveError(PodwrightError):
    """The extra `live` is not installed."""


CACHE_VARIABLE = "PODWRIGHT_CACHE"
"""`off`, or the folder of the cache; without it, entries stand beside the files."""

_QUIET_SECONDS = 1.0


@contextmanager
def reading_files() -> Iterator[Watch | None]:
    """Show the name of the file and the share that is read, after a second, on a terminal.

    Yields
    ------
    callable or None
        To be passed to the functions that read files.
    """
    console = stderr()
    with frozen_creations():
        if not console.is_terminal:
            yield None
            return
        display = _ReadingDisplay(console)
        try:
            yield display.watch
        finally:
            display.stop()


class _ReadingDisplay:
    """The line on the terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begun_s = monotonic()
        self._status: Status | None = None
        self._text = ""

    def watch(self, source: str, share: float) -> None:
        text = f"reading {source}: {share:.0%}"
        if text == self._text:
            return
        self._text = text
        if self._status is not None:
            self._status.update(text)
        elif monotonic() - self._begun_s >= _QUIET_SECONDS:
            self._status = self._console.status(text)
            self._status.start()

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()


def document_cache() -> DocumentCache | None:
    """Return the cache of dumps that the environment selects; None if it is switched off."""
    setting = os.environ.get(CACHE_VARIABLE, "")
    if setting == "off":
        return None
    if setting:
        return DocumentCache(Path(setting), is_beside=False)
    return DocumentCache(_user_folder())


def _user_folder() -> Path | None:
    """Return podwright's folder among the user's caches; None without a home folder."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        caches = home / "Library" / "Caches"
    elif sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return caches / "podwright" / "documents"


class ErrorCollector:
    """Collects the errors of several inputs. As a context manager, it collects `InputError`s."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, InputError):
            return False
        self.errors.extend(error.errors)
        return True

    def raise_all(self) -> None:
        """Raise the collected errors, if there are any."""
        if self.errors:
            raise InputError(self.errors)


def read_text(path: Path) -> str:
    """Read a text file; `-` is standard input.

    Raises
    ------
    InputError
        If it cannot be read, or is neither UTF-8 nor UTF-16 with a byte order mark.
    """
    is_stdin = str(path) == "-"
    try:
        data = sys.stdin.buffer.read() if is_stdin else path.read_bytes()
        return utf8(data).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        source, message = "stdin" if is_stdin else str(path), decoding_message(error)
        raise InputError([FieldError(source=source, path="", message=message)]) from error
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise InputError([FieldError(source=str(path), path="", message=message)]) from error
