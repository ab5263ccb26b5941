"""A timing model fitted on half of the pods of a real control plane gives the waits of the others.

The waits, from the creation of a pod until it is bound, contain the waits for capacity: the
simulation has all changes of the record, with the scheduler's decisions made again.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden import real_cluster

from podwright.simulation.files import SchedulerLog
from podwright.simulation.world import Timing, fit_timing, simulate


def half_fitted(log: SchedulerLog) -> tuple[Timing, dict[str, int]]:
    """Return the model of every second pod, and the waits of the others in nanoseconds."""
    pods = list(dict.fromkeys(line.pod for line in log.lines if line.what == "attempt"))
    others = set(pods[1::2])
    created: dict[str, int] = {}
    waits: dict[str, int] = {}
    for line in log.lines:
        if line.event == "UnschedulablePodAdd":
            created[line.pod] = line.time_ns
        elif line.what == "bound" and line.pod in created and line.pod in others:
            waits[line.pod] = line.time_ns - created[line.pod]
    return fit_timing(log, pods=pods[::2]), waits


@pytest.mark.slow
def test_a_model_of_half_of_the_pods_gives_the_waits_of_the_others(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_bytes(real_cluster.content("record.jsonl"))
    timing, expected = half_fitted(real_cluster.scheduler_log())
    rows = simulate([], events=[record], timing=timing).rows("waits")
    columns = (rows[name] for name in ("namespace", "pod", "outcome", "wait_ns"))
    found = [
        wait_ns
        for namespace, pod, outcome, wait_ns in zip(*columns, strict=True)
        if outcome == "Scheduled" and f"{namespace}/{pod}" in expected
    ]
    for percent in (50, 99):
        real, simulated = (
            sorted(waits)[-(-len(waits) * percent // 100) - 1]
            for waits in (expected.values(), found)
        )
        assert simulated == pytest.approx(real, rel=0.2), f"p{percent}"
