"""Every command that schedules announces that kernels are compiled, which takes half a minute."""

from __future__ import annotations

from pathlib import Path

import pytest

from podwright.cli.tests.served import command
from podwright.scheduler.kernels import _jit

EXAMPLES = Path(__file__).parents[4] / "examples"
NODE = """\
{apiVersion: v1, kind: Node, metadata: {name: n1},
 status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}}
"""
POD = """\
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}
"""
SCENARIO = """\
apiVersion: podwright.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  cluster: {nodes: [{name: node, cpu: "4", memory: 8Gi}]}
  stop: {at: 1m}
  expectations: [{name: all placed, pendingAtMost: 0}]
"""
VECTOR = (
    '{"id": "q", "family": "quantities", "objects": [], "quantities": ["1"],'
    ' "expect": [{"milli": "1000", "value": "1"}]}\n'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    files = {
        "pod.yaml": POD, "cluster.yaml": f"{NODE}---\n{POD}", "s.yaml": SCENARIO, "v.jsonl": VECTOR,
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        line = "simulate cluster.yaml --until 1m --out run --no-tables --exit-zero"
        assert command(line)[2] == 0
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "schedule cluster.yaml",
        "explain web cluster.yaml",
        "explain web --run run",
        "explain web --run run -o kss",
        "diff cluster.yaml --to-seed 2",
        "compare-rules cluster.yaml",
        "parity v.jsonl",
        f"shadow {EXAMPLES}/shadow",
        "simulate cluster.yaml --until 1m --exit-zero",
        "check s.yaml --exit-zero",
        "report run --out r.html",
        "run step run",
        "run show run",
        "drain-plan n1 cluster.yaml",
        "capacity pod.yaml cluster.yaml",
    ],
)
def test_a_command_that_schedules_announces_compilation(line, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(_jit._KERNELS, "listeners", [])
    _, errors, status = command(line, "")
    assert status == 0, errors
    _jit._notify("a kernel")
    assert capsys.readouterr().err.startswith("compiling kernels, once for each user and version")
