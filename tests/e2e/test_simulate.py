"""`podwright simulate`: its output, its errors, and resumption of an interrupted run."""

from __future__ import annotations

import hashlib
import json
import os
import random
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.command_line import NODES, QUICKSTART, ROOT, pod, run

MAIN = "from podwright.cli import main; main()"
SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0})); "
DAY = "examples/simulate --events examples/simulate/day.jsonl --until 24h"
CONFIGURATION = (
    "---\napiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
)


def tree(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_the_figures_are_printed(write):
    cluster = write("cluster.yaml", NODES + pod("web", "4") + pod("batch", "16"))
    printed = run(f"simulate {cluster}", status=1).stdout
    assert "Simulated 0s: 2 decisions for 2 pods, 1 placed, 0 succeeded" in printed
    assert "  RESOURCE  MEAN    PEAK    FRAGMENTED\n  cpu       40.00%  40.00%" in printed
    assert "  PODS  REASON\n  1     Insufficient cpu\n" in printed


def test_figures_are_documents_too(write):
    cluster = write("cluster.yaml", NODES + pod("batch", "16"))
    document = json.loads(run(f"simulate {cluster} --output json --exit-zero").stdout)
    assert document["pending"] == {"Insufficient cpu": 1}
    assert (
        "pending:\n  Insufficient cpu: 1\n"
        in run(f"simulate {cluster} --output yaml --exit-zero").stdout
    )


Licenses = """
import podwright as pw

class Licenses(pw.Plugin):
    name = "Licenses"

    def pre_bind(self, cycle, node_name):
        return pw.Status.unschedulable("no license is left")
"""


def test_an_attempt_that_fails_after_its_decision_counts_as_one_failed_decision(write, tmp_path):
    cluster, plugin = write("cluster.yaml", NODES + pod("web", "1")), write("own.py", Licenses)
    line = f"simulate {cluster} --plugin {plugin} --until 500ms"
    printed = run(f"{line} --out {tmp_path}/run", status=1).stdout
    assert "1 decision for 1 pod, 0 placed" in printed
    assert "  1     no license is left\n" in printed
    document = json.loads(run(f"{line} --output json --exit-zero").stdout)
    assert document["counts"]["decisions"] == document["counts"]["failedDecisions"] == 1
    expected = run(f"explain web --run {tmp_path}/run --plugin {plugin}").stdout
    assert (
        "the attempt on small failed: " in expected or "the attempt on large failed: " in expected
    )
    assert "no license is left; requeued" in expected


def test_pods_that_all_have_a_node_are_a_success(write):
    cluster = write("cluster.yaml", NODES + pod("web", "1"))
    result = run(f"simulate {cluster}")
    assert result.stdout.endswith("All pods are scheduled.\n")
    assert result.stderr == ""


def test_pods_that_others_decide_for_do_not_count(write):
    held = pod("a", "1", spec="schedulingGates: [{name: x}]") + pod(
        "b", "1", spec="schedulerName: y"
    )
    cluster = write("cluster.yaml", NODES + held)
    assert "for another scheduler" in run(f"simulate {cluster}").stdout


def test_a_run_can_be_explained_and_shown(tmp_path):
    run(f"simulate {DAY} --out {tmp_path}/run")
    shown = run(f"explain default/hotfix --run {tmp_path}/run --attempt 1", status=1).stdout
    assert "Insufficient cpu" in shown
    assert "6: 5 Ready, 1 Unknown" in run(f"run show {tmp_path}/run --at 90m").stdout


def test_a_run_with_a_configuration_among_the_files_is_decided_by_it(write, tmp_path):
    profile = "profiles: [{schedulerName: mine}]\n"
    cluster = write(
        "cluster.yaml",
        NODES + pod("web", "1", spec="schedulerName: mine") + CONFIGURATION + profile,
    )
    run(f"simulate {cluster} --out {tmp_path}/run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["configuration"]["profiles"][0]["schedulerName"] == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param("", "specify FILE, --events or --resume", id="nothing"),
        pytest.param("{c} --until soon", '--until: Invalid value: "soon"', id="until"),
        pytest.param("{c} --sample 0s", '--sample: Invalid value: "0s"', id="sample"),
        pytest.param("{c} --events none.jsonl", "none.jsonl: cannot be read", id="no events"),
        pytest.param("{c} --config none.yaml", "none.yaml: cannot be read", id="no configuration"),
        pytest.param("{c} --resume {c}", "cannot be combined with --resume", id="resume and files"),
        pytest.param("--resume none", "none is not a run folder", id="no run"),
        pytest.param("{c} --out ''", "a folder name must not be empty", id="no folder"),
        pytest.param("--resume ''", "a folder name must not be empty", id="no folder to resume"),
        pytest.param(
            "examples/shadow/record.jsonl",
            "a record of changes, which `podwright simulate --events` plays",
            id="record",
        ),
    ],
)
def test_wrong_use_is_refused(write, options, message):
    cluster = write("cluster.yaml", NODES)
    assert message in run(f"simulate {options.format(c=cluster)}", status=2).stderr


