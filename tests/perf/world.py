"""The whole world: nodes, deployments, jobs, faults and preemption on a virtual clock.

    python -m tests.perf.world          prints the time of the parts of `mixed` per decision

`mixed` is one hour of a cluster of 5,000 nodes. By minute:

- 0: 200 deployments and 100 jobs request 50,000 pods, of 300 templates and four priorities, which
  use all of the cpu; jobs run their pods in two rounds of some minutes each;
- 10: 50 deployments get another image and are rolled out;
- 20: the kubelets of 50 nodes stop; half of them resume after ten minutes, the others are removed;
- 40: one deployment of 1,000 pods has the highest priority and preempts others.

A decision is a scheduling cycle. Its figure includes everything that follows: objects, stages,
controllers, and the decision log in a folder.
"""

from __future__ import annotations

import gc
import io
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.perf import templates
from tests.perf.case import DECISIONS_PER_SECOND, MEBIBYTES, SECONDS, Case
from tests.traces import openb as openb_trace

from podwright.apimachinery.objects import Document, KubernetesObject, timestamp_text_nano
from podwright.apimachinery.schema import decode
from podwright.cli import main
from podwright.cli.process_exit import reduced_collection
from podwright.cluster.api import Api
from podwright.cluster.api.stages.draft_admission import Admission
from podwright.cluster.controllers import ControllerLoop
from podwright.cluster.kubelets.lifecycle import Lifecycle
from podwright.cluster.store import ObjectStore
from podwright.scheduler.framework.decision import Decision
from podwright.scheduler.machine import Event, Machine
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.timelines.columns import encode_chunks
from podwright.simulation.recording.timelines.feed import TimelineFeed
from podwright.simulation.world.inputs.operations import Apply, Delete, FailNode, RestoreNode
from podwright.simulation.world.observers import KubernetesEvent
from podwright.simulation.world.runs.simulation import LOG_CHECKPOINT_EVENTS
from podwright.simulation.world.world import World

_MINUTE_NS = 60 * 1_000_000_000
_NODES = 5_000
_DEPLOYMENTS, _JOBS = 200, 100
_REPLICAS, _COMPLETIONS = 180, 140
_FAILED = 50
_RUN_DELAY = "pod-complete.stage.kwok.x-k8s.io/delay"
_PRIORITIES = {"": 0, "batch": -100, "web": 100, "storage": 200}


class Counted:
    """Counts scheduling cycles and their results."""

    def __init__(self) -> None:
        self.cycle_count = 0
        self.preempted_count = 0

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Ignore the change."""

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        """Count a cycle."""
        self.cycle_count += 1

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        """Count a victim."""
        if event.reason == "Preempted":
            self.preempted_count += 1


def mixed() -> float:
    """Return decisions per second of an hour of 5,000 nodes with 50,000 pods."""
    cycle_count, elapsed_s, _ = _play(scale=1)
    return cycle_count / elapsed_s


def mixed_memory() -> float:
    """Return the peak memory of this hour."""
    return _play(scale=1)[2]


def timeline() -> float:
    """Return the processor time of the timeline of this hour, as bytes for a browser."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(seed=1, log=folder, checkpoint_events=LOG_CHECKPOINT_EVENTS)
        feed = _TimedFeed(world.machine)
        world.components.recorder.add_feed(feed)
        _fill(world, 1)
        gc.collect()
        with reduced_collection():
            world.run_until_ns(world.start_ns + 60 * _MINUTE_NS)
        start_ns = time.process_time_ns()
        size = sum(map(len, encode_chunks(feed.timeline())))
        feed.elapsed_ns += time.process_time_ns() - start_ns
        world.log.close()
    assert size > 1 << 20, f"{size} bytes are not the timeline of 50,000 pods"
    return feed.elapsed_ns / 1e9


