"""`podwright shadow`: a real scheduler's decisions beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import Config, Format, Gates, Output, command_app, examples, given_on

app = command_app()


@app.command(
    epilog=examples(
        "podwright shadow examples/shadow",
        "podwright shadow examples/shadow/record.jsonl --no-scheduler-log",
        "podwright shadow examples/shadow/record.jsonl "
        "--scheduler-log examples/shadow/scheduler.jsonl -o json",
    )
)
def shadow(  # noqa: PLR0913, PLR0917 - the options of the command
    ctx: typer.Context,
    record: Annotated[
        Path,
        typer.Argument(
            metavar="RECORD",
            help="The changes of a real cluster, one JSON object per line, also gzip'd; or a "
            "folder with record.jsonl in it.",
            show_default=False,
        ),
    ],
    scheduler_log: Annotated[
        Path | None,
        typer.Option(
            "--scheduler-log",
            metavar="FILE",
            help="What the real scheduler did, one JSON object per line. Without it, "
            "scheduler.jsonl beside the record, if it is there.",
        ),
    ] = None,
    no_scheduler_log: Annotated[
        bool,
        typer.Option("--no-scheduler-log", help="Use the record alone."),
    ] = False,
    config: Config = None,
    feature_gates: Gates = "",
    delay: Annotated[
        float,
        typer.Option(
            "--delay",
            metavar="SECONDS",
            min=0,
            help="Without a scheduler's log: for how long a change may be on its way.",
        ),
    ] = 0.25,
    allow: Annotated[
        float,
        typer.Option(
            "--allow",
            metavar="PERCENT",
            min=0,
            max=100,
            help="How many of the bindings, and of the preemptions, may be unexplained.",
        ),
    ] = 1.0,
    output: Output = Format.table,
) -> None:
    """Ask at each binding of a real cluster whether it is among our best.

    The record is played, change by change. At each binding and each preemption the pod is
    decided for, with every node scored. The two agree if no node is better than the one that
    the real scheduler chose. Differences are listed with what explains them: that the real
    scheduler stopped looking after enough feasible nodes (sampling), that it scores nodes with
    older image counts (image counts), or that a change was still on its way (delay).

    The last line has the bindings as numbers: bindings=N agreed=N explained=N unexplained=N

    Exit status 1 if more is unexplained than --allow says.
    """
    from podwright.cli.shadow_run import run_shadow

    is_good = run_shadow(
        record,
        scheduler_log,
        uses_log=not no_scheduler_log,
        config=config,
        feature_gates=feature_gates,
        delay_seconds=delay,
        has_delay="delay" in given_on(ctx),
        allowed_percent=allow,
        output=output.value,
    )
    if not is_good:
        raise typer.Exit(1)
