"""The folder of a recorded run, and times in it as users write them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import typer

from podwright.cli.input_errors import read_text
from podwright.cli.installed_plugins import installed_plugins
from podwright.config import format_duration
from podwright.framework import Plugin
from podwright.objects import (
    FieldError,
    InputError,
    read_time,
    shortest_time_text,
    timestamp_ns,
)
from podwright.recording import DecisionLog, LogError, RunFolder, class_name, gc_paused


class RecordedRun:
    """A recorded run.

    Parameters
    ----------
    path : Path
        The folder that `podwright simulate` wrote, or the folder of a decision log alone.
    plugins : iterable of type
        The custom plugin classes given by the user.

    Attributes
    ----------
    log : DecisionLog
    given_plugins : tuple of type
        The custom plugin classes given by the user.
    plugins : tuple of type
        The given ones, and the installed ones with which the run was recorded.
    status : str
        `running`, `interrupted` or `finished`; "" for the folder of a decision log alone.
    start_ns, end_ns : int
        Start and end of the run; of a running one, the time of its last event.

    Raises
    ------
    RunError
        If the manifest cannot be read.
    LogError
        If there is no log, it cannot be read, or plugins are missing.
    """

    def __init__(self, path: Path, plugins: Iterable[type[Plugin]] = ()) -> None:
        self.path = path
        has_manifest = (path / "manifest.json").exists()
        folder = RunFolder.open(path) if has_manifest else None
        if folder is not None:
            folder.check_begun()
        inner = path / "log"
        self.log = DecisionLog.open(inner if inner.is_dir() else path)
        self.given_plugins = tuple(plugins)
        self.plugins = self._with_installed(self.given_plugins)
        count = len(self.log)
        self.status: str = "" if folder is None else folder.manifest.status
        self.start_ns = start_of_run(path, self.log)
        last_ns = self.log.time_of(count - 1) if count else self.start_ns
        self.end_ns = max(last_ns, _end_of(path / "summary.json"))

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
                f" {', '.join(missing)}; pass their files with --plugin FILE"
            )
        return (*plugins, *installed)

    def describe(self, now_ns: int) -> str:
        """Return a time as text: since the start of the run, and absolute."""
        return f"{self.since_start(now_ns)} into the run ({shortest_time_text(now_ns)})"

    def since_start(self, now_ns: int) -> str:
        """Return a time as a duration since the start of the run."""
        return format_duration(now_ns - self.start_ns)

    def moment(self, text: str) -> int:
        """Parse a time: RFC 3339, or a duration since the start of the run.

        Raises
        ------
        BadParameter
            If it is neither, or before the run.
        """
        try:
            return read_time(text, "", start_ns=self.start_ns, first_ns=self.start_ns)
        except InputError as error:
            raise typer.BadParameter(error.errors[0].message, param_hint="'--at'") from None


def start_of_run(path: Path, log: DecisionLog) -> int:
    """Return the start of a run.

    Parameters
    ----------
    path : Path
        The folder that `podwright simulate` wrote, or the folder of the log alone.

    Raises
    ------
    RunError
        If the manifest cannot be read.
    """
    if (path / "manifest.json").exists():
        return RunFolder.open(path).manifest.start_ns
    return log.start_ns


def _end_of(summary: Path) -> int:
    """Return the end of the run from its summary; 0 if there is none."""
    if not summary.exists():
        return 0
    try:
        return timestamp_ns(msgspec.json.decode(read_text(summary), type=_Summary).end) or 0
    except msgspec.MsgspecError as error:
        message = f"does not contain the end of the run: {error}"
        raise InputError([FieldError(source=str(summary), path="", message=message)]) from error


class _Summary(msgspec.Struct):
    """The field of a summary that is read here."""

    end: str


@contextmanager
def open_for_command(run: RecordedRun) -> Iterator[None]:
    """Disable garbage collection while a command reads a run; close the log afterwards.

    A large run has a million objects. A final collection over them, right before the process
    ends, takes as long as the command itself: `gc.freeze` prevents it.
    """
    with run.log, gc_paused():
        yield
        gc.freeze()