class _TimedFeed(TimelineFeed):
    """Measures its processor time."""

    elapsed_ns = 0

    def advance(self, now_ns: int) -> None:
        start_ns = time.process_time_ns()
        super().advance(now_ns)
        self.elapsed_ns += time.process_time_ns() - start_ns

    def handled(self, event: Event) -> None:
        start_ns = time.process_time_ns()
        super().handled(event)
        self.elapsed_ns += time.process_time_ns() - start_ns


def openb() -> float:
    """Simulate all nodes and pods of the openb trace, from the command to its tables."""
    with tempfile.TemporaryDirectory() as folder:
        tables = openb_trace.unpacked(Path(folder))
        run = Path(folder) / "run"
        # The figures that the run prints are not figures of the benchmark.
        with redirect_stdout(io.StringIO()), suppress(SystemExit):
            main(["simulate", *map(str, tables), "--out", str(run)])
        summary = msgspec.json.decode((run / "summary.json").read_bytes())
        assert any((run / "tables").iterdir()), "no tables"
        assert summary["counts"]["placed"] == openb_trace.POD_COUNT, summary
    return 0.0


def _play(*, scale: int) -> tuple[int, float, float]:
    """Simulate the hour, in a cluster scaled down by a factor; decisions, seconds and MiB."""
    with tempfile.TemporaryDirectory() as folder:
        counted = Counted()
        world = World(
            seed=1, log=folder, observers=[counted], checkpoint_events=LOG_CHECKPOINT_EVENTS
        )
        _fill(world, scale)
        gc.collect()
        start_s = time.process_time()
        with reduced_collection():  # as `podwright simulate`
            world.run_until_ns(world.start_ns + 60 * _MINUTE_NS)
        world.log.close()
        elapsed_s = time.process_time() - start_s
    _check(world, counted, scale)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return counted.cycle_count, elapsed_s, peak_mib


