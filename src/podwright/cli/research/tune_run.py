"""`podwright tune`: reads the plan, runs the trials, prints the evidence."""

from __future__ import annotations

from importlib import import_module

import msgspec

from podwright.cli.console import print_data, print_message, print_table, write
from podwright.cli.options import size_in_bytes
from podwright.cli.research.options import TuneOptions
from podwright.online.sweep import TuningResult, figure_cells, load_tuning_plan, tune


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
    if options.report is not None:
        import_module("matplotlib")
    memory = size_in_bytes(options.per_run_memory) if options.per_run_memory else None
    result = tune(
        plan,
        options.out,
        address=options.dask_scheduler,
        worker_count=options.jobs,
        memory_bytes=memory,
    )
    _print(result, options)
    if options.report is not None:
        options.report.write_bytes(result.page(options.plan.stem))
        print_message(f"wrote {options.report}")
    for failure in result.held_out.failed[:1]:
        run = failure.run
        print_message(f"{run.input}, {run.configuration}, seed {run.seed}: {failure.error}")
    if result.best is not None:
        print_message(f"wrote {options.out / 'best.yaml'} and evidence.json")
    today = plan.sweep.configurations[0].name
    return any(each.verdict == "better" for each in result.comparisons if each.other == today)


def _print(result: TuningResult, options: TuneOptions) -> None:
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
        shown = figures if options.output == "wide" else [f for f in figures if f.name in names]
        print_table(
            ["INPUT", "FIGURE", "CONFIGURATION", "RUNS", "MEAN", "±95%", "CHANGE", "±95%"],
            [figure_cells(each) for each in shown],
        )
        write("")
    for sentence in result.sentences():
        write(sentence)
