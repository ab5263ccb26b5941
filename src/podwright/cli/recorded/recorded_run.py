"""The folder of a recorded run, and times in it as users write them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from podwright import _show_call
from podwright._garbage import gc_paused
from podwright._progress import set_display
from podwright.apimachinery.objects import InputError, read_time, shortest_time_text
from podwright.scheduler.assembly import installed_plugins
from podwright.scheduler.config import format_duration
from podwright.scheduler.framework import Plugin
from podwright.simulation.recording import (
    LogError,
    RunFolder,
    class_name,
    end_of_run,
    open_log,
    start_of_run,
)


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
        self.log = open_log(path)
        self.given_plugins = tuple(plugins)
        self.plugins = self._with_installed(self.given_plugins)
        self.status: str = "" if folder is None else folder.manifest.status
        self.start_ns = start_of_run(path, self.log)
        self.end_ns = end_of_run(path, self.log)

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
            (problem,) = error.errors
            message = problem.message.removeprefix("Invalid value: ")  # which typer writes
            raise typer.BadParameter(message, param_hint="'--at'") from None


@contextmanager
def open_for_command(run: RecordedRun) -> Iterator[None]:
    """Disable garbage collection while a command reads a run; close the log afterwards.

    What takes long with the run shows its progress.

    A large run has a million objects. A final collection over them, right before the process
    ends, takes as long as the command itself: `gc.freeze` prevents it.
    """
    set_display(_show_call)
    try:
        with run.log, gc_paused():
            yield
            gc.freeze()
    finally:
        set_display(None)
