"""The runs in a folder: list, read, pack, delete.

A run is named by its folder directly in that folder, so no name leads anywhere else; symbolic links
are not followed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import PodwrightError, timestamp_text_nano
from podwright.online.apiserver.free_memory import release_free_memory
from podwright.online.apiserver.readers import ReaderFailed, Readers
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.simulation.recording import RunError, RunFolder

_PIECE_BYTES: Final = 1 << 20


class UnknownRun(PodwrightError):  # noqa: N818 - named for what it is
    """A name that no run in the folder has."""


class RunEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A run in a list.

    Attributes
    ----------
    id : str
        The name of its folder.
    status : str
        `running`, `interrupted` or `finished`; "" if it cannot be read.
    start_time : str
        Its virtual time at the start.
    end_time : str
        Its virtual time at the end; "" before it has finished.
    placed, pending, preemptions : int, optional
        Its results, if it has finished: placements, pods without a node at the end, preemptions.
    longest_wait_seconds : float, optional
        Of a pod until its node, if one was placed.
    seed : int
    podwright : str
        The version that wrote it.
    problem : str
        Why it cannot be read; "" if it can.
    """

    id: str
    status: str = ""
    start_time: str = ""
    end_time: str = ""
    placed: int | None = None
    pending: int | None = None
    preemptions: int | None = None
    longest_wait_seconds: float | None = None
    seed: int = 0
    podwright: str = ""
    problem: str = ""


class _Results(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of summary.json."""

    end: str = ""
    counts: dict[str, int] = {}
    pending: dict[str, int] = {}
    waits: dict[str, float] | None = None


class RunFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A file of a run.

    Attributes
    ----------
    name : str
        Its path in the folder of the run.
    size_bytes : int
    """

    name: str
    size_bytes: int


class RunDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A run.

    Attributes
    ----------
    id : str
        The name of its folder.
    manifest : dict
        Its inputs and options.
    summary : dict, optional
        Its results, if it has finished.
    files : list of RunFile
    """

    id: str
    manifest: dict[str, Any]
    summary: dict[str, Any] | None
    files: list[RunFile]


class RunCollection:
    """The runs in a folder.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list(self) -> list[RunEntry]:
        """Return all runs, by name."""
        return [_entry(self._folder / name) for name in sorted(self._names())]

    def details(self, name: str) -> RunDetails:
        """Return a run with its files.

        Raises
        ------
        UnknownRun
        RunError
            It cannot be read.
        """
        path = self.path(name)
        run = RunFolder.open(path)
        summary = run.read_summary(dict) if run.has_results else None
        files = [
            RunFile(name=str(each.relative_to(path)), size_bytes=each.stat().st_size)
            for each in _files(path)
        ]
        return RunDetails(
            id=name, manifest=msgspec.to_builtins(run.manifest), summary=summary, files=files
        )

    def packed(self, name: str) -> Iterator[bytes]:
        """Return the parts of a tar file of a run.

        Raises
        ------
        UnknownRun
        RunError
            It cannot be read, or another process writes to it.
        """
        path = self.path(name)
        run = RunFolder.open(path)
        run.lock()
        run.release()
        return _packed(path)

    def delete(self, name: str) -> None:
        """Delete a run.

        Raises
        ------
        UnknownRun
        RunError
            Another process writes to it.
        """
        path = self.path(name)
        run = RunFolder.open(path)
        run.lock()
        try:
            shutil.rmtree(path)
        finally:
            run.release()

    def path(self, name: str) -> Path:
        """Return the folder of a run.

        Raises
        ------
        UnknownRun
        """
        if name not in self._names():
            raise UnknownRun(f"there is no run {name!r}")
        return self._folder / name

    def _names(self) -> Iterator[str]:
        with os.scandir(self._folder) as found:
            for each in found:
                is_folder = each.is_dir(follow_symlinks=False)
                if is_folder and (Path(each.path) / "manifest.json").is_file():
                    yield each.name


def _entry(path: Path) -> RunEntry:
    try:
        run = RunFolder.open(path)
        results = run.read_summary(_Results) if run.has_results else _Results()
    except RunError as error:
        return RunEntry(id=path.name, problem=str(error))
    manifest, counts, waits = run.manifest, results.counts, results.waits
    return RunEntry(
        id=path.name,
        status=manifest.status,
        start_time=timestamp_text_nano(manifest.start_ns),
        end_time=results.end,
        placed=counts.get("placed"),
        pending=sum(results.pending.values()) if counts else None,
        preemptions=counts.get("preemptions"),
        longest_wait_seconds=waits.get("maxSeconds") if waits else None,
        seed=manifest.seed,
        podwright=manifest.podwright,
    )


def _files(path: Path) -> list[Path]:
    """Return the files of a run, without symbolic links and the lock, by name."""
    found = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
    return sorted(each for each in found if not each.is_symlink() and each.name != ".lock")


def _packed(path: Path) -> Iterator[bytes]:
    for file in _files(path):
        info = tarfile.TarInfo(str(Path(path.name) / file.relative_to(path)))
        info.size = file.stat().st_size
        yield info.tobuf(tarfile.PAX_FORMAT)
        rest = info.size
        with file.open("rb") as opened:
            while rest:
                piece = opened.read(min(rest, _PIECE_BYTES))
                if not piece:
                    raise RunError(f"{file} became shorter while it was read")
                rest -= len(piece)
                yield piece
        yield bytes(-info.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


# In-memory checkpoints of the decision logs, so that an explanation replays few events.
#
# A reader process encodes the machine as it is, every so many events, while the server continues.
# What the server does is the start of the process, and keeping its reply. Between them, it keeps
# states of the machine with their objects itself.

INTERVAL_SECONDS: Final = 1.0
"""How long to wait before looking again whether one is due."""

_PAUSES: Final = 10
"""How long the pause after each encoded checkpoint is, as a multiple of the time for it."""

_LOGGER: Final = logging.getLogger(__name__)


async def keep_memory_checkpoints(turns: TurnLoop) -> None:
    """Make in-memory checkpoints of all schedulers' logs as they become due, until cancelled."""
    next_encoding_s = 0.0
    while True:
        await asyncio.sleep(INTERVAL_SECONDS)
        for scheduler in turns.cluster.schedulers:
            if scheduler.is_state_due:
                await turns.call(lambda _, kept=scheduler: kept.keep_state())  # type: ignore[misc]
            begin_s = time.perf_counter()
            if begin_s >= next_encoding_s and scheduler.is_memory_checkpoint_due:
                try:
                    await make_memory_checkpoint(turns, scheduler)
                except ReaderFailed as error:
                    _LOGGER.warning(
                        "no in-memory checkpoint of the decision log was made: %s", error
                    )
                # As often as so much was done, whatever ages or expires meanwhile leaves gaps.
                release_free_memory()
                end_s = time.perf_counter()
                next_encoding_s = end_s + (end_s - begin_s) * _PAUSES


async def make_memory_checkpoint(turns: TurnLoop, scheduler: ServedScheduler) -> None:
    """Make an in-memory checkpoint of the log of a scheduler, and keep it.

    Raises
    ------
    ReaderFailed
        The reader process crashed.
    """
    log, machine = scheduler.world.log, scheduler.world.machine
    # The checkpoint is of the end of a block, which the server's log must have as well.
    made = await Readers(turns).call(lambda _: log.memory_checkpoint(machine), prepare=log.flush)
    if made is not None:
        # Not while a checkpoint is being written in a thread.
        await turns.call(lambda _: log.keep_memory_checkpoint(made))
