"""Tunes a configuration: Optuna proposes trials, whose runs are those of a sweep.

Theory of operation. Trials are started in batches of a fixed size. A batch has its runs seed by
seed, on all inputs; after each seed, the means so far decide which of its trials are pruned. Only
then are the results of the batch reported to the study. The sampler of a trial is seeded by the
number of the trial. So a tuning is a pure function of its plan, whatever the workers are: one that
was killed repeats the decisions of the batch that it was in, with the results of the runs that are
in the data set, and continues as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from warnings import catch_warnings

import msgspec

from podwright._progress import metered
from podwright.online.sweep.dataset import SweepDataset, SweepError
from podwright.online.sweep.execution import run_missing, workers
from podwright.online.sweep.figures_of_run import RunFigures
from podwright.online.sweep.plan import SweepConfiguration
from podwright.online.sweep.summary import is_count
from podwright.online.sweep.tuning.evidence import TUNED, TunedTrial, TuningResult, evidence_of
from podwright.online.sweep.tuning.tuning_plan import TuningPlan, load_tuning_plan

if TYPE_CHECKING:
    from distributed import Client
    from optuna import Study, Trial
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage

_NAME: Final = "podwright"
_DIGEST: Final = "plan"
_DECISION: Final = "decision"
"""What becomes of a trial: complete, pruned or failed; set for a batch before it is reported."""


def tune(
    plan: TuningPlan | str | PathLike[str] | Mapping[str, Any],
    output: str | PathLike[str],
    *,
    address: str = "",
    worker_count: int = 0,
    memory_bytes: int | None = None,
    progress: bool | None = None,
    announce: Callable[[str], object] = lambda _: None,
) -> TuningResult:
    """Tune a configuration, and compare the result with the one of today on held-out seeds.

    Parameters
    ----------
    plan : TuningPlan, path or dict
        A plan, its file, or its document.
    output : path
        The folder of the trials and runs. A tuning that was interrupted continues there.
    address, worker_count, memory_bytes
        As for `sweep`.
    progress : bool, optional
        Whether to show the progress; by default in terminals and notebooks, if it takes long.
    announce : callable
        Receives a sentence before the trials, with the address of Dask's dashboard.

    Raises
    ------
    InputError
        With all mistakes of the plan.
    SweepError
        If there are no workers, the folder has another tuning, or it cannot be written.
    """
    complete = plan if isinstance(plan, TuningPlan) else load_tuning_plan(plan)
    folder = Path(output)
    dataset = SweepDataset(folder / "runs")
    path = folder / "tuning.db"
    with _writing(path):
        storage = _storage(path)
    connection = workers(address=address, count=worker_count, memory_bytes=memory_bytes)
    meters = metered("tuning", complete.trials, is_shown=progress)
    with connection as client, meters as meter, _writing(path):
        announce(f"{complete.trials} trials; Dask's dashboard: {client.dashboard_link}")
        tuning = _Tuning(complete, storage, dataset, client)
        tuning.check_figures()
        for done in tuning.batches():
            meter.advance(done)
        result = tuning.result()
    result.write(folder)
    return result


class _Tuning:
    """A tuning on connected workers."""

    def __init__(
        self, plan: TuningPlan, storage: BaseStorage, dataset: SweepDataset, client: Client
    ) -> None:
        self._plan = plan
        self._storage = storage
        self._study = _study(plan, storage, dataset.folder)
        self._dataset = dataset
        self._client = client
        self._sent: dict[str, Any] = {}

    def check_figures(self) -> None:
        """Check that the configuration of today runs, and has the figures of the goals."""
        plan = self._plan
        results = self._run([plan.sweep.configurations[0]], plan.sweep.seeds[:1])
        for result in results:
            if result.error:
                raise SweepError(f"{result.run.configuration} cannot be run: {result.error}")
        names = dict.fromkeys(name for result in results for name, _, _ in result.figures)
        for name in _figures(plan):
            if not is_count(name) and name not in names:
                raise SweepError(f"goals: no run has {name}; there are {', '.join(names)}")

    def batches(self) -> Iterator[int]:
        """Run the trials that are missing; yield how many are done after each batch."""
        from optuna.trial import Trial

        while True:
            trials = self._study.get_trials(deepcopy=False)
            # Those of a batch that was interrupted.
            started = [each.number for each in trials if not each.state.is_finished()]
            done = len(trials) - len(started)
            yield done
            end = min((done // self._plan.batch + 1) * self._plan.batch, self._plan.trials)
            batch = []
            for number in (*started, *range(len(trials), end)):
                self._study.sampler = _sampler(self._plan, number)
                if number < len(trials):
                    batch.append(Trial(self._study, self._id_of(number)))
                else:
                    batch.append(self._study.ask())
                self._values(batch[-1])
            if not batch:
                return
            self._decide(batch)
            for trial in batch:
                self._tell(trial)

    def _id_of(self, number: int) -> int:
        study = self._storage.get_study_id_from_name(_NAME)
        return self._storage.get_trial_id_from_study_id_trial_number(study, number)

    def _decide(self, batch: Sequence[Trial]) -> None:
        """Run a batch seed by seed, and set what becomes of each of its trials."""
        active = {
            f"trial {trial.number}": trial for trial in batch if _DECISION not in trial.user_attrs
        }
        candidates = {
            name: self._plan.candidate(name, self._values(trial)) for name, trial in active.items()
        }
        found: dict[str, list[RunFigures]] = {name: [] for name in active}
        decided: list[tuple[Trial, dict[str, Any]]] = []
        for step, seed in enumerate(self._plan.sweep.seeds):
            for result in self._run([candidates[name] for name in active], [seed]):
                found[result.run.configuration].append(result)
            for name, trial in list(active.items()):
                decision = self._decision(trial, found[name], step)
                if decision is not None:
                    decided.append((active.pop(name), decision))
        for trial, decision in decided:
            trial.set_user_attr(_DECISION, decision)

    def _decision(
        self, trial: Trial, results: Sequence[RunFigures], step: int
    ) -> dict[str, Any] | None:
        """Return what becomes of a trial after the runs of a seed; None if it goes on."""
        error = next((each.error for each in results if each.error), "")
        if error:
            return {"state": "failed", "error": error}
        means = _means(results)
        if step == len(self._plan.sweep.seeds) - 1:
            for name in _figures(self._plan):
                if not is_count(name) and name not in means:
                    return {"state": "failed", "error": f"no run has {name}"}
            return {"state": "complete", "means": means}
        first = self._plan.goals[0].figure
        if len(self._plan.goals) > 1 or not (first in means or is_count(first)):
            return None
        # One that is continued has reported this value before.
        with catch_warnings(action="ignore"):
            trial.report(means.get(first, 0.0), step)
        return {"state": "pruned", "means": means} if trial.should_prune() else None

    def _tell(self, trial: Trial) -> None:
        from optuna.trial import TrialState

        decision = trial.user_attrs[_DECISION]
        if decision["state"] != "complete":
            states = {"pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
            self._study.tell(trial, state=states[decision["state"]])
            return
        means = decision["means"]
        with catch_warnings(action="ignore"):
            for each in self._plan.constraints:
                trial.set_constraint(str(each), each.excess(means.get(each.figure, 0.0)))
        self._study.tell(trial, [means.get(goal.figure, 0.0) for goal in self._plan.goals])

    def _values(self, trial: Trial) -> dict[str, Any]:
        return {each.name: each.suggest(trial) for each in self._plan.parameters}

    def _run(
        self, configurations: Sequence[SweepConfiguration], seeds: Sequence[int]
    ) -> list[RunFigures]:
        """Run configurations on all inputs."""
        plan = msgspec.structs.replace(
            self._plan.sweep, configurations=tuple(configurations), seeds=tuple(seeds)
        )
        for _ in run_missing(plan, self._dataset, self._client, sent=self._sent):
            pass
        for each in configurations:
            self._sent.pop(each.digest, None)
        return self._dataset.results(plan.runs())

    def result(self) -> TuningResult:
        """Return the result: the best trials on held-out seeds, beside all other configurations."""
        plan = self._plan
        trials = tuple(_trial(plan, each) for each in self._study.get_trials(deepcopy=False))
        front = sorted(each.number for each in self._study.best_trials)
        front = front[:1] if len(plan.goals) == 1 else front
        sign = -1 if plan.goals[0].is_greatest else 1
        best = min(front, key=lambda number: (sign * trials[number].means[0], number), default=None)
        tuned = [] if best is None else [plan.candidate(TUNED, dict(trials[best].values))]
        results = self._run((*plan.sweep.configurations, *tuned), plan.held_out)
        return evidence_of(plan, trials, front, best, results)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise what a database of trials cannot do, such as on a full disk, as a `SweepError`."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import DatabaseError

    try:
        yield
    except (DatabaseError, StorageInternalError) as error:
        cause = error if isinstance(error, DatabaseError) else error.__cause__ or error
        raise SweepError(
            f"{path} cannot be read or written: {getattr(cause, 'orig', None) or cause};"
            " finished runs have been kept"
        ) from error


def _storage(path: Path) -> BaseStorage:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.storages.RDBStorage(f"sqlite:///{path}")


def _study(plan: TuningPlan, storage: BaseStorage, folder: Path) -> Study:
    """Return the study of a folder.

    Raises
    ------
    SweepError
        If it is that of another plan.
    """
    import optuna

    pruners: dict[str | None, Callable[[], BasePruner]] = {
        "median": optuna.pruners.MedianPruner,
        "halving": optuna.pruners.SuccessiveHalvingPruner,
        "none": optuna.pruners.NopPruner,
    }
    study = optuna.create_study(
        storage=storage,
        study_name=_NAME,
        load_if_exists=True,
        pruner=pruners[plan.pruner](),
        directions=["maximize" if goal.is_greatest else "minimize" for goal in plan.goals],
    )
    known = study.user_attrs.get(_DIGEST)
    if known is None:
        study.set_user_attr(_DIGEST, plan.digest)
    elif known != plan.digest:
        raise SweepError(
            f"{folder.parent} has the tuning of another plan: only the number of trials, the"
            " held-out seeds and the dump may change; name another folder"
        )
    return study


def _sampler(plan: TuningPlan, number: int) -> BaseSampler:
    from optuna import samplers

    kinds: dict[str, Callable[..., BaseSampler]] = {
        "tpe": samplers.TPESampler,
        "nsga2": samplers.NSGAIISampler,
        "random": samplers.RandomSampler,
    }
    return kinds[plan.sampler](seed=(plan.seed * 1_000_003 + number) % 2**32)


def _figures(plan: TuningPlan) -> list[str]:
    """Return the figures of goals and constraints."""
    goals, constraints = plan.goals, plan.constraints
    return [each.figure for each in goals] + [each.figure for each in constraints]


def _means(results: Sequence[RunFigures]) -> dict[str, float]:
    """Return the means over the runs that have a figure; a count is 0 in a run that lacks it.

    The wait of pods that were not placed is not 0, which would be the best one.
    """
    found: dict[str, list[float]] = {}
    for result in results:
        for name, _, value in result.figures:
            found.setdefault(name, []).append(value)
    return {
        name: sum(values) / len(results if is_count(name) else values)
        for name, values in found.items()
    }


def _trial(plan: TuningPlan, trial: Any) -> TunedTrial:
    decision = trial.user_attrs.get(_DECISION, {"state": "failed"})
    means = decision.get("means", {})
    values = {}
    for each in plan.parameters:
        if each.name in trial.params:
            values[each.name] = each.value_of(trial.params[each.name])
    return TunedTrial(
        trial.number,
        values,
        decision["state"],
        tuple(means.get(goal.figure, 0.0) for goal in plan.goals) if means else (),
        all(each.excess(means.get(each.figure, 0.0)) <= 0 for each in plan.constraints),
    )
