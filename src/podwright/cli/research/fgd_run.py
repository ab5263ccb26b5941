"""`podwright study fgd`: runs the policies on workers, prints the table, writes the figures."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from io import StringIO
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import typer

from podwright._plots import picture
from podwright.apimachinery.objects import ArgumentError, Pod
from podwright.cli.console import (
    print_data,
    print_document,
    print_message,
    print_table,
    progress_bar,
    write,
    write_file,
)
from podwright.cli.file_reading import read_text
from podwright.cli.research.options import FgdOptions, option_seeds, wrong
from podwright.scheduler.framework import TieRule
from podwright.simulation.files import load_bytes, read_paths
from podwright.simulation.studies import (
    POLICIES,
    REPORTED_PCT,
    FgdMeans,
    FgdResult,
    FgdRun,
    FgdTable,
    FgdTrace,
    Interval,
    fgd_configuration,
    read_published,
    run_fgd,
    summarize_fgd,
)

_MISSING = "<none>"
_Task: TypeAlias = tuple[str, Callable[[FgdTrace], FgdRun]]
"""The name of the pod list, and the run."""


def run_fgd_study(options: FgdOptions) -> None:
    """Run the study and print its table.

    Raises
    ------
    BadParameter
        If an option or the trace is not valid.
    """
    traces = _traces(dict(read_paths(options.files)))
    policies = _policies(options.policies)
    if options.print_config:
        _print_config(traces, policies)
        return
    path = options.published
    published = None if path is None else read_published(read_text(path), str(path))
    if options.out is not None:
        import_module("matplotlib")  # missing: reported now, not after the runs
        options.out.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {
        "tuning_ratio": options.tuning_ratio,
        "inflation_ratio": options.inflation_ratio,
        "tie_rule": TieRule(options.tie_rule),
    }
    tasks: list[_Task] = [
        (workload, partial(run_fgd, policy=policy, seed=seed, **settings))
        for workload in traces
        for policy in policies
        for seed in option_seeds(options.seeds)
    ]
    jobs = min(options.jobs or os.cpu_count() or 1, len(tasks))
    runs: list[tuple[str, FgdRun]] = []
    with progress_bar("running policies", len(tasks), least=1) as advance:
        for done in _results(tasks, traces, jobs):
            runs.append(done)
            advance(len(runs))
    table = summarize_fgd(runs, published)
    _print(table, options.output)
    if options.out is not None:
        _write(table, options.out)


# ---------------------------------------------------------------- what is run


def _traces(sources: Mapping[str, bytes]) -> dict[str, FgdTrace]:
    """Return the trace of each pod list: its pods, and all nodes."""
    loaded = {each[0]: load_bytes([each]).objects for each in sources.items()}
    lists = [name for name, objects in loaded.items() if any(isinstance(o, Pod) for o in objects)]
    nodes = [each for name, objects in loaded.items() if name not in lists for each in objects]
    traces: dict[str, FgdTrace] = {}
    for name in lists:
        workload = Path(name).name.split(".")[0]
        if workload in traces:
            raise typer.BadParameter("two lists of pods have the same name.", param_hint="FILE")
        try:
            traces[workload] = FgdTrace.of([*nodes, *loaded[name]])
        except ArgumentError as error:
            raise typer.BadParameter(f"{workload}: {error}.", param_hint="FILE") from None
    if not traces:
        raise typer.BadParameter("there is no list of pods among the files.", param_hint="FILE")
    return traces


def _policies(given: Sequence[str]) -> list[str]:
    found = {text: [name for name in POLICIES if text.lower() in name.lower()] for text in given}
    for text, names in found.items():
        if not names:
            raise wrong("--only", f"{text!r} is none of {', '.join(POLICIES)}.")
    return list(dict.fromkeys(chain(*found.values()))) or list(POLICIES)


# ---------------------------------------------------------------- running


def _results(
    tasks: Sequence[_Task], traces: Mapping[str, FgdTrace], jobs: int
) -> Iterator[tuple[str, FgdRun]]:
    """Yield the runs as they end, each with the name of its pod list."""
    if jobs == 1:
        yield from ((workload, run(traces[workload])) for workload, run in tasks)
        return
    from podwright.online.sweep import in_flight, workers

    with workers(count=jobs) as client:
        # A tuple would be scattered part by part.
        sent = client.scatter(dict(traces), broadcast=True, hash=False)

        def submit(task: _Task) -> Any:
            workload, run = task
            return client.submit(run, sent[workload], pure=False)

        for (workload, _), future in in_flight(client, tasks, submit):
            yield workload, future.result()


# ---------------------------------------------------------------- output


def _print_config(traces: Mapping[str, FgdTrace], policies: Sequence[str]) -> None:
    """Print the configuration of one policy, with the typical pods of one list."""
    if len(traces) != 1 or len(policies) != 1:
        counts = f"{len(traces)} and {len(policies)}"
        raise wrong("--print-config", f"needs one list of pods and one --only, not {counts}.")
    (trace,) = traces.values()
    print_document(fgd_configuration(POLICIES[policies[0]], trace.typical), "yaml")


def _print(table: FgdTable, output: str) -> None:
    names = (f"{result.workload}/{result.policy}" for result in table.results)
    if print_data(output, lambda: _document(table), names):
        return
    is_wide = output == "wide"
    heads = ["WORKLOAD", "POLICY", "RUNS"]
    for percent in REPORTED_PCT:
        heads += [f"AT {percent}%", "±95%", "PUBLISHED", "DIFFERENCE"]
    if is_wide:
        heads += ["DEVIATION", "FRAGMENTS", "OF FREE", "FAILED PODS"]
    rows = []
    for result in table.results:
        row = [result.workload, result.policy, str(len(result.runs))]
        for percent in REPORTED_PCT:
            row += _cells(result.means.get(percent))
        if is_wide:
            row += _wide_cells(result)
        rows.append(row)
    print_table(heads, rows)
    if any(run.inflated is not None for result in table.results for run in result.runs):
        write("")
        print_table(
            ["WORKLOAD", "POLICY", "INFLATED", "±95%", "FRAGMENTS"],
            [_inflated_cells(result) for result in table.results],
        )
    greatest = table.greatest_difference
    if greatest is None:
        write("\nNo published means are known for these pod lists.")
    else:
        write(f"\nThe greatest difference from a published mean is {greatest:.2f} points.")


def _cells(means: FgdMeans | None) -> list[str]:
    if means is None:
        return [_MISSING] * 4
    mean = means.allocated_pct
    numbers = map(_number, (mean.mean, mean.margin, means.published_pct))
    return [*numbers, _number(means.difference, "+.2f")]


def _number(value: float | None, form: str = ".2f") -> str:
    return _MISSING if value is None or not isfinite(value) else format(value, form)


def _wide_cells(result: FgdResult) -> list[str]:
    cells = [_MISSING] * 3
    if means := result.means.get(REPORTED_PCT[0]):
        fragments = means.fragment_pct.mean, means.fragment_ratio_pct.mean
        cells = [*map(_number, (means.allocated_pct.deviation, *fragments))]
    return [*cells, f"{Interval.of([run.failed for run in result.runs]).mean:.0f}"]


def _inflated_cells(result: FgdResult) -> list[str]:
    measures = [run.inflated for run in result.runs if run.inflated is not None]
    allocated, fragment, _ = map(Interval.of, zip(*measures, strict=True))
    numbers = map(_number, (allocated.mean, allocated.margin, fragment.mean))
    return [result.workload, result.policy, *numbers]


def _document(table: FgdTable) -> dict[str, Any]:
    """Return the table as plain data."""
    names = ("allocatedPct", "fragmentPct", "fragmentRatioPct")
    results = [
        {
            "workload": result.workload,
            "policy": result.policy,
            "arrivedPct": result.means,
            "runs": [
                {
                    "seed": run.seed,
                    "failedPods": run.failed,
                    "inflated": run.inflated and dict(zip(names, run.inflated, strict=True)),
                }
                for run in result.runs
            ],
        }
        for result in table.results
    ]
    return {"results": results, "greatestDifference": table.greatest_difference}


def _write(table: FgdTable, folder: Path) -> None:
    """Write the table, the series of all runs, and a figure for each pod list."""
    document = msgspec.json.format(msgspec.json.encode(_document(table)))
    write_file(folder / "table.json", document)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ("allocated_pct", "fragment_pct", "fragment_ratio_pct")
    writer.writerow(["workload", "policy", "seed", "arrived_pct", *columns])
    for result in table.results:
        for run in result.runs:
            for percent in range(int(run.arrived_pct.max(initial=0)) + 1):
                measure = run.at(percent)
                if measure is not None:
                    values = [f"{value:.4f}" for value in measure]
                    writer.writerow([result.workload, run.policy, run.seed, percent, *values])
    write_file(folder / "series.csv", text.getvalue().encode())
    for workload in table.workloads:
        write_file(folder / f"{workload}.svg", picture(table.plot(workload)))
    print_message(f"wrote table.json, series.csv and {len(table.workloads)} SVG files to {folder}")
