"""The overhead of a runtime class counts in every command that schedules."""

from __future__ import annotations

import pytest
from tests.e2e.command_line import run

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "1", memory: 4Gi, pods: "10"}}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: sandbox}
handler: sandbox
overhead: {podFixed: {cpu: OVERHEAD}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  runtimeClassName: sandbox
  containers: [{name: main, image: app, resources: {requests: {cpu: 750m}}}]
"""


@pytest.mark.parametrize("command", ["schedule", "simulate"])
@pytest.mark.parametrize(("overhead", "status"), [("250m", 0), ("500m", 1)])
def test_the_overhead_counts(tmp_path, command, overhead, status):
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER.replace("OVERHEAD", overhead))
    printed = run(f"{command} {path}", status=status).stdout
    assert ("Insufficient cpu" in printed) == bool(status)
