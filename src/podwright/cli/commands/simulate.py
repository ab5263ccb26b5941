"""`podwright simulate`: the options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    ExitZero,
    FileDecisionOptions,
    Plugins,
    RuleOptions,
    Setup,
    command_app,
    examples,
    given_on,
    reject_idle,
)

app = command_app()


class SummaryFormat(StrEnum):
    """The output formats of the summary."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    name = "name"


class EndingName(StrEnum):
    """What ends the pods of the openb trace."""

    at_deletion_time = "at-deletion-time"
    after_run_time = "after-run-time"


def _folder(text: str) -> Path:
    """Read a folder name; `Path("")` would be the current folder."""
    if not text:
        raise typer.BadParameter("a folder name must not be empty.")
    return Path(text)


_ALLOWED_WITH_RESUME = {"resume", "output", "exit_zero"}


@app.command(
    epilog=examples(
        "podwright simulate examples/quickstart --exit-zero",
        "podwright simulate examples/simulate --events examples/simulate/day.jsonl --until 24h",
    )
)
def simulate(  # noqa: PLR0913 - the options of the command
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Manifests, dumps, snapshots, openb tables or KWOK Stages; folders of them; "
            "- for stdin.",
            show_default=False,
        ),
    ] = None,
    *,
    events: Annotated[
        list[Path] | None,
        typer.Option(
            "--events",
            "-e",
            metavar="FILE",
            help="Events to apply: a record of changes, or lines such as "
            '{"at": "10m", "drain": "node-1"}. Repeatable.',
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            parser=_folder,
            help="Write the run to this folder, which must be new or empty.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="RUN",
            parser=_folder,
            help="Resume the interrupted run in this folder.",
        ),
    ] = None,
    until: Annotated[
        str,
        typer.Option(
            "--until",
            metavar="TIME",
            help="When to stop, such as 24h or 2026-01-02T00:00:00Z. By default the run ends "
            "when only retries of unschedulable pods remain.",
            show_default=False,
        ),
    ] = "",
    start: Annotated[
        str,
        typer.Option(
            "--start",
            metavar="TIME",
            help="Start of the simulated time. Defaults to the start of the record, the creation "
            "of the youngest object in a dump, or 2026-01-01T00:00:00Z.",
            show_default=False,
        ),
    ] = "",
    config: Config = None,
    plugin: Plugins = None,
    rules: RuleOptions,
    decisions: FileDecisionOptions,
    ending: Annotated[
        EndingName,
        typer.Option(
            "--ending",
            help="When pods of the openb trace end: at their deletion time in the trace, or after "
            "running for as long as in the trace.",
        ),
    ] = EndingName.at_deletion_time,
    job_duration: Annotated[
        str,
        typer.Option(
            "--job-duration",
            metavar="DURATION",
            help="How long the pods of Jobs run that have no duration, such as 10m. By default "
            "they complete as soon as they run.",
            show_default=False,
        ),
    ] = "",
    sample: Annotated[
        str,
        typer.Option(
            "--sample",
            metavar="DURATION",
            help="Minimum time between two samples of the utilization.",
        ),
    ] = "1m",
    checkpoint_events: Annotated[
        int | None,
        typer.Option(
            "--checkpoint-events",
            metavar="NUMBER",
            min=1,
            help="Number of scheduler events between checkpoints (resume points). Defaults to "
            "25,000, or more in a large cluster.",
            show_default=False,
        ),
    ] = None,
    no_tables: Annotated[
        bool, typer.Option("--no-tables", help="Do not write tables. Removes the need for pyarrow.")
    ] = False,
    timeline: Annotated[
        bool,
        typer.Option(
            "--timeline",
            help="Write every change of nodes, pods and queue to the run folder, for playback.",
        ),
    ] = False,
    timings: Annotated[
        bool,
        typer.Option("--timings", help="Print how long the calls of each plugin took."),
    ] = False,
    output: Annotated[
        SummaryFormat,
        typer.Option(
            "--output",
            "-o",
            help="Output format of the summary. name: the keys of pods without a node at the end.",
        ),
    ] = SummaryFormat.table,
    exit_zero: ExitZero = False,
) -> None:
    """Simulate a cluster over time.

    The simulation runs nodes, pods, controllers and the scheduler on a virtual clock. With
    --out, all scheduling decisions and summary tables are written to a folder, which the
    commands explain, run show and run step read.

    Exit status 1 if pods remain unscheduled; 130 after Ctrl-C, and the run in the folder can
    be resumed. Pods of other schedulers and pods with scheduling gates are reported but do
    not affect the exit status.
    """
    if timings and output == SummaryFormat.name:
        reject_idle("--timings", "with --output name", "only the names of pods are printed")
    if resume is None and out is None:
        _reject_without_folder(given_on(ctx))
    from podwright.cli.recorded.simulate_run import SimulateOptions, resume_simulate, run_simulate

    if resume is not None:
        _reject_options_beside_resume(ctx)
        all_placed = resume_simulate(resume, output=output.value)
    else:
        if not files and not events:
            raise typer.BadParameter("specify FILE, --events or --resume.", param_hint="FILE")
        options = SimulateOptions(
            files=tuple(files or ()),
            events=tuple(map(str, events or ())),
            until=until,
            start=start,
            sample=sample,
            ending=ending.name,
            checkpoint_events=checkpoint_events,
            with_tables=not no_tables,
            with_timeline=timeline,
            with_timings=timings,
            job_duration=job_duration,
            setup=Setup(
                config=config,
                plugins=tuple(plugin or ()),
                **decisions.values(),
                **rules.values(),
                given=given_on(ctx),
                seeds_names=True,
            ),
        )
        all_placed = run_simulate(options, out, output=output.value)
    if not all_placed and not exit_zero:
        raise typer.Exit(1)


def _reject_without_folder(given: frozenset[str]) -> None:
    """Reject options that concern the run folder if there is none."""
    if "no_tables" in given:
        reject_idle("--no-tables", "without --out", "tables are written to the run folder")
    if "timeline" in given:
        reject_idle("--timeline", "without --out", "the timeline is written to the run folder")
    if "checkpoint_events" in given:
        why = "checkpoints are written to the run folder"
        reject_idle("--checkpoint-events", "without --out", why)


def _reject_options_beside_resume(ctx: typer.Context) -> None:
    """Reject options that the resumed run already has."""
    for param in ctx.command.params:
        source = ctx.get_parameter_source(str(param.name))
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and param.name not in _ALLOWED_WITH_RESUME:
            name = param.opts[0] if param.opts[0].startswith("-") else "FILE"
            raise typer.BadParameter(
                "cannot be combined with --resume.",
                param_hint=f"'{name}'",
            )
