"""What a run folder has for views: its span, its timeline, the labels of its nodes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from podwright.apimachinery.objects import Node, timestamp_ns
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import Machine
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.run_manifest import RunError
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.timelines.columns import encode_chunks
from podwright.simulation.recording.timelines.feed import timeline_of_log


class _Summary(msgspec.Struct, kw_only=True):
    """The field of a summary that is read here."""

    end: str


def open_log(path: Path) -> DecisionLog:
    """Open the decision log of a run.

    Parameters
    ----------
    path : Path
        The folder that `podwright simulate` wrote, or the folder of the log alone.

    Raises
    ------
    RunError
        If the manifest cannot be read, or the log lacks events that the run had at its end.
    LogError
        If there is no log, or it cannot be read.
    """
    inner = path / "log"
    log = DecisionLog.open(inner if inner.is_dir() else path)
    if (path / "manifest.json").exists():
        try:
            RunFolder.open(path).check_whole(len(log))
        except RunError:
            log.close()
            raise
    return log


def start_of_run(path: Path, log: DecisionLog) -> int:
    """Return the start of a run, in nanoseconds since 1970.

    Parameters
    ----------
    path : Path
        The folder that `podwright simulate` wrote, or the folder of the log alone.
    log : DecisionLog

    Raises
    ------
    RunError
        If the manifest cannot be read.
    """
    if (path / "manifest.json").exists():
        return RunFolder.open(path).manifest.start_ns
    return log.start_ns


def end_of_run(path: Path, log: DecisionLog) -> int:
    """Return the end of a run, in nanoseconds since 1970; of a running one, that of its last event.

    Parameters
    ----------
    path : Path
        As for `start_of_run`.
    log : DecisionLog

    Raises
    ------
    RunError
        If the manifest or the summary cannot be read.
    """
    last_ns = log.time_of(len(log) - 1) if log else start_of_run(path, log)
    if not (path / "manifest.json").exists() or not (path / "summary.json").exists():
        return last_ns
    return max(last_ns, timestamp_ns(RunFolder.open(path).read_summary(_Summary).end) or 0)


def timeline_of_run(path: Path, log: DecisionLog, *, plugins: Iterable[type[Plugin]] = ()) -> bytes:
    """Return the encoded timeline that a run has written, else that of its log.

    Parameters
    ----------
    path : Path
        As for `start_of_run`.
    log : DecisionLog
    plugins : iterable of type, optional
        The custom plugin classes of the run.

    Raises
    ------
    LogError
        If the log cannot be replayed.
    """
    written = path / "timeline"
    if written.is_file():
        return written.read_bytes()
    return b"".join(encode_chunks(timeline_of_log(log, plugins=tuple(plugins))))


def labels_of_nodes(machine: Machine) -> dict[str, dict[str, str]]:
    """Return the labels of the nodes of a machine, by node."""
    nodes = (obj for obj in machine.objects() if isinstance(obj, Node))
    return {node.metadata.name: dict(node.metadata.labels) for node in nodes}
