"""Runs scripts in memory, for tests."""

from __future__ import annotations

import posixpath
from typing import Literal

from podwright.cluster.kubelets.kubelet.shell import Dialect, Facts, NotSimulatedError, Script

HOME = "/data"


class MemoryFiles:
    """A file system with one empty directory, `/data`."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.directories = {"/", HOME}

    def kind(self, path: str) -> Literal["file", "directory"] | None:
        if path in self.directories:
            return "directory"
        return "file" if path in self.files else None

    def read(self, path: str) -> str:
        return self.files[path]

    def names(self, path: str) -> list[str]:
        known = [*self.files, *self.directories - {"/"}]
        return sorted(posixpath.basename(each) for each in known if posixpath.dirname(each) == path)

    def write(self, path: str, content: str) -> None:
        self.files[path] = content

    def make_directory(self, path: str) -> None:
        self.directories.add(path)

    def remove(self, path: str) -> None:
        self.directories.discard(path)
        self.files.pop(path, None)


def facts(
    variables: dict[str, str | None] | None = None,
    *,
    files: MemoryFiles | None = None,
    dialect: Dialect = "",
) -> Facts:
    """Return the facts about a container."""
    return Facts(
        variables=variables or {},
        files=files or MemoryFiles(),
        directory=HOME,
        dialect=dialect,
        hostname="web-0",
        next_random=lambda: 16384,
    )


def result(text: str, given: Facts | None = None, *, flags: str = "-c") -> tuple[int | None, str]:
    """Return the exit status of a script, None if it does not end, and its output."""
    script = Script(["sh", flags, text], given or facts())
    steps = script.steps()
    for _ in range(10_000):
        try:
            if next(steps) is None:
                return None, script.output
        except StopIteration as end:
            return end.value, script.output
    raise AssertionError("the script does not end")


def refusal(text: str, given: Facts | None = None) -> str:
    """Return what of a script is not simulated."""
    try:
        found = result(text, given)
    except NotSimulatedError as error:
        return str(error)
    raise AssertionError(f"it is simulated: {found}")
