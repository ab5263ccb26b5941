"""Reloads plugin files that change on disk: `podwright up --reload`.

The scheduler restarts with the changed plugins. A file with an error changes nothing. Decisions of
before can still be explained: their logs keep the classes that made them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from podwright.apimachinery.objects import PodwrightError
from podwright.online.apiserver.scheduling.running_scheduler import RunningScheduler
from podwright.scheduler.framework import Plugin

POLL_SECONDS: Final = 0.3
"""How often the files are compared; a change takes effect when a file is the same twice."""

Signature: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class PluginReload:
    """Watches plugin files, and gives the scheduler their new plugins.

    Parameters
    ----------
    files : sequence of Path
        The files, as they were when the plugins of the scheduler were loaded.
    load : callable
        Executes the files and returns their plugins; raises `PodwrightError`. It is called in a
        thread.
    report : callable
        Receives a line about each reload.
    """

    def __init__(
        self,
        files: Sequence[Path],
        load: Callable[[], list[type[Plugin]]],
        report: Callable[[str], None],
    ) -> None:
        self._files = tuple(files)
        self._load = load
        self._report = report
        self._seen = self._signature()

    async def run(self, scheduler: RunningScheduler) -> None:
        """Reload the files whenever one has changed, until the task is cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            found = await asyncio.to_thread(self._signature)
            if found == self._seen or None in found:
                continue  # an editor may remove a file before it writes the new one
            await asyncio.sleep(POLL_SECONDS)
            if found != await asyncio.to_thread(self._signature):
                continue  # it is still being written
            self._seen = found
            await self._reload(scheduler)

    async def _reload(self, scheduler: RunningScheduler) -> None:
        try:
            loaded = await asyncio.to_thread(self._load)
            await scheduler.change_plugins(loaded)
        except PodwrightError as error:
            self._report(f"{error}\nthe plugins of before stay")
            return
        names = ", ".join(plugin.name for plugin in loaded)
        self._report(f"reloaded {', '.join(map(str, self._files))}: {names}")

    def _signature(self) -> Signature:
        """Return time, size and inode of each file; None for a file that cannot be read."""
        found: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                status = file.stat()
            except OSError:
                found.append(None)
            else:
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return tuple(found)
