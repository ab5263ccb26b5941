"""What users know from kubectl: `-f`, JSONPath, custom columns, the version, shell completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.e2e.command_line import NODES, QUICKSTART, pod, run

from podwright._version import __version__


@pytest.fixture
def two_files(tmp_path):
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "pods.yaml").write_text(pod("web", "1") + pod("big", "100"))
    return tmp_path


@pytest.mark.parametrize("option", ["-f ", "-f=", "-f", "--filename ", "--filename="])
def test_files_can_be_options(two_files, option):
    line = f"schedule {option}{two_files}/nodes.yaml --exit-zero {option}{two_files}/pods.yaml"
    assert run(f"{line} -o name").stdout == "default/web\n"


def test_files_as_options_follow_other_arguments(two_files):
    text = run(f"explain -f {two_files} web -o jsonpath={{.node}}").stdout
    assert text in {"small", "large"}


def test_an_option_without_a_file_is_an_error():
    text = run("schedule -f", status=2).stderr
    assert "Invalid value for '-f': requires a file." in text


@pytest.mark.parametrize("option", ["-o ", "-o", "-o=", "--output ", "--output="])
def test_jsonpath_selects_fields(two_files, option):
    template = "{range .decisions[*]}{.pod}={.outcome};{end}"
    text = run(f"schedule {two_files} --exit-zero {option}'jsonpath={template}'").stdout
    assert text == "default/web=Scheduled;default/big=Unschedulable;"


def test_custom_columns_are_a_table(two_files):
    line = f"schedule {two_files} --exit-zero -o custom-columns=POD:.pod,VICTIMS:.victims"
    assert run(line).stdout.splitlines() == [
        "POD          VICTIMS",
        "default/web  <none>",
        "default/big  <none>",
    ]


def test_a_selection_does_not_outlive_its_command(two_files):
    run(f"schedule {two_files} --exit-zero -o jsonpath={{.decisions[0].pod}}")
    assert (
        len(json.loads(run(f"schedule {two_files} --exit-zero -o json").stdout)["decisions"]) == 2
    )


@pytest.mark.parametrize(
    ("output", "error"),
    [
        pytest.param("jsonpath={.a", "-o jsonpath: unclosed or nested braces", id="template"),
        pytest.param("custom-columns=A", '-o custom-columns: "A" is not a column', id="column"),
    ],
)
def test_an_invalid_selection_is_one_line(output, error):
    assert error in run(f"schedule {QUICKSTART} --exit-zero -o {output}", status=2).stderr


def test_every_json_output_mentions_the_selections():
    text = " ".join(run("schedule --help").stdout.split())
    assert "-f, --filename FILE The same as FILE, as for kubectl. Repeatable." in text
    assert "custom- columns=HEAD:.path" in text or "custom-columns=HEAD:.path" in text
    assert "jsonpath" not in run("completion --help").stdout


def test_the_version():
    assert run("--version").stdout == f"podwright {__version__}\n"


@pytest.mark.parametrize(
    ("words", "suggestions"),
    [
        pytest.param("sch", ["schedule", "scheduler-perf", "scheduler"], id="command"),
        pytest.param("schedule --rul", ["--rules"], id="option"),
        pytest.param("explain --tie-rule h", ["heap"], id="value"),
    ],
)
def test_bash_receives_suggestions(words, suggestions):
    script = run("completion bash").stdout
    assert "complete -o default -F _podwright_completion podwright" in script
    line = f"podwright {words}"
    variables = {
        "_PODWRIGHT_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from podwright.cli import main; main()"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == suggestions


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(shell):
    assert "_PODWRIGHT_COMPLETE=complete_" in run(f"completion {shell}").stdout
