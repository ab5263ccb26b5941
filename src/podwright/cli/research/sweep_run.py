"""`podwright sweep`: reads the plan, runs what is missing, prints the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import msgspec
import typer

from podwright.cli.console import (
    print_data,
    print_message,
    print_table,
    progress_bar,
    write,
)
from podwright.cli.options import size_in_bytes
from podwright.cli.research.options import SweepOptions
from podwright.online.sweep import (
    Goal,
    SweepDataset,
    SweepFigure,
    SweepPlan,
    SweepSummary,
    figure_cells,
    load_plan,
    missing_runs,
    read_goal,
    read_seeds,
    run_missing,
    summarize_sweep,
    sweep_page,
    workers,
)

_FAILURES_SHOWN = 5


def run_sweep(options: SweepOptions) -> bool:
    """Run the sweep and print its summary; return whether every run has succeeded.

    Raises
    ------
    InputError
        With all mistakes of the plan.
    SweepError
        If there are no workers, or a result cannot be read.
    """
    plan = _plan(options)
    if options.report is not None:
        import_module("matplotlib")  # missing: reported now, not after the runs
    memory = size_in_bytes(options.per_run_memory) if options.per_run_memory else None
    dataset = SweepDataset(options.out)
    missing = len(missing_runs(plan, dataset, retries_failed=options.retry_failed))
    if missing:
        connection = workers(
            address=options.dask_scheduler, count=options.jobs, memory_bytes=memory
        )
        with connection as client, progress_bar("running", missing, least=1) as advance:
            print_message(f"{missing} runs; Dask's dashboard: {client.dashboard_link}")
            done = run_missing(plan, dataset, client, retries_failed=options.retry_failed)
            for count, _ in enumerate(done, 1):
                advance(count)
    summary = summarize_sweep(plan, dataset.results(plan.runs()))
    _print(summary, plan, options)
    if options.report is not None:
        names = list(dict.fromkeys(each.name for each in _shown(summary, options)))
        content = sweep_page(summary, options.plan.stem, names if options.figures else ())
        options.report.write_bytes(content)
        print_message(f"wrote {options.report}")
    for failure in summary.failed[:_FAILURES_SHOWN]:
        run = failure.run
        print_message(f"{run.input}, {run.configuration}, seed {run.seed}: {failure.error}")
    if len(summary.failed) > _FAILURES_SHOWN:
        print_message(f"and {len(summary.failed) - _FAILURES_SHOWN} more runs failed")
    return not summary.failed


def _plan(options: SweepOptions) -> SweepPlan:
    plan = load_plan(options.plan)
    if not options.seeds:
        return plan
    try:
        return msgspec.structs.replace(plan, seeds=read_seeds(options.seeds))
    except ValueError as error:
        raise typer.BadParameter(f"{error}.", param_hint="'--seeds'") from None


# ---------------------------------------------------------------- output


def _print(summary: SweepSummary, plan: SweepPlan, options: SweepOptions) -> None:
    shown = _shown(summary, options)
    best = _best(summary, [read_goal(options.best)] if options.best else plan.goals)
    names = dict.fromkeys(figure.name for figure in shown)
    if print_data(options.output, lambda: _document(summary, shown, best), names):
        return
    print_table(
        ["INPUT", "FIGURE", "CONFIGURATION", "RUNS", "MEAN", "±95%", "CHANGE", "±95%"],
        [figure_cells(figure) for figure in shown],
    )
    if not shown:
        write("No figure differs between the configurations (-o wide shows all).")
    for each in best:
        write(f"\n{_best_text(each, plan)}")


def _shown(summary: SweepSummary, options: SweepOptions) -> list[SweepFigure]:
    if options.figures:
        wanted = tuple(options.figures)
        found = [each for each in summary.figures if each.name.startswith(wanted)]
        if not found and summary.figures:
            raise _unknown(summary, "--figure")
        return found
    if options.output != "table":
        return list(summary.figures)
    return summary.differing()


def _unknown(summary: SweepSummary, name: str) -> typer.BadParameter:
    names = ", ".join(summary.names)
    return typer.BadParameter(f"no run has it; there are {names}.", param_hint=f"'{name}'")


def _best(summary: SweepSummary, goals: Sequence[Goal]) -> list[SweepFigure]:
    """Return the best configuration by each goal."""
    found = [summary.best(goal.figure, is_greatest=goal.is_greatest) for goal in goals]
    if None in found and summary.figures:
        raise _unknown(summary, "--best")
    return [each for each in found if each is not None]


def _best_text(best: SweepFigure, plan: SweepPlan) -> str:
    """Return which configuration is the best one, and whether it is for certain."""
    text = f"Best by {best.name}: {best.configuration}"
    if best.change is None or len(plan.inputs) > 1:
        return text
    first = plan.configurations[0].name
    *_, change, margin = figure_cells(best)
    more = "" if abs(best.change.mean) > best.change.margin else "; that may be chance"
    return f"{text}, {change}{margin and f' ±{margin}'} from {first}{more}"


def _document(
    summary: SweepSummary, shown: Sequence[SweepFigure], best: Sequence[SweepFigure]
) -> dict[str, Any]:
    return {
        "figures": [
            {
                "input": each.input,
                "configuration": each.configuration,
                "name": each.name,
                "unit": each.unit,
                "runs": each.runs,
                "value": each.value.document(),
                "change": None if each.change is None else each.change.document(),
            }
            for each in shown
        ],
        "failed": [
            {
                "input": each.run.input,
                "configuration": each.run.configuration,
                "seed": each.run.seed,
                "error": each.error,
            }
            for each in summary.failed
        ],
        "missing": summary.missing,
        "best": [{"figure": each.name, "configuration": each.configuration} for each in best],
    }
