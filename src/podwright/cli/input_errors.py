"""Reads files, and collects the errors of several inputs to report them together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Self

from podwright.apimachinery.objects import FieldError, InputError, decoding_message, utf8


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
