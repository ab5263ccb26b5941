"""Ctrl-C ends a command with one line, and leaves a run folder that is complete and marked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.command_line import NODES, pod

PODS = "".join(pod(f"p{number:02}", "100m") for number in range(40))
PLUGIN = """
import os
import signal

import podwright as pw

class Interrupting(pw.Plugin):
    \"\"\"Sends signals to its own process at some of its calls.\"\"\"

    name = "Interrupting"
    remembers = False

    def __init__(self):
        self.calls = 0

    def pre_filter(self, cycle):
        self.calls += 1
        if str(self.calls) in os.environ.get("INTERRUPTED_CALLS", "").split():
            signal.raise_signal(getattr(signal, os.environ.get("SIGNAL", "SIGINT")))
        return pw.PreFilterResult()
"""
COMMAND = "from podwright.cli import main; main()"
SIMULATE = ("simulate", "cluster.yaml", "--until", "5m", "--plugin", "plugin.py", "--out", "run")
FROM_PYTHON = """
import sys
import podwright as pw
from plugin import Interrupting

pw.simulate("cluster.yaml", until="5m", plugins=(Interrupting,), output="run", resume={resume})
"""


def with_inputs(folder: Path) -> Path:
    (folder / "cluster.yaml").write_text(NODES + PODS)
    (folder / "plugin.py").write_text(PLUGIN)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return with_inputs(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of a run that was not interrupted."""
    folder = with_inputs(tmp_path_factory.mktemp("whole"))
    result = ran(folder, COMMAND, *SIMULATE)
    assert result.returncode == 0, result.stderr
    return files_of(folder / "run")


def ran(
    folder: Path, *arguments: str, calls: str = "", number: str = "SIGINT"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", *arguments],
        cwd=folder,
        env=os.environ | {"INTERRUPTED_CALLS": calls, "SIGNAL": number},
        capture_output=True,
        text=True,
        check=False,
    )


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def status_of(folder: Path) -> str:
    status: str = json.loads((folder / "manifest.json").read_bytes())["status"]
    return status


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_a_run_between_two_steps(
    folder: Path, whole: dict[str, bytes], number: str, status: int
) -> None:
    result = ran(folder, COMMAND, *SIMULATE, calls="10", number=number)
    assert result.returncode == status
    assert result.stderr.endswith(
        "interrupted 0s into the run; resume with: podwright simulate --resume run\n"
    )
    assert "Traceback" not in result.stderr
    assert status_of(folder / "run") == "interrupted"
    assert (folder / "run/summary.json").exists()
    shown = ran(folder, COMMAND, "run", "show", "run", "--plugin", "plugin.py")
    line, time, *_ = shown.stdout.splitlines()
    assert line == (
        "Status:   interrupted; resume the run with: podwright simulate --resume run"
    ), shown.stderr
    assert time.startswith("Time:     0s")
    document = ran(folder, COMMAND, "run", "show", "run", "--plugin", "plugin.py", "-o", "json")
    assert json.loads(document.stdout)["status"] == "interrupted"
    resumed = ran(folder, COMMAND, "simulate", "--resume", "run")
    assert resumed.returncode == 0, resumed.stderr
    assert files_of(folder / "run") == whole


def test_the_second_signal_ends_a_run_at_once(folder: Path, whole: dict[str, bytes]) -> None:
    result = ran(folder, COMMAND, *SIMULATE, calls="10 11")
    assert result.returncode == 130
    expected = "interrupted; resume the run with: podwright simulate --resume run\n"
    assert result.stderr.endswith(expected)
    assert "Traceback" not in result.stderr
    assert status_of(folder / "run") == "interrupted"
    assert not (folder / "run/summary.json").exists()
    assert ran(folder, COMMAND, "simulate", "--resume", "run").returncode == 0
    assert files_of(folder / "run") == whole


def test_a_run_from_python_raises_one_exception_that_says_how_to_resume(folder: Path) -> None:
    script = FROM_PYTHON.format(resume=False)
    uninterrupted = ran(folder, script)
    assert uninterrupted.returncode == 0, uninterrupted.stderr
    whole = files_of(folder / "run")
    shutil.rmtree(folder / "run")
    result = ran(folder, script, calls="10")
    last = result.stderr.splitlines()[-1]
    assert last == (
        "KeyboardInterrupt: interrupted; resume the run with:"
        " pw.simulate(..., output='run', resume=True)"
    )
    assert result.stderr.count("Traceback") == 1
    assert status_of(folder / "run") == "interrupted"
    assert (folder / "run/summary.json").exists()
    assert ran(folder, FROM_PYTHON.format(resume=True)).returncode == 0
    assert files_of(folder / "run") == whole


@pytest.mark.parametrize("command", ["schedule", "simulate"])
def test_a_command_without_a_folder_ends_with_one_line(folder: Path, command: str) -> None:
    arguments = (command, "cluster.yaml", "--plugin", "plugin.py")
    result = ran(folder, COMMAND, *arguments, calls="10")
    assert result.returncode == 130
    assert result.stderr.splitlines()[-1].startswith("interrupted")
    assert "Traceback" not in result.stderr


def test_an_ignored_signal_stays_ignored(folder: Path) -> None:
    """A shell ignores SIGINT in commands that it runs in the background."""
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    result = ran(folder, ignoring + COMMAND, *SIMULATE, calls="10")
    assert result.returncode == 0, result.stderr
    assert status_of(folder / "run") == "finished"


AT_A_WRITE = """
import json
import os
import signal
from pathlib import Path

import podwright as pw

sync, left = os.fsync, 0

def interrupted_sync(file):
    global left
    left -= 1
    if left == 0:
        signal.raise_signal(signal.SIGINT)
    sync(file)

os.fsync = interrupted_sync
found, number = [], 0
while True:
    number += 1
    left, folder = number, Path(f"run{number}")
    interruption = None
    try:
        pw.simulate("cluster.yaml", until="5m", output=folder, checkpoint_events=20)
    except KeyboardInterrupt as interrupt:
        interruption = str(interrupt)
    if left > 0:
        break
    status = json.loads((folder / "manifest.json").read_text())["status"]
    partial = [str(path) for path in folder.rglob(".*")]
    # The folder can be read, and the run can be completed.
    try:
        pw.Run.open(folder).summary
    except pw.RunError as error:
        refusal = str(error)
    else:
        refusal = ""
    if status != "finished":
        options = dict(output=folder, resume=True, checkpoint_events=20)
        pw.simulate("cluster.yaml", until="5m", **options)
    print(json.dumps([interruption is not None, status, partial, refusal]))
"""


def test_a_signal_waits_for_the_end_of_a_write(folder: Path) -> None:
    result = ran(folder, AT_A_WRITE)
    assert result.returncode == 0, result.stderr
    outcomes = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(outcomes) > 12, "the manifest, checkpoints, tables and results are written"
    assert all(is_raised and not partial for is_raised, _, partial, _ in outcomes), outcomes
    first, *others = [refusal for *_, refusal in outcomes]
    assert first == (
        "run1 has no events: the run was interrupted before its first event; resume it with:"
        " pw.simulate(..., output='run1', resume=True)"
    )
    assert not any(others)
    statuses = [status for _, status, *_ in outcomes]
    count = statuses.count("interrupted")
    assert statuses == ["interrupted"] * count + ["finished"] * (len(statuses) - count)
    assert 1 < count < len(statuses)
    runs = [files_of(folder / f"run{number + 1}") for number in range(len(outcomes))]
    assert all(run == runs[-1] for run in runs)
