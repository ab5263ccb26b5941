"""`podwright shadow`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    ExitZero,
    Format,
    Gates,
    Plugins,
    Setup,
    command_app,
    examples,
    given_on,
    output_option,
)

app = command_app()

_MOST_DELAY_SECONDS = 1_000_000_000
"""Limit of ``--delay``: 31 years, well within int64 nanoseconds."""


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
            help="A record of the changes of a real cluster, one JSON object per line, optionally "
            "gzipped; or a folder that contains record.jsonl.",
            show_default=False,
        ),
    ],
    scheduler_log: Annotated[
        Path | None,
        typer.Option(
            "--scheduler-log",
            metavar="FILE",
            help="The log of the real scheduler: one JSON object per line, or the output of "
            "kube-scheduler -v=3. Defaults to scheduler.jsonl next to the record, if it exists.",
        ),
    ] = None,
    no_scheduler_log: Annotated[
        bool,
        typer.Option("--no-scheduler-log", help="Use the record only."),
    ] = False,
    config: Config = None,
    plugin: Plugins = None,
    feature_gates: Gates = "",
    delay: Annotated[
        float,
        typer.Option(
            "--delay",
            metavar="SECONDS",
            min=0,
            help="Without a scheduler log: maximum delay between a change and the scheduler's "
            "observation of it.",
        ),
    ] = 0.25,
    allow: Annotated[
        float,
        typer.Option(
            "--allow",
            metavar="PERCENT",
            min=0,
            max=100,
            help="Maximum share of bindings, and of preemptions, that may be unexplained.",
        ),
    ] = 1.0,
    output: Annotated[
        Format, output_option("the keys of pods whose decisions differ")
    ] = Format.table,
    exit_zero: ExitZero = False,
) -> None:
    """Compare the recorded decisions of a real scheduler with podwright's.

    The command replays the record. At each binding and each preemption, podwright evaluates
    the pod against all nodes. The decisions agree if no node scores higher than the node that
    the real scheduler chose. Differences are listed with their explanation: the real scheduler
    stopped after enough feasible nodes (sampling), it scored nodes with older image counts
    (image counts), or it had not yet observed a change (delay).

    The last line counts the bindings: bindings=N agreed=N explained=N unexplained=N

    Exit status 1 if more than --allow percent are unexplained.
    """
    if not delay <= _MOST_DELAY_SECONDS:
        message = f"must be a number from 0 to {_MOST_DELAY_SECONDS:,}."
        raise typer.BadParameter(message, param_hint="'--delay'")
    from podwright.cli.clusters.shadow_run import run_shadow

    given = given_on(ctx)
    is_good = run_shadow(
        record,
        scheduler_log,
        uses_log=not no_scheduler_log,
        setup=Setup(
            config=config,
            plugins=tuple(plugin or ()),
            feature_gates=feature_gates,
            given=given,
        ),
        delay_seconds=delay,
        has_delay="delay" in given,
        allowed_percent=allow,
        output=output.value,
    )
    if not is_good and not exit_zero:
        raise typer.Exit(1)
