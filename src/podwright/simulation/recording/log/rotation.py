"""Decision logs in numbered run folders, of which the oldest are deleted.

A log starts with a checkpoint of the machine, so that each folder is a run by itself. A process
that starts again continues with the next number.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from podwright.scheduler.machine import Action, Event, Machine
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_files import SUFFIX
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.log.recorder import Recorder

_LOG = "log"


class RotatingRecorder:
    """Records every event of a machine, in one run folder after the other.

    Parameters
    ----------
    folder : Path
        Holds the run folders.
    begin : callable
        Makes the machine, and its log in the folder that it is called with; called once.
    largest_bytes : int
        How large a log becomes before the next one starts.
    kept_count : int
        The most folders to keep; 0 for all.

    Raises
    ------
    LogError
        The folder cannot be written, or holds something else.
    """

    def __init__(
        self,
        folder: Path,
        begin: Callable[[str], Recorder],
        *,
        largest_bytes: int,
        kept_count: int = 0,
    ) -> None:
        self._folder = folder
        self._largest_bytes = largest_bytes
        self._kept_count = kept_count
        if (folder / _LOG).exists():
            raise LogError(f"{folder} is the folder of one run; choose another one")
        self.path = self._next()
        self._recorder = begin(str(self.path / _LOG))
        self._delete_oldest()

    @property
    def machine(self) -> Machine:
        """The machine, to be used through `handle` only."""
        return self._recorder.machine

    @property
    def log(self) -> DecisionLog:
        """The current log."""
        return self._recorder.log

    def handle(self, event: Event, now_ns: int) -> list[Action]:
        """Let the machine handle an event, and record it; see `Machine.handle`."""
        return self._recorder.handle(event, now_ns)

    def rotate_if_due(self) -> bool:
        """Start the next log if the present one is large; return whether it was started.

        While the machine has work that cannot be saved, the current log continues.

        Raises
        ------
        LogError
            The folder cannot be written.
        """
        if self._size_bytes() < self._largest_bytes or not self.machine.can_snapshot:
            return False
        present = self.log
        path = self._next()
        try:
            log = DecisionLog.create(
                path / _LOG, present.header.setup, fingerprints=present.header.fingerprints
            )
            try:
                log.checkpoint(self.machine, is_whole=True)
            except LogError:
                log.abandon()
                raise
        except LogError:
            # The next attempt would leave another part of a folder.
            shutil.rmtree(path, ignore_errors=True)
            raise
        present.close()
        self.path = path
        self._recorder = Recorder(self.machine, log)
        self._delete_oldest()
        return True

    def _size_bytes(self) -> int:
        return sum(file.stat().st_size for file in (self.path / _LOG).glob(f"*{SUFFIX}"))

    def _numbers(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(each.name) for each in self._folder.iterdir() if each.name.isdecimal())

    def _next(self) -> Path:
        numbers = self._numbers()
        return self._of(numbers[-1] + 1 if numbers else 1)

    def _of(self, number: int) -> Path:
        return self._folder / f"{number:06}"

    def _delete_oldest(self) -> None:
        if self._kept_count:
            for number in self._numbers()[: -self._kept_count]:
                shutil.rmtree(self._of(number))
