"""Batches of trials, what is tuned, and what a tuning compares, without any run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest

from podwright.online.sweep.figures_of_run import RunFigures
from podwright.online.sweep.tuning import load_tuning_plan, tuning
from podwright.online.sweep.tuning.evidence import _placements
from podwright.online.sweep.tuning.tests.test_tuning import document


class Kept(tuning._Tuning):
    """A tuning whose batches are recorded, and completed unless one is the last."""

    def __init__(self, plan: Any, last: int) -> None:
        self._plan = plan
        self._storage = optuna.storages.InMemoryStorage()
        self._study = tuning._study(plan, self._storage, Path("folder/runs"))
        self._last = last
        self.decided: list[list[int]] = []
        self.told: list[int] = []

    def _decide(self, batch: Any) -> None:
        self.decided.append([trial.number for trial in batch])

    def _tell(self, trial: Any) -> None:
        if trial.number == self._last:
            raise InterruptedError
        self.told.append(trial.number)
        self._study.tell(trial, [1.0])


@pytest.mark.parametrize(
    ("batch", "last", "done", "decided"),
    [
        (2, -1, [0, 2, 4, 5], [[0, 1], [2, 3], [4]]),
        (5, -1, [0, 5], [[0, 1, 2, 3, 4]]),
        (9, -1, [0, 5], [[0, 1, 2, 3, 4]]),
        (3, 1, [0, 1, 3, 5], [[0, 1, 2], [1, 2], [3, 4]]),
        (2, 2, [0, 2, 2, 4, 5], [[0, 1], [2, 3], [2, 3], [4]]),
        (3, 4, [0, 3, 4, 5], [[0, 1, 2], [3, 4], [4]]),
    ],
)
def test_trials_are_run_in_batches_of_fixed_borders_also_after_an_interruption(
    tmp_path, batch, last, done, decided
):
    plan = load_tuning_plan(document(tmp_path, trials=5, batch=batch))
    kept = Kept(plan, last)
    found: list[int] = []
    for _ in range(2):
        try:
            found.extend(kept.batches())
        except InterruptedError:
            kept._last = -1
    assert kept.decided == decided
    assert kept.told == [0, 1, 2, 3, 4]
    assert list(dict.fromkeys(found)) == list(dict.fromkeys(done))


def test_a_trial_has_the_values_of_its_number_whatever_the_batch_is(tmp_path):
    found = []
    for batch in (1, 2, 5):
        plan = load_tuning_plan(document(tmp_path, trials=5, batch=batch, sampler="random"))
        kept = Kept(plan, -1)
        for _ in kept.batches():
            pass
        found.append([trial.params for trial in kept._study.get_trials()])
    assert found[0] == found[1] == found[2]
    names = list(document(tmp_path)["tune"]["parameters"])
    assert [list(each) for each in found[0]] == [names] * 5
    assert len({str(each) for each in found[0]}) > 1


def test_the_first_configuration_is_tuned_and_the_first_input_shows_placements(tmp_path):
    given = document(tmp_path)
    (tmp_path / "other.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "percentageOfNodesToScore: 50\n"
    )
    given["configurations"] = [
        {"name": "today"}, {"name": "half", "config": str(tmp_path / "other.yaml")},
    ]  # fmt: skip
    (tmp_path / "one.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: only}\n"
        "spec: {containers: [{name: c, image: i}]}\n"
    )
    given["inputs"].append(
        {"name": "other", "files": [str(tmp_path / "nodes.yaml"), str(tmp_path / "one.yaml")]}
    )
    plan = load_tuning_plan(given)
    assert not plan.base.get("percentageOfNodesToScore")
    assert plan.candidate("x", {}).plugins == plan.sweep.configurations[0].plugins
    today = plan.sweep.configurations[0]
    found = _placements(plan, today, plan.candidate("tuned", {}))
    assert found is not None
    assert sorted(found.placements) == [f"default/p{number}" for number in range(4)]
    assert not found.differences
    dumped = load_tuning_plan({**given, "tune": {**given["tune"], "dump": [
        str(tmp_path / "nodes.yaml"), str(tmp_path / "one.yaml")]}})  # fmt: skip
    found = _placements(dumped, today, today)
    assert found is not None
    assert sorted(found.placements) == ["default/only"]


def test_a_plan_without_files_shows_no_placements():
    plan: Any = SimpleNamespace(
        dump=(), sweep=SimpleNamespace(inputs=(SimpleNamespace(objects=()),))
    )
    nothing: Any = None
    assert _placements(plan, nothing, nothing) is None


WAIT = ("wait p99", "s", 4.0)
PLACED = ("placed", "pods", 2.0)
PENDING = ("pending: Insufficient cpu", "pods", 3.0)


@pytest.mark.parametrize(
    ("figures", "goal", "state", "mean"),
    [
        ([[WAIT], [("wait p99", "s", 8.0)]], "wait p99", "complete", 6.0),
        ([[PLACED], [PLACED, WAIT]], "wait p99", "complete", 4.0),
        ([[PLACED, WAIT], [PLACED]], "wait p99", "complete", 4.0),
        ([[PLACED], [PLACED]], "wait p99", "failed", None),
        ([[PLACED, PENDING], [PLACED]], PENDING[0], "complete", 1.5),
        ([[PLACED], [PLACED]], PENDING[0], "complete", 0.0),
    ],
)
def test_what_was_not_measured_is_not_the_least(tmp_path, figures, goal, state, mean):
    given = document(tmp_path, trials=1)
    plan = load_tuning_plan({**given, "goals": [goal], "seeds": "0,1"})
    kept = Kept(plan, -1)
    trial = kept._study.ask()
    run: Any = None
    results = [RunFigures(run, tuple(each)) for each in figures]
    assert kept._decision(trial, results[:1], 0) is None
    decision = kept._decision(trial, results, 1)
    assert decision is not None
    assert decision["state"] == state
    assert decision.get("error", "no run has wait p99") == "no run has wait p99"
    assert decision.get("means", {}).get(goal, None if mean is None else 0.0) == mean