def test_all_errors_are_reported_and_nothing_is_written(write, tmp_path):
    cluster = write("cluster.yaml", NODES + pod("a", "1", spec="priorityClassName: none"))
    events = write("events.jsonl", '{"at": "1m", "drain": "huge"}\n{\n')
    expected = run(
        f"simulate {cluster} --events {events} --start never --feature-gates X=true"
        f" --out {tmp_path}/run",
        status=2,
    ).stderr
    for message in (
        "--start: Invalid value",
        "X",
        'line 1: drain: Node "huge" does not exist',
        "line 2: not JSON",
        'spec.priorityClassName: there is no PriorityClass "none"',
    ):
        assert message in expected
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_reported_as_finished(write, tmp_path):
    cluster = write("cluster.yaml", NODES + pod("batch", "16"))
    run(f"simulate {cluster} --out {tmp_path}/run", status=1)
    before = tree(tmp_path / "run")
    again = run(f"simulate --resume {tmp_path}/run", status=1)
    assert "is already finished" in again.stderr
    assert "Insufficient cpu" in again.stdout
    assert tree(tmp_path / "run") == before


def test_a_run_without_tables_needs_no_arrow(write, tmp_path, monkeypatch):
    monkeypatch.setattr("podwright.simulation.recording.folders.tables.find_spec", lambda _: None)
    cluster = write("cluster.yaml", NODES + pod("web", "1"))
    refused = run(f"simulate {cluster} --out {tmp_path}/run", status=2).stderr
    assert "pip install 'podwright[tables]'" in refused
    assert not (tmp_path / "run").exists()
    run(f"simulate {cluster} --out {tmp_path}/run --no-tables")
    assert not (tmp_path / "run" / "tables").exists()
    run(f"simulate {cluster}")


