"""What a run leaves behind: nothing that only the garbage collector finds, whatever is recorded."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import with_node_name
from podwright.scheduler.kernels._jit import run_as_python
from podwright.scheduler.machine import Bind, CallDone, CycleDue, ObjectPut
from podwright.simulation.recording.log.record import record
from podwright.simulation.world.runs.run import Run
from podwright.testing import make_node, make_pod

pytest.importorskip("pyarrow")

MOST_LEFT = 2_500
"""Objects of the machine by which a run's configuration is checked before there is a folder."""

INTERVALS = (None, 500, 100, 25)


def arrivals(count: int) -> list[dict[str, Any]]:
    return [
        {"at": f"{number}s", "apply": make_pod(f"p{number}", cpu="100m").raw}
        for number in range(count)
    ]


def played(folder: Path, pods: int, checkpoint_events: int | None) -> Run:
    nodes = [make_node(f"n{number}", cpu="64") for number in range(10)]
    return pw.simulate(
        nodes, events=arrivals(pods), output=folder, checkpoint_events=checkpoint_events
    )


@pytest.fixture
def without_collector(tmp_path) -> Iterator[None]:
    """Leave garbage where it is; what is only made once is there before, and no compiler starts."""
    run_as_python()
    played(tmp_path / "first", 150, 10)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
def test_a_run_leaves_no_more_unreachable_the_more_pods_and_checkpoints_it_has(tmp_path):
    left = {}
    for pods in (50, 200):
        for interval in INTERVALS:
            run = played(tmp_path / f"{pods}-{interval}", pods, interval)
            left[pods, interval] = gc.collect()
            assert len(run.node_of) == pods
            # The run itself goes before the next one is looked at.
            del run
            gc.collect()
    assert max(left.values()) <= MOST_LEFT, left
    assert max(left.values()) - min(left.values()) <= 200, left


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("interval", INTERVALS)
def test_a_log_leaves_nothing_unreachable(tmp_path, interval):
    recorder = record(str(tmp_path / "log"), checkpoint_events=interval)
    for number in range(5):
        recorder.handle(ObjectPut(make_node(f"n{number}", cpu="64")), number)
    gc.collect()
    for number in range(300):
        pod = make_pod(f"p{number}", cpu="100m")
        recorder.handle(ObjectPut(pod), number + 10)
        for action in recorder.handle(CycleDue(), number + 10):
            if isinstance(action, Bind):
                recorder.handle(ObjectPut(with_node_name(pod, action.node)), number + 10)
                recorder.handle(CallDone(action.call), number + 10)
    recorder.log.flush()
    assert len(recorder.log) == 5 + 4 * 300
    left = gc.collect()
    recorder.log.close()
    assert left <= 200


@pytest.mark.usefixtures("without_collector")
def test_memory_does_not_depend_on_how_often_a_checkpoint_is_written(tmp_path):
    used = {}
    for interval in INTERVALS:
        tracemalloc.start()
        run = played(tmp_path / str(interval), 150, interval)
        used[interval] = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        del run
        gc.collect()
    assert max(used.values()) < 1.25 * min(used.values()), used
