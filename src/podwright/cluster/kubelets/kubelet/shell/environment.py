"""What a script acts on: files, streams, and facts about its container."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

import msgspec

from podwright.cluster.kubelets.kubelet.shell.syntax import NotSimulatedError

Dialect: TypeAlias = Literal["", "bash", "busybox", "dash"]
"""The shell and the utilities of an image; empty if they are not known."""


class FileAccessError(Exception):
    """A file cannot be read or written; a program says so and fails."""


class FileTree(Protocol):
    """The files of a container, by absolute path.

    Each method raises `NotSimulatedError` for files that only the image, or a real disk, has.
    """

    def kind(self, path: str) -> Literal["file", "directory"] | None:
        """Return what a path is; None if there is nothing."""

    def read(self, path: str) -> str:
        """Return the content of a file that exists."""

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a directory that exists."""

    def write(self, path: str, content: str) -> None:
        """Write a file in a directory that exists."""

    def make_directory(self, path: str) -> None:
        """Make a directory in one that exists."""

    def remove(self, path: str) -> None:
        """Remove a file, or an empty directory, that exists."""


class Facts(msgspec.Struct, frozen=True):
    """The facts about a container that its programs read.

    Attributes
    ----------
    variables : mapping
        The environment; None for a variable that is set, but whose value is not known.
    files : FileTree
    directory : str, optional
        The working directory; None if only the image says it.
    dialect : {"", "bash", "busybox", "dash"}
    hostname : str
    next_random : callable
        Returns the next value of `$RANDOM`.
    """

    variables: Mapping[str, str | None]
    files: FileTree
    directory: str | None
    dialect: Dialect
    hostname: str
    next_random: Callable[[], int]


class Input:
    """A standard input, which is read once."""

    def __init__(self, text: str = "", *, is_open: bool = False) -> None:
        self._text = text
        self._at = 0
        self.is_open = is_open

    def rest(self) -> str:
        """Return what was not read yet."""
        found, self._at = self._text[self._at :], len(self._text)
        return found

    def line(self) -> str:
        """Return the next line with its end; empty at the end of the input."""
        end = self._text.find("\n", self._at)
        start, self._at = self._at, len(self._text) if end < 0 else end + 1
        return self._text[start : self._at]


class Output:
    """A stream of text that is kept up to a size, such as the log of a container."""

    def __init__(self, *, size_max: int = 1 << 20) -> None:
        self.text = ""
        self._size_max = size_max

    def write(self, text: str) -> None:
        """Append a text."""
        self.text = (self.text + text)[-self._size_max :]

    def write_error(self) -> None:
        """Append the message of a program that failed, whose text depends on the image."""
        raise NotSimulatedError("the text of an error message")


class Log(Output):
    """The log of a container; messages of failed programs are left out."""

    def write_error(self) -> None:
        """Leave the message out."""


class NoOutput(Log):
    """/dev/null."""

    def write(self, text: str) -> None:
        """Do nothing."""


class FileOutput(Output):
    """A file that was opened for writing."""

    def __init__(self, files: FileTree, path: str) -> None:
        super().__init__()
        self._files = files
        self._path = path

    def write(self, text: str) -> None:
        """Append a text to the file."""
        if self._files.kind(self._path) == "file":
            self._files.write(self._path, (self._files.read(self._path) + text)[-(1 << 20) :])


def absolute(path: str, directory: str | None) -> str:
    """Return an absolute path without `.` and `..`."""
    if not path.startswith("/"):
        if directory is None:
            raise NotSimulatedError(f'the path "{path}" in the working directory of the image')
        path = f"{directory}/{path}"
    found = posixpath.normpath(path)
    return found[1:] if found.startswith("//") else found


def check_writable(files: FileTree, path: str) -> None:
    """Check that a file can be written at a path."""
    if files.kind(path) == "directory" or files.kind(posixpath.dirname(path)) != "directory":
        raise FileAccessError(path)
