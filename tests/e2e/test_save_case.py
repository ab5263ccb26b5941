"""A plugin bug that shows only under load is found, saved as a test, and reproduced offline."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.e2e.command_line import NODES, pod, run

PLUGIN = """
import podwright as pw


class FewPods(pw.Plugin):
    \"\"\"At most three pods on a node; the limit is wrong when a node is that full.\"\"\"

    name = "FewPods"

    def filter(self, cycle, node):
        if 12 // (3 - len(node.pods)) > 0:
            return pw.Status()
        return pw.Status.unschedulable("node(s) had three pods")
"""


@pytest.fixture
def recorded(write, tmp_path):
    """Return the plugin file and the folder of a run in which nodes become full."""
    cluster = write("cluster.yaml", NODES + "".join(pod(f"web-{n}", "100m") for n in range(9)))
    plugin, out = write("few.py", PLUGIN), str(tmp_path / "run")
    run(f"simulate {cluster} --plugin {plugin} --out {out} --until 1m --exit-zero")
    return plugin, out


def pytest_of(folder):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_failing_cycle_is_reproduced_offline(recorded, tmp_path):
    plugin, out = recorded
    folder = tmp_path / "empty"
    folder.mkdir()
    case = folder / "test_case.py"
    printed = run(
        f"explain web-8 --run {out} --plugin {plugin} --attempt 1 --save-case {case}", status=1
    ).stdout
    assert "ZeroDivisionError" in printed
    assert "ZeroDivisionError" in case.read_text()
    passed = pytest_of(folder)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    # With the bug fixed, the outcome is another one.
    case.write_text(
        case.read_text().replace("12 // (3 - len(node.pods)) > 0", "len(node.pods) < 3")
    )
    fixed = pytest_of(folder)
    assert fixed.returncode == 1
    assert "was recorded" in fixed.stdout


def test_a_case_of_a_chosen_node_and_of_a_preemption(a_run, tmp_path):
    for name, attempt, status in (("web", 1, 0), ("urgent", 1, 1), ("batch", 2, 1)):
        file = tmp_path / f"test_{name}_{attempt}.py"
        line = f"explain {name} --run {a_run} --attempt {attempt} --save-case {file}"
        run(line, status=status)
    found = pytest_of(tmp_path)
    assert found.returncode == 0, found.stdout
    assert "3 passed" in found.stdout


def test_a_file_that_exists_is_kept(a_run, write):
    file = write("test_case.py", "mine")
    assert (
        "cannot be written: File exists"
        in run(f"explain web --run {a_run} --save-case {file}", status=2).stderr
    )
    line = f"explain web examples/quickstart --save-case {file}"
    assert "requires --run" in run(line, status=2).stderr
