"""Upstream's files of scheduler_perf, from the module of Kubernetes, as they are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright.online.benchmarks import run_workloads, scheduler_perf
from podwright.simulation.scheduler_perf import load_test_cases
from podwright.simulation.scheduler_perf.operations import (
    CreateNodes,
    CreatePods,
    CreatePodSets,
    Operation,
    Sleep,
)

pytestmark = pytest.mark.e2e

REAL_PARTS = Path(__file__).parent.parent / "real_parts"
FOLDERS = {
    "affinity": 69,
    "dra": 25,
    "dra/consumablecapacity": 3,
    "dra/devicetaints": 2,
    "dra/extendedresource": 7,
    "dra/extendedresource/scoring": 3,
    "dra/partitionabledevices": 5,
    "dra/prioritizedlist": 2,
    "event_handling": 10,
    "misc": 61,
    "nodedeclaredfeatures": 4,
    "topology_spreading": 23,
    "volumes": 28,
}
"""How many workloads each file has."""


@pytest.fixture(scope="module")
def root() -> Path:
    """Return upstream's folder of the files."""
    if shutil.which("go") is None:
        pytest.skip("there is no Go, whose modules have the files")
    command = ["go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"]
    found = subprocess.run(command, cwd=REAL_PARTS, capture_output=True, text=True, check=True)
    if not found.stdout.strip():
        pytest.skip("the module of Kubernetes is not downloaded: make real-parts")
    return Path(found.stdout.strip()) / "test/integration/scheduler_perf"


def config(root: Path, folder: str) -> str:
    return str(root / folder / "performance-config.yaml")


def test_all_workloads_are_read(root):
    found = {folder: load_test_cases(config(root, folder)) for folder in FOLDERS}
    assert {folder: len(each) for folder, each in found.items()} == FOLDERS
    cases = {(folder, each.test_case) for folder, every in found.items() for each in every}
    assert (sum(FOLDERS.values()), len(cases)) == (242, 50)


def test_the_page_has_each_workload_with_a_threshold(root):
    page = (Path(__file__).parents[2] / "docs/howto/run-scheduler-perf.md").read_text()
    every = [
        (folder, each)
        for folder in FOLDERS
        for each in load_test_cases(config(root, folder), topic="dra" if folder == "dra" else "")
    ]
    labelled = [each for _, each in every if "performance" in each.labels]
    expected = {
        (folder, each.test_case, each.name, f"{each.threshold:g}")
        for folder, each in every
        if each.threshold
    }
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page.splitlines()
        if line.count("|") == 7
    ][1:]
    rows = [row for row in rows if set(row[0]) != {"-"}]
    assert {(*row[:3], row[4]) for row in rows} == expected
    assert len(rows) == len(expected)
    assert all(float(row[3]) > float(row[4]) for row in rows), "all are above it"
    ratios = [float(row[3]) / float(row[4]) for row in rows]
    assert [float(row[5]) for row in rows] == pytest.approx(ratios, abs=0.02)
    text = " ".join(page.split())
    assert f"The {len(labelled)} workloads of 1.36.0 with the label `performance`" in text
    assert f"{len(rows)} of them have a threshold" in text
    assert f"The {len(every) - len(labelled)} workloads without the label, which have no" in text
    assert f"So all {len(every)} run" in text


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_workloads_of_integration_tests_run_to_their_end(root, folder):
    labels = "integration-test,short"
    results = list(scheduler_perf(config(root, folder), label_filter=labels))
    assert [(each.test_case, each.workload, each.error) for each in results if each.error] == []
    assert all(each.comparisons for each in results)


def reduced(operation: Operation) -> Operation:
    """Return an operation on few objects; on more nodes, since pods repel each other."""
    most = 200 if isinstance(operation, CreateNodes) else 10
    changes: dict[str, Any] = {
        name: min(getattr(operation, name), most)
        for name in ("count", "max_claims_per_node")
        if hasattr(operation, name)
    }
    if isinstance(operation, CreatePodSets):
        changes["create_pods_op"] = reduced(operation.create_pods_op)
    if isinstance(operation, CreatePods | Sleep) and operation.duration_ns:
        changes["duration_ns"] = 1_000_000_000
    return msgspec.structs.replace(operation, **changes)


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_workload_runs_to_its_end_with_few_objects(root, folder):
    workloads = [
        msgspec.structs.replace(each, operations=tuple(map(reduced, each.operations)))
        for each in load_test_cases(config(root, folder))
    ]
    results = list(run_workloads(workloads))
    assert len(results) == FOLDERS[folder]
    assert [(each.test_case, each.workload, each.error) for each in results if each.error] == []
