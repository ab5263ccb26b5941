"""What recording costs: the whole machine with a decision log on disk, and without one.

    python -m tests.perf.recording          the share of the time, from runs in turns

The share is of process time: compared are runs that follow each other, because what else the
machine does changes the figures more than recording does.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from pathlib import Path

from tests.perf import templates
from tests.perf.case import PODS_PER_SECOND, Case
from tests.perf.machine import Driver, pods_of

from podwright.store.decision_log import DecisionLog, Recorder

_ROUNDS = 7


def recording() -> float:
    """SchedulingBasic as in `machine_basic_5000`, with a decision log on disk."""
    return 20_000 / _seconds(20_000, is_recorded=True, clock=time.perf_counter)


def _seconds(pod_count: int, *, is_recorded: bool, clock: object, compression: int = 1) -> float:
    assert callable(clock)
    driver = Driver([])
    with tempfile.TemporaryDirectory() as folder:
        log = DecisionLog.create(Path(folder) / "run", compression=compression)
        if is_recorded:
            handle = Recorder(driver.machine, log).handle
            driver.machine.handle = handle  # type: ignore[assignment, method-assign]
        for node in templates.nodes(5_000):
            driver.put(node)
        driver.schedule(pods_of(5_000, "initial"))
        pods = pods_of(pod_count, "measured")
        gc.collect()
        start_s = clock()
        driver.schedule(pods)
        log.flush()
        elapsed_s = float(clock() - start_s)
        log.close()
        return elapsed_s


def main() -> None:
    """Print the cost of recording, with and without compression."""
    count = 10_000
    _seconds(1_000, is_recorded=True, clock=time.process_time)
    runs: dict[str, list[float]] = {"without": [], "recorded": [], "recorded, not compressed": []}
    for _ in range(_ROUNDS):
        for name, kept in runs.items():
            is_plain = name.endswith("not compressed")
            seconds = _seconds(
                count,
                is_recorded=name != "without",
                clock=time.process_time,
                compression=0 if is_plain else 1,
            )
            kept.append(seconds / count * 1e6)
    plain = min(runs["without"])
    for name, kept in runs.items():
        share = min(kept) / plain - 1
        print(
            f"{name:26} {min(kept):6.1f} us a pod (median {statistics.median(kept):.1f})"
            f"  {share:+.1%}"
        )


CASES = (
    Case(name="machine_recording_5000", unit=PODS_PER_SECOND, measure=recording, target=20_000),
)

if __name__ == "__main__":
    main()
