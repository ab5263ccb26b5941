"""How much a command imports, in modules: what a person waits for before the first answer."""

import subprocess
import sys
from pathlib import Path

import pytest

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  containers: [{name: main, image: web, resources: {requests: {cpu: "1"}}}]
"""
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
RUN = """
import contextlib, io, sys
from podwright.cli import main
for line in sys.stdin:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(line.split())
    print(*(name for name in sys.modules if name.startswith(("podwright", "numba"))))
"""
MOST = {"config check": 280, "schedule": 300, "explain": 320, "diff": 320}
"""How many modules of podwright each command imports at most."""

NEVER = (
    "podwright.cluster.api.admission",
    "podwright.cluster.api.endpoints",
    "podwright.cluster.controllers.interface",
    "podwright.cluster.controllers.registry",
    "podwright.online",
    "podwright.scheduler.classic.algorithm",
    "podwright.scheduler.machine.machine",
    "podwright.simulation.world",
)
"""Rooms of which these commands need nothing."""


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("config check", "{folder}/config.yaml"),
        ("schedule", "{folder}/cluster.yaml"),
        ("explain", "web {folder}/cluster.yaml"),
        ("diff", "{folder}/cluster.yaml --to-config {folder}/config.yaml"),
    ],
)
def test_a_command_imports_what_it_calls(command: str, arguments: str, tmp_path: Path):
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "config.yaml").write_text(CONFIGURATION)
    line = f"{command} {arguments.format(folder=tmp_path)}"
    run = [sys.executable, "-c", RUN]
    done = subprocess.run(run, input=line, capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "podwright.cli" in loaded, done.stderr
    assert [name for name in loaded if name.startswith(NEVER)] == []
    assert len([name for name in loaded if name.startswith("podwright")]) <= MOST[command]
    assert "numba" not in loaded
