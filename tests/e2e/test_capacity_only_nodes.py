"""Nodes of scheduler_perf's templates: they have a capacity, and no allocatable resources."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.command_line import run

NODES = """
apiVersion: v1
kind: Node
metadata: {name: scheduler-perf-0}
spec: {}
status:
  capacity: {pods: "110", cpu: "4", memory: 32Gi}
  conditions: [{status: "True", type: Ready}]
  phase: Running
---
apiVersion: v1
kind: Pod
metadata: {name: small}
spec:
  containers:
  - image: registry.k8s.io/pause:3.10.1
    name: pause
    ports: [{containerPort: 80}]
    resources: {requests: {cpu: 100m, memory: 500Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: large}
spec: {containers: [{name: pause, image: pause, resources: {requests: {cpu: "5"}}}]}
"""


def written(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(NODES, encoding="utf-8")
    return file


def test_schedule_allocates_the_capacity_of_a_node(tmp_path: Path) -> None:
    rows = run(f"schedule {written(tmp_path)}", status=1).stdout.splitlines()
    placed = {row.split()[1]: row.split()[2] for row in rows if row.startswith("default ")}
    assert placed == {"small": "scheduler-perf-0", "large": "<none>"}


def test_simulate_allocates_the_capacity_of_a_node(tmp_path: Path) -> None:
    summary = json.loads(run(f"simulate {written(tmp_path)} -o json", status=1).stdout)
    assert summary["counts"]["placed"] == 1
    assert summary["pending"] == {"Insufficient cpu": 1}
    # A share of 4 CPUs, not of the 1,000 that a node without a capacity gets.
    assert summary["utilization"]["cpu"]["peak"] == 0.025
