"""The options of `podwright study`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import typer

from podwright.cli.options import Format, Options, argument, option, output_option


def wrong(name: str, message: str) -> typer.BadParameter:
    """Return the error of the option `name`."""
    return typer.BadParameter(message, param_hint=f"'{name}'")


def option_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of the option `--seeds`, such as 0-9 or 1,5,7."""
    from podwright.online.sweep import read_seeds

    try:
        return read_seeds(text)
    except ValueError as error:
        raise wrong("--seeds", f"{error}.") from None


class FgdOptions(Options):
    """The options of `podwright study fgd`."""

    files: tuple[str, ...] = argument(
        "Tables of the openb trace: one of nodes, and each list of pods that is to be studied;"
        " other files that commands read.",
        "FILE",
    )
    policies: tuple[str, ...] = option(
        "A policy, such as 06-FGD, or a part of its name. All by default.",
        "POLICY",
        "--only",
        default=(),
    )
    seeds: str = option("The seeds, such as 42-51 or 1,5,7.", "SEEDS", default="42-51")
    tuning_ratio: float = option(
        "How much the pods request, as a multiple of all GPUs: pods are removed from the list, or"
        " repeated. 0: the list as it is.",
        "RATIO",
        default=1.3,
    )
    inflation_ratio: float | None = option(
        "Measure again with so many pods, as a multiple of the list.", "RATIO", default=None
    )
    tie_rule: Literal["first", "drawn"] = option(
        "The choice among equal nodes. first: the smallest name, which is random, as in the"
        " published runs; drawn: a draw, as in kube-scheduler.",
        default="first",
    )
    published: Path | None = option(
        "Other published means: CSV with the columns workload, policy, alloc_mean_100 and"
        " alloc_mean_130.",
        "FILE",
        default=None,
        exists=True,
        dir_okay=False,
    )
    jobs: int = option("Processes. 0: as many as processors.", "N", "-j", default=0, min=0)
    out: Path | None = option(
        "A folder for the figures, the table and the series of each run.",
        "FOLDER",
        default=None,
        file_okay=False,
    )
    print_config: bool = option(
        "Print the scheduler configuration of the one policy for these pods, and run nothing.",
        default=False,
    )
    output: Format = output_option("pod lists and policies")


class PlanOptions(Options):
    """The options of commands that execute a plan."""

    plan: Path = argument(
        "The plan: YAML, JSON, or Python with a function plan().",
        "PLAN",
        exists=True,
        dir_okay=False,
    )
    dask_scheduler: str = option(
        "Run on the workers of this Dask scheduler, such as tcp://10.0.0.1:8786.",
        "ADDRESS",
        default="",
    )
    jobs: int = option(
        "Processes of this machine. 0: as many as processors.", "N", "-j", default=0, min=0
    )
    per_run_memory: str = option(
        "The memory of a process, such as 2Gi. One that needs more is restarted.",
        "SIZE",
        default="",
    )
    report: Path | None = option(
        "Write a page with plots and the numbers behind them.",
        "FILE",
        default=None,
        dir_okay=False,
        is_written=True,
    )


class SweepOptions(PlanOptions):
    """The options of `podwright sweep`."""

    out: Path = option(
        "The folder of the results. Runs that have a result there are not repeated.",
        "FOLDER",
        file_okay=False,
    )
    seeds: str = option(
        "Use these seeds, such as 0-99, instead of those of the plan.", "SEEDS", default=""
    )
    retry_failed: bool = option("Repeat the runs that failed.", default=False)
    figures: tuple[str, ...] = option(
        "A figure to show, such as 'wait p99', or the start of its name. By default, the figures"
        " that differ are shown.",
        "FIGURE",
        "--figure",
        default=(),
    )
    best: str = option(
        "Print the configuration with the lowest mean of a figure; +FIGURE: with the highest. The"
        " default is to go by the goals of the plan.",
        "FIGURE",
        default="",
    )
    output: Format = output_option("the figures")


class TraceInput(Options):
    """How the files of traces are read."""

    columns: str = option(
        "The columns of a table that is not of openb: a shipped name (alibaba-2018,"
        " alibaba-gpu-2020, azure-packing-2020, google-2019, helios, philly) or a file.",
        "FILE",
        default="",
    )
    sort: bool = option(
        "The rows of the table are not in the order of arrival: read all of them first.",
        default=False,
    )


class TraceFile(TraceInput):
    """The trace that a command reads."""

    file: str = argument(
        "An openb table, a manifest, a SimKube trace, events, or with --columns a table.", "FILE"
    )


def _out_option(**settings: Any) -> Any:
    return option(
        "The file: *.jsonl for simulate --events and sweeps; *.json or *.csv (openb) for all"
        " commands.",
        "FILE",
        dir_okay=False,
        **settings,
    )


class TraceChange(TraceFile):
    """The trace that a command reads, and the one that it writes."""

    out: Path = _out_option()


class TraceDescribeOptions(TraceFile):
    """The options of `podwright trace describe`."""

    output: Format = output_option("the figures")


class TraceCutOptions(TraceChange):
    """The options of `podwright trace cut`."""

    after: str = option("The start of the part, such as 24h.", "DURATION", default="0s")
    before: str = option("The end of the part, such as 48h.", "DURATION", default="")
    pods: int | None = option("The number of pods.", "NUMBER", default=None, min=1)
    share: float = option("The share of the pods, which are drawn.", "SHARE", default=1.0)
    with_running: bool = option(
        "Add the pods that arrived before and still run, with the rest of their run time.",
        default=False,
    )
    seed: int = option("The seed of the draws.", "NUMBER", default=0)


class TraceScaleOptions(TraceChange):
    """The options of `podwright trace scale`."""

    rate_factor: float = option("The factor of the rate of arrivals.", "FACTOR", default=1.0)
    pod_factor: float = option("The factor of the number of pods.", "FACTOR", default=1.0)
    request_factor: float = option("The factor of requested CPU and memory.", "FACTOR", default=1.0)
    duration_factor: float = option("The factor of run times.", "FACTOR", default=1.0)
    seed: int = option("The seed of the draws.", "NUMBER", default=0)


class TraceMergeOptions(TraceInput):
    """The options of `podwright trace merge`."""

    files: tuple[str, ...] = argument("The traces to merge.", "FILE")
    prefix: tuple[str, ...] = option(
        "What the names of the pods of a trace start with; one for each FILE.",
        "NAME",
        "--prefix",
        default=(),
    )
    out: Path = _out_option()


class TraceGenerateOptions(TraceInput):
    """The options of `podwright trace generate`."""

    model: Path | None = option(
        "The model: how pods arrive, what they request, how long they run.",
        "FILE",
        default=None,
        exists=True,
        dir_okay=False,
    )
    like: str = option("Fit the model to this trace.", "FILE", default="")
    pods: int | None = option("The number of pods.", "NUMBER", default=None, min=1)
    before: str = option("The end of the arrivals, such as 168h.", "DURATION", default="")
    seed: int = option("The seed of all draws.", "NUMBER", default=0)
    print_model: bool = option("Print the model, and generate nothing.", default=False)
    out: Path | None = _out_option(default=None)


class TuneOptions(PlanOptions):
    """The options of `podwright tune`."""

    out: Path = option(
        "The folder of the trials, the runs and the result. A tuning that was interrupted continues"
        " there.",
        "FOLDER",
        file_okay=False,
    )
    trials: int = option(
        "Overrides the number of trials in the plan. 0: that of the plan.", "N", default=0, min=0
    )
    output: Format = output_option("the best trial")
