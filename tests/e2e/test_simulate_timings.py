"""`podwright simulate --timings`: how long the calls of plugins took."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.command_line import NODES, pod, run

PLUGIN = """
import time
import podwright as pw

class Slow(pw.Plugin):
    name = "Slow"

    def pre_filter(self, cycle):
        if cycle.pod.metadata.name == "b":
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass
        return pw.Status()

    def filter(self, cycle, node):
        if cycle.pod.metadata.name == "c":
            raise KeyError("missing")
        return pw.Status()
"""


@pytest.fixture
def command(tmp_path):
    cluster, plugin = tmp_path / "cluster.yaml", tmp_path / "slow.py"
    cluster.write_text(NODES + pod("a", "1") + pod("b", "1") + pod("c", "1"))
    plugin.write_text(PLUGIN)
    return f"simulate {cluster} --plugin {plugin} --exit-zero --until 1m"


def test_the_slowest_call_of_a_plugin_names_its_pod(command):
    text = run(f"{command} --timings").stdout
    heads, first, *rows = text.partition("Calls of plugins:\n")[2].splitlines()
    assert heads.split()[:4] == ["PLUGIN", "POINT", "CALLS", "ERRORS"]
    assert (first.split()[:2], first.split()[-1]) == (["Slow", "PreFilter"], "default/b")
    (failed,) = (row.split() for row in rows if row.split()[:2] == ["Slow", "Filter"])
    assert int(failed[3]) > 0
    assert "PROFILE" in run(f"{command} --timings -o wide").stdout
    found = json.loads(run(f"{command} --timings -o json").stdout)["timings"]
    (timing,) = (each for each in found if (each["plugin"], each["point"]) == ("Slow", "PreFilter"))
    assert timing["longestPod"] == "default/b"
    assert timing["longestNs"] >= 50_000_000


def test_decisions_and_the_run_folder_do_not_depend_on_the_measurement(command, tmp_path):
    plain = run(f"{command} --no-tables --out {tmp_path / 'plain'}").stdout
    timed = run(f"{command} --no-tables --out {tmp_path / 'timed'} --timings").stdout
    assert timed.startswith(plain)
    assert "Calls of plugins:" not in plain

    def contents(name):
        folder = Path(tmp_path, name)
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    assert contents("plain") == contents("timed")
