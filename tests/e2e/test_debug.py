"""`podwright debug` and `podwright up --break` with a running cluster."""

from __future__ import annotations

import json

from tests.e2e.command_line import run
from tests.e2e.test_cli import examples
from tests.e2e.test_up import PODS, pod, up

PLUGIN = """
import podwright as pw

class FailsForB(pw.Plugin):
    name = "FailsForB"

    def filter(self, cycle, node):
        if cycle.pod.metadata.name == "b":
            raise KeyError("missing")
        return pw.Status()
"""


def test_a_failing_plugin_is_found(tmp_path):
    plugin = tmp_path / "fails_for_b.py"
    plugin.write_text(PLUGIN)
    options = ("--nodes", "2", "--plugin", str(plugin), "--break", "plugin=FailsForB,on=error")
    with up(tmp_path, *options) as cluster:
        of = f"--kubeconfig {tmp_path / 'config'}"
        assert "no plugin has failed" in run(f"debug failures {of}").stderr
        for name in "ab":
            assert cluster.send("POST", PODS, pod(name))[0] == 201
        while "at breakpoint 1" not in run(f"clock show {of}").stdout:
            pass
        shown = run(f"debug breakpoints {of}")
        assert shown.stdout.split() == [
            *("NUMBER", "CONDITION", "HITS"),
            *("1", "plugin=FailsForB,on=error", "1"),
        ]
        assert "stopped at breakpoint 1: pod default/b, attempt 1, FailsForB at Filter: Key" in (
            shown.stderr
        )
        text = run(f"debug failures --plugin FailsForB --pod b -o wide --traceback {of}").stdout
        assert 'raise KeyError("missing")' in text
        assert f'File "{plugin}", line 9, in filter' in text
        assert "KeyError: 'missing'" in text.splitlines()[1]
        (row,) = json.loads(run(f"debug failures -o json {of}").stdout)["failures"]
        assert (row["pod"], row["attempt"], row["node"]) == ("default/b", 1, "node-0")
        heads, *rows = run(f"debug timings {of}").stdout.splitlines()
        assert heads.split()[:4] == ["PLUGIN", "POINT", "CALLS", "ERRORS"]
        (found,) = (line.split() for line in rows if line.startswith("FailsForB"))
        assert found[1:4] == ["Filter", "3", "1"]
        assert "FailsForB/Filter" in run(f"debug timings -o name {of}").stdout.split()
        run(f"debug unbreak 1 {of}")
        assert "running" in run(f"clock resume {of}").stdout
        assert "there is no breakpoint 1" in run(f"debug unbreak 1 {of}", status=2).stderr
        assert "did you mean" in run(f"debug break pods=b {of}", status=2).stderr
        assert cluster.end() == 0


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one writes a file
    lines = [line for line in examples() if line.startswith("debug ")]
    assert len(lines) >= 6
    with up(tmp_path, "--nodes", "1") as cluster:
        assert cluster.send("POST", PODS, pod("web-0"))[0] == 201
        while not cluster.send("GET", f"{PODS}/web-0")[1]["spec"].get("nodeName"):
            pass
        for line in lines:
            result = run(f"{line} --kubeconfig {tmp_path / 'config'}")
            assert result.stdout or result.stderr
        assert cluster.end() == 0


def test_a_changed_plugin_is_reloaded(tmp_path):
    plugin = tmp_path / "fails_for_b.py"
    plugin.write_text(PLUGIN)
    with up(tmp_path, "--nodes", "1", "--plugin", str(plugin), "--reload") as cluster:
        assert cluster.send("POST", PODS, pod("b"))[0] == 201
        while not cluster.send("GET", "/podwright/v1/plugins/failures")[1]["failures"]:
            pass
        plugin.write_text(PLUGIN.replace("raise KeyError(", "raise KeyError((", 1))
        while "the plugins of before stay" not in cluster.text():
            pass
        assert f"{plugin}: line 9: '(' was never closed" in cluster.text()
        plugin.write_text(PLUGIN.replace('name == "b"', 'name == "c"'))
        while "reloaded" not in cluster.text():
            pass
        while not cluster.send("GET", f"{PODS}/b")[1]["spec"].get("nodeName"):
            pass
        assert "Traceback" not in cluster.text()
        assert cluster.end() == 0