def _fill(world: World, scale: int) -> None:
    """Return the scheduled operations."""
    minute = [world.start_ns + number * _MINUTE_NS for number in range(60)]
    for name, value in [*_PRIORITIES.items(), ("urgent", 1_000)]:
        if name:
            world.add(_priority_class(name, value))
    nodes = templates.nodes(_NODES // scale, zones=("a", "b", "c"))
    world.add(*nodes)
    for index in range(_DEPLOYMENTS):
        world.add(_deployment(index, "v1", _REPLICAS // scale), at=timestamp_text_nano(minute[0]))
    for index in range(_JOBS):
        world.add(_job(index, _COMPLETIONS // scale), at=timestamp_text_nano(minute[0]))
    for index in range(0, _DEPLOYMENTS, 4):
        world.add(_deployment(index, "v2", _REPLICAS // scale), at=timestamp_text_nano(minute[10]))
    for index, node in enumerate(nodes[:: _NODES // _FAILED]):
        world.do(FailNode(node.name), at=timestamp_text_nano(minute[20]))
        if index % 2:
            world.do(RestoreNode(node.name), at=timestamp_text_nano(minute[30]))
        else:
            world.do(Delete(("", "Node"), node.key), at=timestamp_text_nano(minute[30]))
    world.do(Apply(_urgent(1_000 // scale)), at=timestamp_text_nano(minute[40]))


def _check(world: World, counted: Counted, scale: int) -> None:
    pods = world.pods
    running = sum(pod.status.phase == "Running" for pod in pods)
    jobs = world.store.list(("batch", "Job")).objects
    done = sum(job.raw["status"].get("succeeded", 0) for job in jobs)
    urgent = sum(pod.spec.priority == 1_000 and bool(pod.spec.node_name) for pod in pods)
    assert done == _JOBS * (_COMPLETIONS // scale), done
    assert running >= _DEPLOYMENTS * (_REPLICAS // scale), running
    assert urgent == 1_000 // scale, urgent
    assert counted.preempted_count > 0, "no pod was preempted"


def _priority_class(name: str, value: int) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
    )


def _deployment(index: int, version: str, replicas: int) -> KubernetesObject:
    name = f"web-{index}"
    spec = _pod_spec(index, version)
    return _workload("Deployment", name, spec, replicas, {"app": name})


def _urgent(replicas: int) -> KubernetesObject:
    spec = _pod_spec(0, "v1", cpu="2", priority="urgent")
    return _workload("Deployment", "urgent", spec, replicas, {"app": "urgent"})


def _workload(
    kind: str, name: str, pod_spec: Document, replicas: int, labels: dict[str, str]
) -> KubernetesObject:
    return decode(
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod_spec},
            },
        }
    )


def _job(index: int, completions: int) -> KubernetesObject:
    run = {_RUN_DELAY: f"{5 + index % 10}m"}
    spec = _pod_spec(index, "v1", cpu=f"{100 + 10 * (index % 17)}m", priority="batch")
    return decode(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": f"batch-{index}", "namespace": "default"},
            "spec": {
                "completions": completions,
                "parallelism": completions // 2,
                "backoffLimit": 1_000,
                "template": {
                    "metadata": {"annotations": run},
                    "spec": spec | {"restartPolicy": "Never"},
                },
            },
        }
    )


def _pod_spec(index: int, version: str, *, cpu: str = "", priority: str = "") -> Document:
    requests = {
        "cpu": cpu or f"{380 + 10 * (index % 17)}m",
        "memory": f"{256 + 64 * (index % 7)}Mi",
    }
    spec = {
        "containers": [
            {
                "name": "main",
                "image": f"registry.example/app-{index}:{version}",
                "resources": {"requests": requests},
            }
        ]
    }
    chosen = priority or list(_PRIORITIES)[index % len(_PRIORITIES)]
    return spec | ({"priorityClassName": chosen} if chosen else {})


CASES = (
    Case(
        name="world_openb_seconds",
        unit=SECONDS,
        measure=openb,
        target=30,
        runs=3,
        is_process_per_run=True,
        is_timed_from_start=True,
    ),
    Case(
        name="world_mixed_5000",
        unit=DECISIONS_PER_SECOND,
        measure=mixed,
        target=5_000,
        runs=3,
        is_process_per_run=True,
    ),
    Case(
        name="timeline_mixed_5000",
        unit=SECONDS,
        measure=timeline,
        target=5,
        runs=3,
        is_process_per_run=True,
    ),
    Case(
        name="world_mixed_5000_memory",
        unit=MEBIBYTES,
        measure=mixed_memory,
        target=2_048,
        runs=1,
        is_process_per_run=True,
    ),
)

# ------------------------------------------------------------------ time per part

_PARTS: tuple[tuple[str, type, tuple[str, ...]], ...] = (
    ("scheduler", Machine, ("handle",)),
    ("decision log, writing", DecisionLog, ("catch_up",)),
    ("stages", Lifecycle, ("handle", "handle_change")),
    ("controllers", ControllerLoop, ("handle", "observe")),
    ("store", ObjectStore, ("commit",)),
    ("writes", Api, ("handle",)),
    ("admission", Admission, ("complete_new", "complete_change", "complete_recorded")),
    ("dispatch and steps", World, ("step_until_ns",)),
)


def where(scale: int) -> None:
    """Print the time of each part per decision, without the parts that it calls."""
    spent_ns: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    inside_ns = [0]

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            start_ns = time.process_time_ns()
            inside_ns.append(0)
            try:
                return function(*args, **named)
            finally:
                whole_ns = time.process_time_ns() - start_ns
                counts[part] += 1
                spent_ns[part] += whole_ns - inside_ns.pop()
                inside_ns[-1] += whole_ns

        return call

    with pytest.MonkeyPatch.context() as patch:
        for part, cls, names in _PARTS:
            for name in names:
                patch.setattr(cls, name, timed(part, getattr(cls, name)))
        cycle_count, _, _ = _play(scale=scale)
    assert len(counts) == len(_PARTS), f"only {', '.join(counts)} were called"
    for part, part_ns in spent_ns.most_common():
        calls = counts[part] / cycle_count
        print(f"{part:24} {part_ns / cycle_count / 1_000:7.1f} us in {calls:5.1f} calls")


if __name__ == "__main__":
    where(scale=1)
