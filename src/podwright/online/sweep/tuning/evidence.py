"""The result of a tuning: a configuration, and what speaks for and against it on held-out seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from podwright._html import page, whole_table
from podwright._plots import line_style, new_figure
from podwright._private_files import replacing
from podwright.apimachinery.objects import write_yaml
from podwright.online.sweep.figures_of_run import RunFigures, configuration_of, plugins_of
from podwright.online.sweep.goals import Goal
from podwright.online.sweep.plan import SweepConfiguration, SweepPlan
from podwright.online.sweep.report_page import all_values, inline, table_of
from podwright.online.sweep.summary import SweepFigure, SweepSummary, summarize_sweep
from podwright.online.sweep.tuning.search_space import with_values
from podwright.online.sweep.tuning.tuning_plan import TuningPlan
from podwright.simulation.files import load_bytes, with_openb_gpus
from podwright.simulation.recording import PlacementDiff, Scenario, diff_scenarios
from podwright.simulation.studies import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TUNED: Final = "tuned"
_WORSE_IF_GREATER: Final = ("wait", "pending", "failed", "preemptions", "victims")
_WORSE_IF_LESS: Final = ("placed", "succeeded")


class TunedTrial(msgspec.Struct, frozen=True, rename="camel"):
    """One trial.

    Attributes
    ----------
    number : int
    values : dict of str to value
        By the name of the parameter.
    state : str
        ``complete``, ``pruned`` or ``failed``.
    means : tuple of float
        Of the goals; of the seeds that were run.
    is_allowed : bool
        Whether it satisfies the constraints.
    """

    number: int
    values: Mapping[str, Any]
    state: str
    means: tuple[float, ...]
    is_allowed: bool


class Comparison(NamedTuple):
    """The tuned configuration beside another one, by one goal, on held-out seeds.

    Attributes
    ----------
    input, other : str
    goal : Goal
    runs : int
        Pairs of runs.
    change : Interval
        The tuned value less the other one, run by run.
    """

    input: str
    other: str
    goal: Goal
    runs: int
    change: Interval

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` if zero is outside the interval; otherwise ``no difference``."""
        if not self.change.is_certain:
            return "no difference"
        return "better" if (self.change.mean > 0) == self.goal.is_greatest else "worse"


class TuningResult(NamedTuple):
    """The result of a tuning.

    Attributes
    ----------
    configuration : dict, optional
        The best KubeSchedulerConfiguration; None if no trial satisfies the constraints.
    best : int, optional
        The number of its trial.
    front : tuple of int
        With several goals, the trials that no other one excels in all of them.
    trials : tuple of TunedTrial
    goals : tuple of Goal
    held_out : SweepSummary
        All configurations of the plan and the tuned one, on seeds that no trial had.
    comparisons : tuple of Comparison
        With each configuration of the plan.
    placements : PlacementDiff, optional
        Where today's configuration and the tuned one place the pods of the dump.
    """

    configuration: dict[str, Any] | None
    best: int | None
    front: tuple[int, ...]
    trials: tuple[TunedTrial, ...]
    goals: tuple[Goal, ...]
    held_out: SweepSummary
    comparisons: tuple[Comparison, ...]
    placements: PlacementDiff | None

    @property
    def worse(self) -> tuple[SweepFigure, ...]:
        """The figures of the tuned configuration that are worse than today's."""
        return tuple(each for each in self.held_out.figures if is_worse(each))

    def document(self) -> dict[str, Any]:
        """Return the evidence as a plain document."""
        placements = self.placements
        content = {
            "best": self.best,
            "front": self.front,
            "values": {} if self.best is None else self.trials[self.best].values,
            "goals": [*map(str, self.goals)],
            "comparisons": [
                each._asdict() | {"goal": str(each.goal), "verdict": each.verdict}
                for each in self.comparisons
            ],
            "worse": [
                {"input": each.input, "name": each.name, "change": each.change}
                for each in self.worse
            ],
            "heldOut": [each._asdict() for each in self.held_out.figures],
            "placements": placements
            and {
                "pods": len(placements.placements),
                "different": len(placements.differences),
                "counts": placements.counts,
            },
            "trials": self.trials,
        }
        document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(content))
        return document

    def write(self, folder: Path) -> None:
        """Write `evidence.json` into `folder`, and `best.yaml` if a configuration was found."""
        content = msgspec.json.format(msgspec.json.encode(self.document()))
        with replacing(folder / "evidence.json") as file:
            file.write(content)
        if self.configuration is not None:
            text = write_yaml(self.configuration, sort_keys=True)
            with replacing(folder / "best.yaml") as file:
                file.write(text.encode())

    def plot(self) -> Figure:
        """Return a figure: the first goal of each trial, and the best value so far.

        Raises
        ------
        ImportError
            If Matplotlib is not installed.
        """
        figure, (panel,) = new_figure(7, 3.2, 1, 1)
        goal = self.goals[0]
        done = [each for each in self.trials if each.state == "complete"]
        for index, (is_allowed, label) in enumerate([(True, "trials"), (False, "not allowed")]):
            own = [(each.number, each.means[0]) for each in done if each.is_allowed == is_allowed]
            if own:
                style = {"color": line_style(index)["color"], "markersize": 4, "label": label}
                panel.plot(*zip(*own, strict=True), "ox"[index], **style)
        allowed = {each.number: each.means[0] for each in done if each.is_allowed}
        best = list(accumulate(allowed.values(), max if goal.is_greatest else min))
        style = line_style(2)
        panel.step([*allowed], best, where="post", label="best so far", linewidth=1, **style)
        panel.set_xlabel("trial")
        panel.set_ylabel(f"{goal.figure}, mean of the seeds of trials")
        panel.legend(fontsize=7, frameon=False)
        return figure

    def page(self, title: str) -> bytes:
        """Return a page with the plots and the numbers behind them.

        Parameters
        ----------
        title : str
            The heading of the page, and its title in a browser.

        Raises
        ------
        ImportError
            If Matplotlib is not installed.
        """
        values = {} if self.best is None else self.trials[self.best].values
        names = tuple(dict.fromkeys(goal.figure for goal in self.goals))
        shown = [each for each in self.held_out.figures if each.name in names]
        heads = ("Trial", "State", "Allowed", *map(str, self.goals), "Values")
        rows = [
            (
                each.number,
                each.state,
                "yes" if each.is_allowed else "no",
                *(f"{mean:.6g}" for mean in each.means),
                *[""] * (len(self.goals) - len(each.means)),
                msgspec.json.encode(each.values).decode(),
            )
            for each in self.trials
        ]
        parts = [
            whole_table("Best configuration", ("Parameter", "Value"), list(values.items())),
            inline(self.plot()),
            inline(self.held_out.plot(*names)) if shown else "",
            table_of("Held-out seeds", shown),
            table_of("What is worse", self.worse),
            table_of("Other figures", self.held_out.differing()),
            whole_table("Trials", heads, rows),
            all_values(self.held_out),
        ]
        return page(title, self.sentences(), parts).encode()

    def sentences(self) -> Iterator[str]:
        """Yield what the evidence says."""
        if self.best is None:
            yield "No trial satisfies the constraints."
            return
        for each in self.comparisons:
            joined = "from" if each.verdict == "no difference" else "than"
            found = f"{each.goal.figure}: {each.verdict} {joined} {each.other}"
            margin = f"±{each.change.margin:.4g}, {each.runs} held-out seeds"
            margin = margin if each.runs > 1 else "on one held-out seed"
            yield f"{each.input}, {found} ({each.change.mean:+.4g} {margin})."
        worse = ", ".join(dict.fromkeys(each.name for each in self.worse))
        yield f"It makes worse: {worse or 'nothing that was measured'}."
        if self.placements is not None:
            different, pods = len(self.placements.differences), len(self.placements.placements)
            yield f"Of {pods} pods of the dump, {different} are placed differently."


