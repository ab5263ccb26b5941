"""The summaries and the tables of some runs, which are kept in a text beside the tests.

`PODWRIGHT_UPDATE_STORIES=1` writes the text again, run by run; the difference is reviewed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.recorded_texts import RecordedText

import podwright as pw
from podwright.apimachinery.schema import decode
from podwright.simulation.recording import TABLES
from podwright.simulation.world.tests.test_simulation import OBJECTS, deployment, job
from podwright.simulation.world.timing.model import read_timing
from podwright.testing import make_node, make_pod

TIMING = """
apiVersion: podwright.dev/v1alpha1
kind: Timing
name: slow
cycle: {constant: 30ms, factor: {distribution: lognormal, median: "1"}}
clients: {scheduler: {qps: 20, burst: 2, duration: {distribution: exponential, mean: 20ms}}}
watchDelay: {distribution: choice, values: [1ms, 90ms]}
"""
TEMPLATE = {"allocatable": {"cpu": "4", "memory": "16Gi"}}
GROUPS = {
    "groups": [
        {"name": "g", "maxSize": 5, "provisioningTime": "45s", "template": TEMPLATE},
        {"name": "h", "maxSize": 2, "provisioningTime": "10s", "template": TEMPLATE,
         "outages": [{"start": "0s", "end": "3m"}]},
    ],
    "options": {"scaleDownUnneededTime": "2m", "scaleDownDelayAfterAdd": "1m"},
}  # fmt: skip


def object_of(kind: str, name: str, **parts: Any) -> Any:
    version, _, kind = kind.partition(" ")
    metadata = {"name": name, "namespace": "default"}
    return decode({"apiVersion": version, "kind": kind, "metadata": metadata, **parts})


def nodes(count: int = 4) -> list[Any]:
    return [make_node(f"n{i}", cpu="4", memory="8Gi", zone="ab"[i % 2]) for i in range(count)]


BUDGET = object_of(
    "policy/v1 PodDisruptionBudget", "web",
    spec={"minAvailable": "75%", "selector": {"matchLabels": {"app": "web"}}},
)  # fmt: skip
QUOTA = object_of("v1 ResourceQuota", "few", spec={"hard": {"pods": "6"}})
FAILURES = [
    {"at": "1m", "cordon": "n0"}, {"at": "2m", "drain": "n1"},
    {"at": "3m", "fail": {"selector": "topology.kubernetes.io/zone=a"}},
    {"at": "12m", "restore": "n0"}, {"at": "12m", "restore": "n2"}, {"at": "13m", "uncordon": "n1"},
    {"at": "20m", "delete": "node/n3"}, {"at": "21m", "scale": "deployment/web", "replicas": 1},
]  # fmt: skip
EDITS = [
    {"at": "1m", "patch": "deployment/web", "with": {"spec": {"template": {"metadata": {
        "labels": {"version": "2"}}}}}},
    {"at": "4m", "patch": "deployment/web", "type": "json",
     "with": [{"op": "replace", "path": "/spec/replicas", "value": 9}]},
    {"after": "1m", "create": make_pod("late", cpu="1").raw},
    {"when": {"settled": True}, "delete": "deployment/web"},
    {"step": 1, "cordon": "n0"}, {"step": 2, "drain": "n0"}, {"after": "3m", "done": True},
]  # fmt: skip
TABLE = {
    "t": [0, 5, 5, 65, 600], "c": ["500m", "1", "3", "64", "2"], "run": [60, 90, None, 5, 30],
    "name": ["a", "b", "c", "d", "e"],
}  # fmt: skip
RUNS: dict[str, dict[str, Any]] = {
    "failures": {"objects": [*nodes(), deployment("web", 6)], "events": FAILURES, "until": "40m"},
    "failures of pods with a budget": {
        "objects": [*nodes(), deployment("web", 8), BUDGET], "events": FAILURES, "until": "40m",
    },
    "edits": {"objects": [*nodes(), deployment("web", 5)], "events": EDITS, "sample": "30s"},
    "jobs": {
        "objects": [*nodes(2), job("one", 7, 3), job("two", 4, 11, "3")],
        "start": "2027-02-28T23:00:00Z",
    },
    "more than there is": {"objects": [*OBJECTS[:3], *OBJECTS[6:]], "until": "15m", "sample": "2m"},
    "a quota": {"objects": [*nodes(), QUOTA, deployment("web", 9)], "until": "6m"},
    "node groups": {
        "objects": [*nodes(1), deployment("web", 12)], "node_groups": GROUPS, "until": "25m",
        "events": [{"at": "9m", "scale": "deployment/web", "replicas": 2}],
    },
    "timing": {
        "objects": [*nodes(), deployment("web", 14)],
        "timing": read_timing(TIMING, source="t.yaml"),
        "events": [{"at": "1m", "drain": "n1"}], "until": "5m",
    },
    "a table": {
        "objects": nodes(2),
        "events": pw.Workload.from_frame(
            TABLE, arrival="t", duration="run", cpu="c", name="name",
            unit={"arrival": "s", "duration": "s"},
        ),
    },
    "priorities": {
        "objects": [*nodes(2), *(make_pod(f"low{i}", cpu="2", priority=i) for i in range(6))],
        "events": [{"at": "1m", "apply": make_pod("high", cpu="3", priority=9).raw},
                   {"at": "2m", "apply": make_pod("some", cpu="4", priority=3).raw}],
    },
}  # fmt: skip


def lines_of(run: Any) -> Iterator[str]:
    """Yield the facts of a run: the summary, the places of the pods, and digests of its tables."""
    yield msgspec.json.encode(run.summary).decode()
    yield f"placed {dict(sorted(run.node_of.items()))}"
    yield f"pending {dict(sorted(run.pending.items()))}"
    yield f"notes {[*run.warnings, *run.unmet]}"
    for name in TABLES:
        rows = run.rows(name)
        count = len(next(iter(rows.values()), ()))
        digest = hashlib.sha256(msgspec.json.encode(rows)).hexdigest()[:8]
        yield f"{name}: {count} rows {digest}"


TEXT = RecordedText(Path(__file__).with_name("recorded_runs.txt"), RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_the_recorded_one(name: str) -> None:
    found = [*lines_of(pw.simulate(**RUNS[name], seed=5))]
    TEXT.check(name, found)
