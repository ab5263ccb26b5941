"""Executes files of scheduler_perf on the processor time of this process."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from podwright.apimachinery.documents import did_you_mean
from podwright.apimachinery.objects import (
    ArgumentError,
    FieldError,
    InputError,
    collecting,
    quoted,
)
from podwright.simulation.files import read_bytes
from podwright.simulation.scheduler_perf import (
    PerfWorkload,
    WorkloadResult,
    load_test_cases,
    run_workload,
)

_ROOT = "scheduler_perf"
_FILE = "performance-config.yaml"


def topic_of(path: str) -> str:
    """Return the topic of a file: its folders below `scheduler_perf`, or the name of its folder.

    Upstream's tests name topics so, and thresholds may be those of a topic.
    """
    folders = Path(path).resolve().parent.parts
    below = folders[folders.index(_ROOT) + 1 :] if _ROOT in folders else folders[-1:]
    return "_".join(below)


def selected(
    workloads: Iterable[PerfWorkload],
    *,
    test_case: str = "",
    workload: str = "",
    label_filter: str = "",
) -> list[PerfWorkload]:
    """Return the workloads with a name and labels.

    Raises
    ------
    ArgumentError
        None has them.
    """
    every = list(workloads)
    found = [
        each
        for each in every
        if test_case in ("", each.test_case)
        and workload in ("", each.name)
        and each.is_enabled(label_filter)
    ]
    if not found:
        names = [f"{each.test_case}/{each.name}" for each in every]
        hint = did_you_mean(f"{test_case}/{workload}", names) if test_case or workload else ""
        wanted = ", ".join(quoted(each) for each in (test_case, workload, label_filter) if each)
        raise ArgumentError(f"none of {len(every)} workloads is selected by {wanted}{hint}")
    return found


def scheduler_perf(
    path: str | Path,
    *,
    test_case: str = "",
    workload: str = "",
    label_filter: str = "",
    topic: str | None = None,
    read: Callable[[str], bytes] = read_bytes,
) -> Iterator[WorkloadResult]:
    """Execute the workloads of files of scheduler_perf, and compare them with their thresholds.

    Parameters
    ----------
    path : path
        A file like upstream's performance-config.yaml, or a folder with such files at any depth;
        templates are relative to the folder of each.
    test_case, workload : str
        Only these, by name.
    label_filter : str
        Only workloads with these labels, separated by commas; with - before a label, without it.
    topic : str, optional
        Selects among the thresholds of a workload; by default the folders of the file below
        `scheduler_perf`, or the name of its folder.
    read : callable
        Returns the content of a file.

    Yields
    ------
    WorkloadResult

    Raises
    ------
    InputError
        With all mistakes of the files and their templates.
    ArgumentError
        If no workload is selected.
    """
    files = sorted(Path(path).rglob(_FILE)) if Path(path).is_dir() else [Path(path)]
    if not files:
        message = f"the folder has no {_FILE}"
        raise InputError([FieldError(source=str(path), path="", message=message)])
    errors: list[FieldError] = []
    every: list[PerfWorkload] = []
    for file in map(str, files):
        topic_here = topic_of(file) if topic is None else topic
        every += collecting(errors, (), load_test_cases, file, read, topic=topic_here)
    if errors:
        raise InputError(errors)
    return run_workloads(
        selected(every, test_case=test_case, workload=workload, label_filter=label_filter)
    )


def run_workloads(workloads: Iterable[PerfWorkload]) -> Iterator[WorkloadResult]:
    """Execute workloads one after the other; what the one before left is released first."""
    clock = _ProcessClock()
    for workload in workloads:
        gc.collect()
        yield run_workload(workload, clock)


class _ProcessClock:
    """The processor time of this process and its waits, which are skipped.

    That is the time that would pass on a machine with nothing else to do: nothing outside of the
    process takes part in a workload.
    """

    def __init__(self) -> None:
        self._waited_ns = 0

    def read_ns(self) -> int:
        """Return the reading of the clock."""
        return time.process_time_ns() + self._waited_ns

    def sleep(self, duration_ns: int) -> None:
        """Let time pass."""
        self._waited_ns += duration_ns

    def read_memory(self) -> int:
        """Return the memory of the process."""
        try:
            pages = int(Path("/proc/self/statm").read_bytes().split()[1])
        except OSError:  # not Linux: the most so far, in KiB
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return pages * os.sysconf("SC_PAGE_SIZE")
