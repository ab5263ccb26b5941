"""`podwright sweep` and `tune`: read the plan, run what is missing, print what was found."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import typer

from podwright import _show_call
from podwright._progress import set_display
from podwright.cli.console import (
    print_data,
    print_message,
    print_table,
    print_warnings,
    write,
    write_file,
)
from podwright.cli.options import reject_idle, size_in_bytes
from podwright.cli.process_exit import BY_SIGNAL
from podwright.cli.research.options import PlanOptions, SweepOptions, TuneOptions, option_seeds
from podwright.online.sweep import (
    FIGURE_HEADS,
    RunFigures,
    SweepError,
    SweepFigure,
    SweepPlan,
    SweepSummary,
    TuningResult,
    figure_cells,
    load_plan,
    load_tuning_plan,
    read_goal,
    sweep,
    sweep_page,
    tune,
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
    plan = load_plan(options.plan)
    if options.seeds:
        plan = msgspec.structs.replace(plan, seeds=option_seeds(options.seeds))
    workers = _workers(options)
    with _resumable(options.out):
        summary = sweep(plan, options.out, retries_failed=options.retry_failed, **workers)
    shown = _shown(summary, options)
    _print_sweep(summary, shown, plan, options)
    if options.report is not None:
        names = list(dict.fromkeys(each.name for each in shown)) if options.figures else ()
        _report(options.report, sweep_page(summary, options.plan.stem, names))
    print_warnings(summary.warnings)
    _print_failures(summary.failed)
    return not summary.failed


def run_tune(options: TuneOptions) -> bool:
    """Tune and print the evidence; return whether the result is better than today's.

    Raises
    ------
    InputError
        With all mistakes of the plan.
    SweepError
        If there are no workers, or the folder has another tuning.
    """
    import_module("optuna")  # missing: reported now, not after the plan is read
    plan = load_tuning_plan(options.plan)
    if options.trials:
        plan = msgspec.structs.replace(plan, trials=options.trials)
    workers = _workers(options)
    with _resumable(options.out):
        result = tune(plan, options.out, **workers)
    _print_tuning(result, options)
    if options.report is not None:
        _report(options.report, result.page(options.plan.stem))
    print_warnings(result.held_out.warnings)
    _print_failures(result.held_out.failed)
    if result.best is not None:
        print_message(f"wrote {options.out / 'best.yaml'} and evidence.json")
    today = plan.sweep.configurations[0].name
    return any(each.verdict == "better" for each in result.comparisons if each.other == today)


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """Close Dask's processes after SIGINT and SIGTERM, and print how to continue.

    Batch systems send SIGTERM at the end of a job's time.

    Raises
    ------
    typer.Exit
        With the status of the signal.
    """
    ended_by: int = signal.SIGINT

    def end(number: int, _: object) -> NoReturn:
        nonlocal ended_by
        ended_by = number
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        print_message(
            f"interrupted; {folder} keeps what is finished: repeat the command to continue"
        )
        raise typer.Exit(BY_SIGNAL + ended_by) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _workers(options: PlanOptions) -> dict[str, Any]:
    """Return the workers that the options select, and show how far they are."""
    if options.report is not None:
        import_module("matplotlib")  # missing: reported now, not after the runs
    for name in ("jobs", "per_run_memory"):
        if options.dask_scheduler and name in options.given:
            why = "the workers are those of the scheduler"
            reject_idle(f"--{name.replace('_', '-')}", "with --dask-scheduler", why)
    set_display(_show_call)
    return {
        "address": options.dask_scheduler,
        "worker_count": options.jobs,
        "memory_bytes": size_in_bytes(options.per_run_memory) if options.per_run_memory else None,
        "announce": print_message,
    }


# ---------------------------------------------------------------- output


def _print_sweep(
    summary: SweepSummary, shown: Sequence[SweepFigure], plan: SweepPlan, options: SweepOptions
) -> None:
    goals = [read_goal(options.best)] if options.best else plan.goals
    found = [summary.best(goal.figure, is_greatest=goal.is_greatest) for goal in goals]
    for goal, figure in zip(goals, found, strict=True):
        if figure is None and summary.figures:
            raise _unknown(summary, "--best" if options.best else "goals", goal.figure)
    best = [each for each in found if each is not None]

    def document() -> dict[str, Any]:
        return {
            "figures": [each._asdict() for each in shown],
            "failed": [each.run._asdict() | {"error": each.error} for each in summary.failed],
            "missing": summary.missing,
            "warnings": list(summary.warnings),
            "best": [{"figure": each.name, "configuration": each.configuration} for each in best],
        }

    if print_data(options.output, document, dict.fromkeys(figure.name for figure in shown)):
        return
    _print_figures(shown)
    if not shown:
        nothing = "No figure differs between the configurations (-o wide shows all)."
        write(nothing if summary.figures else "No run has succeeded.")
    for each in best:
        write(f"\n{_best_text(each, plan)}")


def _shown(summary: SweepSummary, options: SweepOptions) -> Sequence[SweepFigure]:
    if not options.figures:
        several = len({each.configuration for each in summary.figures}) > 1
        return summary.differing() if several and options.output == "table" else summary.figures
    found = [each for each in summary.figures if each.name.startswith(options.figures)]
    if not found and summary.figures:
        raise _unknown(summary, "--figure", " or ".join(options.figures))
    return found


def _unknown(summary: SweepSummary, where: str, name: str) -> SweepError:
    return SweepError(f"{where}: no run has {name}; there are {', '.join(summary.names)}")


def _best_text(best: SweepFigure, plan: SweepPlan) -> str:
    """Return which configuration is the best one, and whether it is for certain."""
    text = f"Best by {best.name}: {best.configuration}"
    if best.change is None or len(plan.inputs) > 1:
        return text
    first = plan.configurations[0].name
    *_, change, margin = figure_cells(best)
    more = "" if best.change.is_certain else "; that may be chance"
    return f"{text}, {change}{margin and f' ±{margin}'} from {first}{more}"


def _print_tuning(result: TuningResult, options: TuneOptions) -> None:
    best = [] if result.best is None else [f"trial/{result.best}"]
    if print_data(options.output, result.document, best):
        return
    if result.best is not None:
        values = result.trials[result.best].values
        rows = [[name, msgspec.json.encode(value).decode()] for name, value in values.items()]
        print_table(["PARAMETER", "VALUE"], rows)
        write("")
        names = {goal.figure for goal in result.goals}
        figures = result.held_out.figures
        is_wide = options.output == "wide"
        _print_figures([each for each in figures if is_wide or each.name in names])
        write("")
    for sentence in result.sentences():
        write(sentence)


def _print_figures(figures: Sequence[SweepFigure]) -> None:
    print_table([head.upper() for head in FIGURE_HEADS], [figure_cells(each) for each in figures])


def _print_failures(failed: Sequence[RunFigures]) -> None:
    for run, _, error, _ in failed[:_FAILURES_SHOWN]:
        print_message(f"{run.input}, {run.configuration}, seed {run.seed}: {error}")
    if len(failed) > _FAILURES_SHOWN:
        print_message(f"and {len(failed) - _FAILURES_SHOWN} more runs failed")


def _report(path: Path, page: bytes) -> None:
    write_file(path, page)
    print_message(f"wrote {path}")
