"""`podwright simulate` with a plugin that keeps state: saved, killed, resumed, explained."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.e2e.command_line import ROOT, run
from tests.e2e.test_simulate import parts_of, started, tree

from podwright.simulation.world.tests.quota import MOST

pytest.importorskip("pyarrow")

QUOTA = ROOT / "src/podwright/simulation/world/tests/quota.py"
PODS = 40


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A node, 40 pods of two namespaces that are created one per second, and the plugin."""
    node = (
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
        "status: {allocatable: {cpu: '64', memory: 64Gi, pods: '110'}}\n"
    )
    (tmp_path / "cluster.yaml").write_text(node)
    lines = [
        {
            "at": f"{number}s",
            "apply": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"p{number:02}", "namespace": ("red", "blue")[number % 2]},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        }
        for number in range(PODS)
    ]
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    shutil.copy(QUOTA, tmp_path / "quota.py")
    return (
        f"{tmp_path}/cluster.yaml --events {tmp_path}/events.jsonl --plugin {tmp_path}/quota.py"
        " --checkpoint-events 30"
    )


def test_what_is_decided_does_not_depend_on_a_folder_and_the_plugin_is_named(cluster, tmp_path):
    in_memory = re.sub(r" --checkpoint-events \d+", "", cluster)
    here = run(f"simulate {in_memory}", status=1)
    there = run(f"simulate {cluster} --out {tmp_path}/run", status=1)
    assert here.stdout == there.stdout
    assert f"  {PODS - 2 * MOST}    the namespace has its share" in here.stdout
    assert "warning" not in here.stderr
    assert there.stderr.count("warning: plugin Quota keeps state") == 1


def test_a_killed_run_resumes_with_the_state_of_the_plugin(cluster, tmp_path):
    run(f"simulate {cluster} --out {tmp_path}/whole", status=1)
    folder = tmp_path / "broken"
    process = started(f"{cluster} --out {folder}", 1)
    while process.poll() is None and parts_of(folder) < 3:
        pass
    process.kill()
    process.communicate()
    expected = run(f"simulate --resume {folder}", status=1).stderr
    assert "warning: plugin Quota keeps state" in expected
    assert tree(folder) == tree(tmp_path / "whole")


def test_the_past_is_explained_with_the_count_that_there_was(cluster, tmp_path):
    run(f"simulate {cluster} --out {tmp_path}/run", status=1)
    line = f"--run {tmp_path}/run --plugin {tmp_path}/quota.py"
    assert "the namespace has its share" in run(f"explain red/p38 {line}", status=1).stdout
    assert "n1" in run(f"explain red/p06 {line}").stdout
    shown = run(f"run show {tmp_path}/run --plugin {tmp_path}/quota.py").stdout
    assert str(PODS) in shown