def is_worse(figure: SweepFigure) -> bool:
    """Return whether the tuned configuration is worse than today's, for certain."""
    change = figure.change
    name = figure.name
    is_compared = figure.configuration == TUNED and not name.endswith(": pods")
    if not is_compared or change is None or not change.is_certain:
        return False
    if name.startswith(_WORSE_IF_GREATER) or name.endswith(" fragmented"):
        return change.mean > 0
    return name in _WORSE_IF_LESS and change.mean < 0


def evidence_of(
    plan: TuningPlan,
    trials: Sequence[TunedTrial],
    front: Sequence[int],
    best: int | None,
    results: Sequence[RunFigures],
) -> TuningResult:
    """Return the result of trials, and of the runs on held-out seeds.

    Parameters
    ----------
    results : sequence of RunFigures
        Of the configurations of the plan, and of the best trial as ``tuned``.
    """
    tuned = [] if best is None else [plan.candidate(TUNED, dict(trials[best].values))]
    others = plan.sweep.configurations
    whole = msgspec.structs.replace(
        plan.sweep, configurations=(*others, *tuned), seeds=plan.held_out
    )
    summary = summarize_sweep(whole, results)
    configuration = placements = None
    comparisons: tuple[Comparison, ...] = ()
    if best is not None:
        configuration = with_values(plan.base, trials[best].values)
        placements = _placements(plan, others[0], tuned[0])
        comparisons = tuple(_comparisons(whole, results))
    return TuningResult(
        configuration,
        best,
        tuple(front),
        tuple(trials),
        plan.goals,
        summary,
        comparisons,
        placements,
    )


def _comparisons(plan: SweepPlan, results: Sequence[RunFigures]) -> Iterator[Comparison]:
    """Yield the differences of the last configuration, the tuned one, from each other one."""
    *others, tuned = plan.configurations
    for other in others:
        pair = msgspec.structs.replace(plan, configurations=(other, tuned))
        for figure, goal in product(summarize_sweep(pair, results).figures, plan.goals):
            if figure.name == goal.figure and figure.change is not None:
                yield Comparison(figure.input, other.name, goal, figure.runs, figure.change)


def _placements(
    plan: TuningPlan, today: SweepConfiguration, tuned: SweepConfiguration
) -> PlacementDiff | None:
    """Return where both configurations place the pods of the dump, from an empty cluster."""
    files = plan.dump or plan.sweep.inputs[0].objects
    if not files:
        return None
    loaded = load_bytes(files)
    if gpus := plan.sweep.options.openb_gpus:
        sourced = with_openb_gpus(loaded.sourced, gpus)
        loaded = msgspec.structs.replace(loaded, sourced=sourced)
    before, after = (
        Scenario(loaded.objects, configuration_of(each), plugins=plugins_of(each), reschedule=True)
        for each in (today, tuned)
    )
    return diff_scenarios(before, after)
