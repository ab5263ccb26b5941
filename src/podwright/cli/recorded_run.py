"""The folder of a recorded run, and moments in it as people write them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import typer

from podwright.cli.input_errors import read_text
from podwright.cli.installed import installed_plugins
from podwright.config import format_duration, parse_duration
from podwright.framework import Plugin
from podwright.objects import FieldError, InputError, timestamp_ns, timestamp_text_nano
from podwright.recording import DecisionLog, LogError, class_name, without_collection


class PastRun:
    """A recorded run.

    Parameters
    ----------
    path : Path
        What `podwright simulate` made, or the folder of a decision log alone.
    plugins : iterable of type
        The user's own plugin classes that are given.

    Attributes
    ----------
    log : DecisionLog
    plugins : tuple of type
        Those that are given, and those that it was recorded with and that are installed.
    start_ns, end_ns : int
        When the run began, and the time of its last event.

    Raises
    ------
    InputError
        If the manifest cannot be read.
    LogError
        If there is no log, or one that cannot be read, or plugins are missing.
    """

    def __init__(self, path: Path, plugins: Iterable[type[Plugin]] = ()) -> None:
        self.path = path
        inner = path / "log"
        self.log = DecisionLog.open(inner if inner.is_dir() else path)
        self.plugins = self._with_installed(tuple(plugins))
        count = len(self.log)
        self.start_ns = start_of_run(path, self.log)
        self.end_ns = self.log.time_of(count - 1) if count else self.start_ns

    def _with_installed(self, plugins: tuple[type[Plugin], ...]) -> tuple[type[Plugin], ...]:
        needed = {plugin.name: plugin.cls for plugin in self.log.setup.plugins}
        for plugin in plugins:
            needed.pop(plugin.name, None)
        installed = tuple(
            one.cls
            for one in installed_plugins(needed)
            if class_name(one.cls) == needed[one.cls.name]
        )
        found = {plugin.name for plugin in installed}
        missing = [name for name in needed if name not in found]
        if missing:
            raise LogError(
                f"{self.path} was recorded with plugins that are not in-tree:"
                f" {', '.join(missing)}; give their files again, with --plugin FILE"
            )
        return (*plugins, *installed)

    def told(self, now_ns: int) -> str:
        """Return a moment for people: how long after the beginning, and when."""
        return f"{self.since_start(now_ns)} into the run ({when(now_ns)})"

    def since_start(self, now_ns: int) -> str:
        """Return how long after the beginning of the run a moment is."""
        return format_duration(now_ns - self.start_ns)

    def moment(self, text: str) -> int:
        """Read a moment: RFC 3339, or a duration since the beginning of the run.

        Raises
        ------
        BadParameter
            If it is neither, or before the run.
        """
        now_ns = moment_since(text, self.start_ns)
        if now_ns is None:
            raise typer.BadParameter(
                f'"{text}" is no time: give how long after the beginning of the run, such as'
                " 1h30m, or a time such as 2026-01-01T12:00:00Z.",
                param_hint="'--at'",
            )
        if now_ns < self.start_ns:
            raise typer.BadParameter(
                f"{when(now_ns)} is before the run, which begins at {when(self.start_ns)}.",
                param_hint="'--at'",
            )
        return now_ns


def moment_since(text: str, start_ns: int) -> int | None:
    """Read RFC 3339, or a duration since a beginning; None if it is neither."""
    try:
        return start_ns + parse_duration(text)
    except ValueError:
        return timestamp_ns(text.upper())


def start_of_run(path: Path, log: DecisionLog) -> int:
    """Return when a run began.

    Parameters
    ----------
    path : Path
        What `podwright simulate` made, or the folder of the log alone.

    Raises
    ------
    InputError
        If the manifest cannot be read.
    """
    told_ns = _start_of(path / "manifest.json")
    if told_ns is not None:
        return told_ns
    return log.setup.start_ns or (log.time_of(0) if len(log) else 0)


def when(now_ns: int) -> str:
    """Return a time as RFC 3339, with as many digits as it has."""
    text = timestamp_text_nano(now_ns).removesuffix("Z")
    return f"{text.rstrip('0').removesuffix('.')}Z"


def _start_of(manifest: Path) -> int | None:
    """Return when the manifest says that the run began; None if there is none."""
    if not manifest.exists():
        return None
    try:
        return msgspec.json.decode(read_text(manifest), type=_Manifest).start_ns
    except msgspec.MsgspecError as error:
        message = f"does not say when the run began: {error}"
        raise InputError([FieldError(source=str(manifest), path="", message=message)]) from error


class _Manifest(msgspec.Struct):
    """What is read of a manifest."""

    start_ns: int


@contextmanager
def looking_at(run: PastRun) -> Iterator[None]:
    """Close the log afterwards, and leave all garbage alone until the process ends.

    What is read of a large run is a million objects, and to look through them once more for
    garbage when nothing is left to do takes as long as the answer.
    """
    with run.log, without_collection():
        yield
        gc.freeze()