def test_the_example_in_python_ends_when_no_pod_waits(capsys):
    runpy.run_path("examples/simulate/how_many_nodes.py", run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert "longest wait      0 s" not in lines[0]
    assert "longest wait      0 s" in lines[-1]


# -------------------------------------------------------------------- interrupted runs


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A trace of 600 pods on 15 nodes; some of the pods wait."""
    draw = random.Random(7)
    nodes = ["sn,cpu_milli,memory_mib,gpu,model"]
    nodes += [f"n{number:02},32000,131072,0," for number in range(15)]
    pods = [
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time"
    ]
    for number in range(600):
        begin = draw.randrange(86_400)
        end = begin + draw.randrange(600, 20_000)
        pods.append(
            f"p{number:04},{draw.choice((2000, 7000, 15000))},4096,0,0,{begin},{end},{begin}"
        )
    (tmp_path / "nodes.csv").write_text("\n".join(nodes) + "\n")
    (tmp_path / "pods.csv").write_text("\n".join(pods) + "\n")
    return f"{tmp_path}/nodes.csv {tmp_path}/pods.csv --checkpoint-events 300"


def started(
    line: str, hash_seed: int, *, main: str = MAIN, folder: Path = ROOT
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", main, "simulate", *line.split()],
        cwd=folder,
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def parts_of(folder: Path) -> int:
    return len(list((folder / "parts").glob("*"))) if (folder / "parts").exists() else 0


def until_checkpoint(process: subprocess.Popen[str], folder: Path, count: int) -> Iterator[None]:
    """Wait until a run has written a number of checkpoints, or has ended."""
    while process.poll() is None and parts_of(folder) < count:
        yield


def test_a_run_on_a_full_disk_reports_how_to_resume(tmp_path):
    run(f"simulate {DAY} --checkpoint-events 100 --out {tmp_path}/whole")
    segment = next((tmp_path / "whole" / "log").iterdir())
    folder, limit = tmp_path / "broken", segment.stat().st_size // 2
    line = f"{DAY} --checkpoint-events 100 --out {folder}"
    # No file may be longer than that, as if the disk were full then.
    process = started(line, 1, main=SMALL_FILES.format(limit) + MAIN)
    _, stderr = process.communicate()
    assert process.returncode == 3, stderr
    assert stderr == (
        f"error: {folder} cannot be written: File too large; resume the run when there is space:"
        f" podwright simulate --resume {folder}\n"
    )
    run(f"simulate --resume {folder}")
    assert tree(folder) == tree(tmp_path / "whole")


@pytest.fixture(scope="module")
def broken_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a run, and the run, which failed on a full disk."""
    folder = tmp_path_factory.mktemp("broken")
    shutil.copytree(ROOT / "examples/simulate", folder / "in")
    document = CONFIGURATION.removeprefix("---\n")
    (folder / "config.yaml").write_text(f"{document}podMaxBackoffSeconds: 5\n")
    line = "in/cluster.yaml in/workloads.yaml --events in/day.jsonl --config config.yaml"
    process = started(f"{line} --out run", 1, main=SMALL_FILES.format(3_000) + MAIN, folder=folder)
    assert "resume the run" in process.communicate()[1]
    return folder


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"in/cluster.yaml": "# more"}, "in/cluster.yaml has changed", id="objects"),
        pytest.param({"config.yaml": "# more"}, "config.yaml has changed", id="configuration"),
        pytest.param({"in/day.jsonl": None}, "in/day.jsonl cannot be read: No such", id="gone"),
        pytest.param(
            {"in/cluster.yaml": None, "in/day.jsonl": "{}"},
            "in/cluster.yaml cannot be read: No such file or directory; in/day.jsonl has changed",
            id="several, without consequences",
        ),
    ],
)
def test_a_run_is_not_resumed_if_an_input_has_changed(
    broken_run, tmp_path, monkeypatch, changes, expected
):
    folder = shutil.copytree(broken_run, tmp_path / "copy")
    monkeypatch.chdir(folder)
    before = tree(folder / "run")
    for name, more in changes.items():
        file = folder / name
        if more is None:
            file.unlink()
        else:
            file.write_text(f"{file.read_text()}{more}\n")
    stderr = run("simulate --resume run", status=2).stderr
    assert stderr.startswith(
        f"error: run cannot be resumed, because the inputs or options differ: {expected}"
    )
    assert stderr.endswith("It was left as it is\n")
    assert len(stderr) < 300, "the configuration must not be reported as well"
    assert tree(folder / "run") == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGKILL, marks=pytest.mark.share), signal.SIGINT, signal.SIGTERM],
)
def test_a_run_that_was_stopped_and_resumed_writes_the_same_bytes(tmp_path, trace, number):
    whole = started(f"{trace} --out {tmp_path}/whole", 0)
    expected, _ = whole.communicate()
    assert whole.returncode in (0, 1)
    folder = tmp_path / "broken"
    line = f"{trace} --out {folder}"
    for attempt, checkpoint in enumerate((1, 4, 7), start=1):
        process = started(line, attempt)
        for _ in until_checkpoint(process, folder, checkpoint):
            pass
        process.send_signal(number)
        _, stderr = process.communicate()
        if number == signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL
        else:
            assert process.returncode == 128 + number
            assert f"resume with: podwright simulate --resume {folder}" in stderr
            assert (folder / "tables" / "decisions.parquet").exists()
        line = f"--resume {folder}"
    last = started(line, 9)
    assert last.communicate()[0] == expected
    assert last.returncode == whole.returncode
    assert tree(folder) == tree(tmp_path / "whole")


def test_o_is_the_output_format():
    document = run(f"simulate {QUICKSTART} --exit-zero --output json").stdout
    assert run(f"simulate {QUICKSTART} --exit-zero -o json").stdout == document
    assert "is not one of 'table', " in run(f"simulate {QUICKSTART} -o run", status=2).stderr
