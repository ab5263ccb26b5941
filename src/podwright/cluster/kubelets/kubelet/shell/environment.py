"""What a script acts on, and the state of a shell: variables, options, streams and files.

Builtins and expansions work on it; `interpreter` executes commands with it.
"""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from podwright.cluster.kubelets.kubelet.shell.arithmetic import evaluate
from podwright.cluster.kubelets.kubelet.shell.syntax import List, NotSimulatedError, Redirected

_SIZE_MAX: Final = 1 << 20

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


class Facts(msgspec.Struct, frozen=True, kw_only=True):
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

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._at = 0

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
    """A stream of text, such as the log of a container, which keeps its last mebibyte."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        """Append a text."""
        self.text = (self.text + text)[-_SIZE_MAX:]

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
            self._files.write(self._path, (self._files.read(self._path) + text)[-_SIZE_MAX:])


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


# The state of a shell: its variables, options, streams and files.
#
# Builtins and expansions work on it; `interpreter` executes commands with it.

Steps: TypeAlias = Generator[int | None, None, int]
"""An execution: yields the times that pass, in nanoseconds, and returns an exit status."""

_IMAGE_VARIABLES: Final = frozenset({"http_proxy", "https_proxy", "no_proxy", "all_proxy"})


class Exit(Exception):  # noqa: N818 - a way to leave the script, not an error
    """The shell ends with a status."""

    def __init__(self, status: int) -> None:
        self.status = status


class Leave(Exception):  # noqa: N818
    """`break`, `continue` or `return`."""

    def __init__(self, kind: str, value: int) -> None:
        self.kind, self.value = kind, value


class Context:
    """What a shell and its subshells share.

    Attributes
    ----------
    reads : int
        How often files or random numbers were read, or files were written.
    elapsed_ns : int
        The time that was slept.
    has_trap : bool
        Whether a trap for SIGTERM was ever set.
    is_terminated : bool
        Whether SIGTERM has come and was not handled yet.
    """

    def __init__(self) -> None:
        self.reads = 0
        self.rounds = 0
        self.elapsed_ns = 0
        self.has_trap = False
        self.is_terminated = False

    def sleep(self, duration_ns: int | None) -> Generator[int | None, None, None]:
        """Let time pass."""
        if duration_ns is None:
            yield None
            raise AssertionError("a script that sleeps for ever is continued")
        self.elapsed_ns += duration_ns
        self.rounds = 0
        if duration_ns:
            yield duration_ns


class ShellState(ABC):
    """The state of a shell, or of a subshell.

    Parameters
    ----------
    facts : Facts
    name : str
        The value of `$0`.
    parameters : sequence of str
        The positional parameters.
    """

    def __init__(self, facts: Facts, *, name: str = "sh", parameters: Sequence[str] = ()) -> None:
        self.facts = facts
        self.context = Context()
        self.name = name
        self.parameters = list(parameters)
        self.variables: dict[str, str | None] = {}
        self.directory = facts.directory
        self.options: set[str] = set()
        self.functions: dict[str, Redirected] = {}
        self.traps: dict[str, List | None] = {}
        self.status = 0
        # The status before the trap for EXIT, or for SIGTERM, whose action is executed.
        self.before_end: int | None = None
        self.before_signal: int | None = None
        self.calls = 0
        self.loops = 0
        self.input = Input()
        self.log = Log()
        self.output: Output = self.log
        self.errors: Output = self.log

    # ----------------------------------------------------------------------------- variables

    @property
    def separators(self) -> str:
        """The value of IFS."""
        value = self.variables.get("IFS", " \t\n")
        return " \t\n" if value is None else value

    @property
    def has_extensions(self) -> bool:
        """Whether the shell has what busybox and bash have beyond POSIX, as `[[` and `$RANDOM`."""
        return self.facts.dialect in ("bash", "busybox") or self.name in ("bash", "ash")

    def value(self, name: str, *, is_tested: bool = False) -> str | None:
        """Return the value of a parameter; None if it is not set."""
        found: str | None
        if name in self.variables:
            found = self.variables[name]
        elif name == "?":
            found = str(self.status)
        elif name == "#":
            found = str(len(self.parameters))
        elif name.isdecimal():
            place = int(name)
            known = [self.name, *self.parameters]
            found = known[place] if place < len(known) else None
        elif name in self.facts.variables:
            found = self.facts.variables[name]
            if found is None:
                raise NotSimulatedError(f"the value of ${name}")
        elif name == "RANDOM" and self.has_extensions:
            self.context.reads += 1
            found = str(self.facts.next_random())
        elif name == "PWD" and self.directory is not None:
            found = self.directory
        elif not name.islower() or name in _IMAGE_VARIABLES:
            raise NotSimulatedError(f"${name}, which the image may set and the pod does not")
        else:
            found = None
        if found is None and "u" in self.options and not is_tested:
            raise NotSimulatedError(f"${name}, which is not set, after set -u")
        return found

    def arithmetic_variable(self, name: str) -> str:
        """Return the value of a variable within `$((`."""
        return self.value(name) or ""

    def assign(self, name: str, value: str | None) -> None:
        """Set a variable; None unsets it."""
        if not (name.isidentifier() and name.isascii()):
            raise NotSimulatedError(f'an assignment to "{name}"')
        self.variables[name] = value

    def compute(self, text: str) -> int:
        """Return the value of an arithmetic expression."""
        return evaluate(text, self.arithmetic_variable)

    def leave(self, kind: str, value: int) -> None:
        """Leave a loop or a function."""
        if kind == "return" and not self.calls:
            raise NotSimulatedError("return outside of a function")
        if kind != "return" and not self.loops:
            raise NotSimulatedError(f"{kind} outside of a loop")
        raise Leave(kind, value)

    @abstractmethod
    def substitution(self, body: List) -> Generator[int | None, None, str]:
        """Return the output of a list without the line ends at its end."""

    @abstractmethod
    def command(self, words: Sequence[str]) -> Steps:
        """Execute a builtin or a program, with its arguments."""

    @abstractmethod
    def parsed(self, text: str) -> List:
        """Return the tree of the action of a trap."""

    # --------------------------------------------------------------------------------- files

    def path(self, text: str) -> str:
        """Return the absolute path of a file."""
        if not text:
            raise FileAccessError(text)
        found = absolute(text, self.directory)
        if text.endswith("/") and self.facts.files.kind(found) == "file":
            raise FileAccessError(text)
        return found

    def kind(self, text: str) -> str | None:
        """Return what a path is: `file`, `directory` or None."""
        self.context.reads += 1
        try:
            return "device" if text == "/dev/null" else self.facts.files.kind(self.path(text))
        except FileAccessError:
            return None

    def read(self, text: str) -> str:
        """Return the content of a file."""
        if text == "/dev/null":
            return ""
        if text in ("-", "/dev/stdin"):
            self.context.reads += 1
            return self.input.rest()
        if self.kind(text) != "file":
            raise FileAccessError(text)
        return self.facts.files.read(self.path(text))

    def write(self, text: str, content: str) -> None:
        """Write a file."""
        path = self.path(text)
        check_writable(self.facts.files, path)
        self.context.reads += 1
        self.facts.files.write(path, content)
