"""`podwright sweep`: a plan in, a comparison out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.command_line import run

from podwright.online.sweep import RunFigures, SweepDataset, load_plan

PLAN = """
inputs: [{name: small, files: [pods.yaml]}]
configurations: [{name: spread}, {name: packed}]
seeds: 0-1
"""
PODS = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i}]}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return a plan whose runs have results already."""
    (tmp_path / "pods.yaml").write_text(PODS, encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    read = load_plan(tmp_path / "plan.yaml")
    # Both configurations are the default one: one run stands for two.
    text = PLAN.replace("{name: packed}", "{name: packed, config: packed.yaml}")
    (tmp_path / "packed.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
        encoding="utf-8",
    )
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    read = load_plan(tmp_path / "plan.yaml")
    dataset = SweepDataset(tmp_path / "results")
    for each in read.runs():
        value = float(each.seed + (each.configuration == "packed"))
        figures = (("wait p99", "s", value), ("placed", "pods", 1.0))
        dataset.add(RunFigures(each, figures))
    return tmp_path / "plan.yaml"


def test_configurations_are_compared(plan: Path) -> None:
    results = plan.parent / "results"
    page = plan.parent / "report.html"
    text = run(f"sweep {plan} --out {results} --best +placed --report {page}").stdout
    assert b"wait p99" in page.read_bytes()
    assert "wait p99" in text
    assert "+1s" in text
    assert "  placed  " not in text, "it does not differ"
    assert "Best by placed: spread" in text
    assert run(f"sweep {plan} --out {results} -o name").stdout == "wait p99\nplaced\n"
    document = json.loads(run(f"sweep {plan} --out {results} -o json --best placed").stdout)
    assert document["best"] == [{"figure": "placed", "configuration": "spread"}]
    assert document["missing"] == 0
    assert len(document["figures"]) == 4


def test_failed_runs_are_exit_status_1(plan: Path) -> None:
    dataset = SweepDataset(plan.parent / "results")
    first = next(load_plan(plan).runs())
    dataset.add(RunFigures(first, (), "no such file"))
    result = run(f"sweep {plan} --out {dataset.folder}", status=1)
    assert "small, spread, seed 0: no such file" in result.stderr
    for each in load_plan(plan).runs():
        dataset.add(RunFigures(each, (), "no such file"))
    stdout = run(f"sweep {plan} --out {dataset.folder}", status=1).stdout
    assert stdout.splitlines()[1:] == ["No run has succeeded."]


def test_the_figures_of_one_configuration_are_all_shown(plan: Path) -> None:
    text = plan.read_text(encoding="utf-8").replace(", {name: packed, config: packed.yaml}", "")
    plan.write_text(text, encoding="utf-8")
    stdout = run(f"sweep {plan} --out {plan.parent / 'results'}").stdout
    assert [line.split()[1] for line in stdout.splitlines()[1:]] == ["wait", "placed"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--seeds x", "must be seeds, such as 0-9 or 1,5,7"),
        ("--best wait", "--best: no run has wait; there are wait p99, placed"),
        ("--figure cpu", "--figure: no run has cpu; there are wait p99, placed"),
        ("--per-run-memory lots", '"lots" is not a size'),
        ("--dask-scheduler tcp://127.0.0.1:1 -j 2", "the workers are those of the scheduler"),
    ],
)
def test_wrong_options_are_named(plan: Path, options: str, message: str) -> None:
    line = f"sweep {plan} --out {plan.parent / 'results'} {options}"
    assert message in run(line, status=2).stderr


def test_a_goal_of_the_plan_that_no_run_has_is_named(plan: Path) -> None:
    plan.write_text(f"{plan.read_text(encoding='utf-8')}goals: [wait]\n", encoding="utf-8")
    stderr = run(f"sweep {plan} --out {plan.parent / 'results'}", status=2).stderr
    assert "goals: no run has wait; there are wait p99, placed" in stderr


def test_a_wrong_plan_is_named(plan: Path) -> None:
    plan.write_text(PLAN.replace("seeds: 0-1", "seds: 0-1"), encoding="utf-8")
    stderr = run(f"sweep {plan} --out {plan.parent / 'results'}", status=2).stderr
    assert 'plan.yaml: seds: unknown field "seds"; did you mean "seeds"?' in stderr
