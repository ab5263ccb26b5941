"""Full disks and closed streams: one line on stderr, status 3; closed pipes: status 141."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.command_line import QUICKSTART

from podwright.cli import COMMANDS, main
from podwright.cli.usage import PlainCommand

LINES = (
    f"schedule {QUICKSTART}",
    f"schedule {QUICKSTART} -o json",
    f"schedule {QUICKSTART} --explain",
    f"explain web-0 {QUICKSTART}",
    f"explain web-0 {QUICKSTART} -o jsonpath={{.node}}",
    "explain web --run RUN -o kss",
    f"simulate {QUICKSTART}",
    f"simulate {QUICKSTART} --output yaml",
    f"compare-rules {QUICKSTART}",
    "check examples/scenarios/rollout.yaml",
    f"diff {QUICKSTART} --to-seed 1",
    f"diff {QUICKSTART} --to-seed 1 -o custom-columns=POD:.pod",
    f"diff {QUICKSTART} --to-seed 1 -o json",
    f"convert {QUICKSTART}",
    f"convert {QUICKSTART} -o record",
    "shadow examples/shadow",
    "config show",
    "config check examples/plugins/keep_zone.yaml --plugin examples/plugins/keep_zone.py",
    "run show RUN",
    "run step RUN --at 1m",
    "parity tests/golden/vectors/found/cel.jsonl.gz",
    "completion bash",
    "capacity examples/capacity/web.yaml examples/quickstart",
    "capacity --buy examples/capacity/types.yaml --podspec examples/capacity/more.yaml"
    " examples/capacity/cluster.yaml",
    "autoscale examples/autoscaling/groups.yaml examples/autoscaling/shop.yaml",
    "drain-plan a1 examples/capacity/cluster.yaml",
    "scheduler-perf examples/scheduler-perf/performance-config.yaml --test-case Basic",
    "study fgd examples/gpu-trace --only 05-BestFit --seeds 1 --jobs 1",
    "sweep examples/sweep/plan.yaml --out RUN-results --jobs 1 --seeds 0",
    "trace describe examples/trace/pods.csv",
    "tune examples/sweep/tune.yaml --out RUN-tuned --jobs 1 --trials 1",
    "version",
    "version -o json",
)
ENDLESS = (f"up {QUICKSTART} --port 0 --kubeconfig RUN-kubeconfig",)
"""Commands that go on after their output."""
SILENT = ("warm-up", "report RUN --out RUN.html")
"""Commands that print nothing on stdout."""
SERVED = (
    "clock show",
    "debug timings",
    "import",
    "page",
    "record --out RECORD",
    "replay RECORD --to CLUSTER",
    "scheduler",
    "sync --to CLUSTER",
)
"""Commands whose output comes from a running cluster."""
HELPS = (
    "--help",
    *(f"{name} --help" for name in COMMANDS),
    "run show --help",
    "config show -h",
    "schedule --help-v1.16",
)
REFUSED = (
    "",
    "no-such-command",
    *(f"{name} --no-such-option" for name in COMMANDS),
    "schedule no-such-file",
    "explain web-0 no-such-file",
    "explain no-such-pod examples/quickstart",
    "simulate no-such-file",
    "compare-rules no-such-file",
    "check no-such-file",
    "diff no-such-file --to-seed 1",
    "convert no-such-file",
    "shadow no-such-file",
    "config show no-such-file",
    "run show no-such-folder",
    "run step no-such-folder",
    "parity no-such-file",
    "clock speed fast",
    "debug unbreak one",
)
"""Commands that print only an error on stderr."""
NO_SPACE = "error: the output cannot be written: No space left on device"


def test_every_command_is_here():
    assert {line.split()[0] for line in (*LINES, *ENDLESS, *SILENT, *SERVED)} == set(COMMANDS)


@pytest.fixture
def full():
    with Path("/dev/full").open("w") as stream:
        yield stream


@pytest.fixture
def broken():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        yield stream


@pytest.fixture
def status_of(a_run, monkeypatch):
    def status_of(line: str) -> object:
        monkeypatch.setattr("sys.stdin", io.StringIO())
        with pytest.raises(SystemExit) as end:
            main(shlex.split(line.replace("RUN", str(a_run))))
        return end.value.code

    return status_of


@pytest.mark.parametrize("line", [*LINES, *ENDLESS, *HELPS])
def test_a_full_disk_is_one_line(line, full, status_of, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout", full)
    assert status_of(line) == 3
    stderr = capsys.readouterr().err.splitlines()
    assert stderr[-1] == NO_SPACE
    assert sum("error" in one or "Traceback" in one for one in stderr) == 1


@pytest.mark.parametrize("line", [*LINES, *ENDLESS, *HELPS])
def test_a_closed_pipe_is_the_status_of_its_signal(line, broken, status_of, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout", broken)
    assert status_of(line) == 128 + signal.SIGPIPE
    stderr = capsys.readouterr().err
    assert "error" not in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("line", [*SILENT, *REFUSED, f"schedule {QUICKSTART}"])
@pytest.mark.parametrize("kind", ["full", "broken"])
def test_an_error_that_cannot_be_written_is_a_status(line, kind, status_of, request, monkeypatch):
    monkeypatch.setattr("sys.stderr", request.getfixturevalue(kind))
    assert status_of(line) == 3


@pytest.mark.parametrize("line", [*SILENT, *REFUSED])
def test_what_prints_no_result_does_not_depend_on_stdout(line, full, status_of, monkeypatch):
    monkeypatch.setattr("sys.stdout", full)
    assert status_of(line) == (2 if line in REFUSED else 0)


ONE_OF_EACH = tuple({line.split()[0]: line for line in LINES}.values())


@pytest.mark.parametrize("line", ONE_OF_EACH)
def test_the_first_line_can_be_taken(line, a_run):
    # What fits into the pipe is written whole; otherwise the reader is gone.
    command = f"{shlex.quote(sys.executable)} -c 'from podwright.cli import main; main()'"
    line = line.replace("RUN", str(a_run))
    ended = subprocess.run(
        f"{{ {command} {line} < /dev/null; echo status $? >&2; }} | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    messages = ended.stderr.splitlines()
    assert messages[-1] in {"status 0", "status 1", "status 141"}
    assert not any(one.startswith("error: ") for one in messages)
    assert "Traceback" not in ended.stderr
    assert ended.stdout.count("\n") == 1


@pytest.mark.parametrize("line", ["version", "--help", f"convert {QUICKSTART}"])
@pytest.mark.parametrize(
    ("redirected", "expected"),
    [
        pytest.param(">/dev/full", NO_SPACE, id="full"),
        pytest.param(">&-", NO_SPACE.replace("No space left on device", "Bad file descriptor"),
                     id="closed"),
    ],
)  # fmt: skip
def test_the_interpreter_prints_nothing_at_exit(line, redirected, expected):
    command = f"{shlex.quote(sys.executable)} -c 'from podwright.cli import main; main()' {line}"
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        f"{command} {redirected}; echo $? >&2",
        shell=True,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert ended.stderr.splitlines() == [expected, "3"]


@pytest.mark.parametrize("line", ["version", "--help", f"convert {QUICKSTART}"])
def test_a_pipe_without_a_reader_ends_quietly(line):
    command = f"{shlex.quote(sys.executable)} -c 'from podwright.cli import main; main()' {line}"
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        command, shell=True, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_messages_with_no_place_to_go_do_not_change_the_result():
    command = f"{shlex.quote(sys.executable)} -c 'from podwright.cli import main; main()'"
    line = f"{command} schedule {QUICKSTART} -o name --exit-zero 2>&- <&-"
    ended = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (ended.returncode, len(ended.stdout.splitlines())) == (0, 20)


def test_a_character_that_the_output_cannot_hold_is_escaped(write):
    file = write("odd.yaml", 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: "ü"}')
    ended = subprocess.run(
        [sys.executable, "-c", "from podwright.cli import main; main()", "convert", file],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"\\xfc" in ended.stdout


def test_not_enough_memory_is_one_line(status_of, monkeypatch, capsys):
    monkeypatch.setattr(PlainCommand, "invoke", _raising(MemoryError()))
    assert status_of("version") == 3
    assert capsys.readouterr().err == "error: not enough memory\n"


def test_a_defect_is_not_an_answer(status_of, monkeypatch, capsys):
    monkeypatch.setattr(PlainCommand, "invoke", _raising(KeyError("x")))
    assert status_of("version") == 3
    stderr = capsys.readouterr().err.splitlines()
    assert stderr[-1] == "error: podwright failed with KeyError: a bug in podwright"


def test_ctrl_c_is_130(status_of, monkeypatch):
    monkeypatch.setattr(PlainCommand, "invoke", _raising(KeyboardInterrupt()))
    assert status_of("version") == 130


def _raising(error: BaseException):
    def invoke(*_):
        raise error

    return invoke
