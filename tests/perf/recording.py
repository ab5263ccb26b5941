"""The cost of recording: the whole machine with a decision log, and without one.

    python -m tests.perf.recording          prints the share of the time, from alternating runs

The share is of processor time. Runs that follow each other are compared, because the load of the
machine changes the figures more than recording does.
"""

from __future__ import annotations

import gc
import operator
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from tests.perf import templates
from tests.perf.case import OPERATIONS_PER_SECOND, PODS_PER_SECOND, Case
from tests.perf.machine import Driver, churn, pods_of, preemption, unschedulable

from podwright.simulation.recording.log.decision_log import DecisionLog

_ROUNDS = 7


_IN_MEMORY, _ON_DISK, _ENCODING = "in memory", "in a folder", "in memory, then saved"


def recording() -> float:
    """SchedulingBasic as in `machine_basic_5000`, with a decision log on disk."""
    return 20_000 / _seconds(20_000, _ON_DISK, clock=time.perf_counter)


def recording_in_memory() -> float:
    """The same with a decision log in memory."""
    return 20_000 / _seconds(20_000, _IN_MEMORY, clock=time.perf_counter)


def churn_recording() -> float:
    """SchedulingWithMixedChurn as in `machine_churn_5000`, with a decision log on disk."""
    return _recorded(churn)


def unschedulable_recording() -> float:
    """Unschedulable as in `machine_unschedulable_5000`, with a decision log on disk."""
    return _recorded(unschedulable)


def preemption_recording() -> float:
    """PreemptionBasic as in `machine_preemption_5000`, with a decision log on disk."""
    return _recorded(preemption)


def _recorded(measure: Callable[[DecisionLog], float]) -> float:
    with tempfile.TemporaryDirectory() as folder, DecisionLog.create(Path(folder) / "run") as log:
        return measure(log)


def _seconds(pod_count: int, mode: str, *, clock: Callable[[], float]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run" if mode == _ON_DISK else None
        log = DecisionLog.create(path)
        driver = Driver([], log if mode else None)
        for node in templates.nodes(5_000):
            driver.put(node)
        driver.schedule(pods_of(5_000, "initial"))
        pods = pods_of(pod_count, "measured")
        gc.collect()
        if mode == _ON_DISK:
            log.flush()
        start_s = clock()
        driver.schedule(pods)
        if mode == _ON_DISK:
            log.flush()
        if mode == _ENCODING:
            log.save(Path(folder) / "saved")
        elapsed_s = clock() - start_s
        log.close()
        return elapsed_s


def _bytes_on_disk(pod_count: int) -> float:
    """Return the bytes of a log per pod."""
    sizes = []
    for count in (0, pod_count):
        with tempfile.TemporaryDirectory() as folder:
            with DecisionLog.create(folder) as log:
                driver = Driver([], log)
                for node in templates.nodes(5_000):
                    driver.put(node)
                log.flush()
                driver.schedule(pods_of(count, "measured"))
            sizes.append(sum(file.stat().st_size for file in Path(folder).iterdir()))
    return (sizes[1] - sizes[0]) / pod_count


def _bytes_in_memory(pod_count: int) -> float:
    """Return the additional bytes per pod while a log in memory keeps it."""
    taken = []
    for is_recorded in (False, True):
        log = DecisionLog.create()
        driver = Driver([], log if is_recorded else None)
        for node in templates.nodes(5_000):
            driver.put(node)
        driver.schedule(pods_of(1_000, "initial"))
        tracemalloc.start()
        driver.schedule(pods_of(pod_count, "measured"))
        gc.collect()
        taken.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    return (taken[1] - taken[0]) / pod_count


def main() -> None:
    """Print the cost of recording in memory and in a folder, in time and space."""
    count = 10_000
    _seconds(1_000, _ON_DISK, clock=time.process_time)
    runs: dict[str, list[float]] = {"": [], _IN_MEMORY: [], _ON_DISK: [], _ENCODING: []}
    for _ in range(_ROUNDS):
        for mode, kept in runs.items():
            kept.append(_seconds(count, mode, clock=time.process_time) / count * 1e6)
    plain = runs[""]
    for mode, kept in runs.items():
        least = min(kept) - min(plain)
        typical = statistics.median(map(operator.sub, kept, plain))
        print(
            f"{mode or 'without a log':24} least {min(kept):5.1f} us a pod {least:+5.1f}"
            f" {least / min(plain):+6.1%}   median of pairs {typical:+5.1f}"
            f" {typical / statistics.median(plain):+6.1%}"
        )
    print(f"{_bytes_on_disk(count):.0f} bytes a pod on disk")
    print(f"{_bytes_in_memory(count):.0f} bytes a pod more in memory, until they are written")


CASES = (
    Case(name="machine_recording_5000", unit=PODS_PER_SECOND, measure=recording, target=20_000),
    Case(
        name="machine_recording_memory_5000",
        unit=PODS_PER_SECOND,
        measure=recording_in_memory,
        target=20_000,
    ),
    Case(name="machine_churn_recording_5000", unit=PODS_PER_SECOND, measure=churn_recording),
    Case(
        name="machine_unschedulable_recording_5000",
        unit=PODS_PER_SECOND,
        measure=unschedulable_recording,
    ),
    Case(
        name="machine_preemption_recording_5000",
        unit=OPERATIONS_PER_SECOND,
        measure=preemption_recording,
    ),
)

if __name__ == "__main__":
    main()
