"""`podwright sweep`: reads the plan, runs what is missing, prints the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import typer

from podwright.cli.console import print_document, print_message, print_table, progress_bar, write
from podwright.cli.options import size_in_bytes
from podwright.cli.research.options import SweepOptions
from podwright.online.sweep import (
    SweepDataset,
    SweepFigure,
    SweepPlan,
    SweepSummary,
    load_plan,
    missing_runs,
    read_seeds,
    run_missing,
    summarize_sweep,
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
    _print(summary, options)
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


def _print(summary: SweepSummary, options: SweepOptions) -> None:
    shown = _shown(summary, options)
    if options.output in ("json", "yaml"):
        print_document(_document(summary, shown, options), options.output)
        return
    if options.output == "name":
        for name in dict.fromkeys(figure.name for figure in shown):
            write(name)
        return
    print_table(
        ["INPUT", "FIGURE", "CONFIGURATION", "RUNS", "MEAN", "±95%", "CHANGE", "±95%"],
        [_cells(figure) for figure in shown],
    )
    if not shown:
        write("No figure differs between the configurations (-o wide shows all).")
    best = _best(summary, options)
    if best is not None:
        write(f"\nBest by {best.name}: {best.configuration}")


def _shown(summary: SweepSummary, options: SweepOptions) -> list[SweepFigure]:
    if options.figures:
        wanted = tuple(options.figures)
        found = [each for each in summary.figures if each.name.startswith(wanted)]
        if not found and summary.figures:
            names = ", ".join(dict.fromkeys(each.name for each in summary.figures))
            raise typer.BadParameter(f"no run has it; there are {names}.", param_hint="'--figure'")
        return found
    if options.output != "table":
        return list(summary.figures)
    differing = {
        (each.input, each.name)
        for each in summary.figures
        if each.change is not None and (each.change.mean or each.change.margin)
    }
    return [each for each in summary.figures if (each.input, each.name) in differing]


def _best(summary: SweepSummary, options: SweepOptions) -> SweepFigure | None:
    if not options.best:
        return None
    name = options.best.removeprefix("+")
    best = summary.best(name, is_greatest=options.best.startswith("+"))
    if best is None and summary.figures:
        names = ", ".join(dict.fromkeys(each.name for each in summary.figures))
        raise typer.BadParameter(f"no run has it; there are {names}.", param_hint="'--best'")
    return best


def _cells(figure: SweepFigure) -> list[str]:
    cells = [figure.input, figure.name, figure.configuration, str(figure.runs)]
    cells += [_text(figure.value.mean, figure.unit), _text(figure.value.margin, figure.unit)]
    if figure.change is None:
        return [*cells, "", ""]
    sign = "+" if figure.change.mean > 0 else ""
    change = sign + _text(figure.change.mean, figure.unit)
    return [*cells, change, _text(figure.change.margin, figure.unit)]


def _text(value: float, unit: str) -> str:
    if unit == "share":
        return f"{100 * value:.2f}%"
    return f"{value:,.4g}s" if unit == "s" else f"{value:,.4g}"


def _document(
    summary: SweepSummary, shown: Sequence[SweepFigure], options: SweepOptions
) -> dict[str, Any]:
    best = _best(summary, options)
    return {
        "figures": [
            {
                "input": each.input,
                "configuration": each.configuration,
                "name": each.name,
                "unit": each.unit,
                "runs": each.runs,
                "value": each.value._asdict(),
                "change": None if each.change is None else each.change._asdict(),
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
        "best": None if best is None else best.configuration,
    }
