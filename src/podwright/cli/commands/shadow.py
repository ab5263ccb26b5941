"""`podwright shadow`: the options."""

from __future__ import annotations

from pathlib import Path

import typer

from podwright.cli.options import (
    Format,
    Judged,
    Setup,
    argument,
    command_app,
    option,
    output_option,
)

app = command_app()

_MOST_DELAY_SECONDS = 1_000_000_000
"""Limit of ``--delay``: 31 years, well within int64 nanoseconds."""


class ShadowOptions(Judged):
    """The options of `podwright shadow`."""

    record: Path = argument(
        "A record of the changes of a real cluster, one JSON object per line, optionally gzipped; "
        "or a folder that contains record.jsonl.",
        "RECORD",
    )
    scheduler_log: Path | None = option(
        "The log of the real scheduler: one JSON object per line, or the output of kube-scheduler "
        "-v=3. Defaults to scheduler.jsonl next to the record, if it exists.",
        "FILE",
        default=None,
    )
    no_scheduler_log: bool = option("Use the record only.", default=False)
    setup: Setup = Setup.group("config", "plugins", "feature_gates")
    delay: float = option(
        "Without a scheduler log: maximum delay between a change and the scheduler's observation "
        "of it.",
        "SECONDS",
        default=0.25,
        min=0,
    )
    allow: float = option(
        "Maximum share of bindings, and of preemptions, that may be unexplained.",
        "PERCENT",
        default=1.0,
        min=0,
        max=100,
    )
    output: Format = output_option("the keys of pods whose decisions differ")


@app.command(
    examples=[
        "podwright shadow examples/shadow",
        "podwright shadow examples/shadow/record.jsonl --no-scheduler-log",
        "podwright shadow examples/shadow/record.jsonl "
        "--scheduler-log examples/shadow/scheduler.jsonl -o json",
    ]
)
def shadow(options: ShadowOptions) -> bool:
    """Compare the recorded decisions of a real scheduler with podwright's.

    The command replays the record. At each binding and each preemption, podwright evaluates
    the pod against all nodes. The decisions agree if no node scores higher than the node that
    the real scheduler chose. Differences are listed with their explanation: the real scheduler
    stopped after enough feasible nodes (sampling), it scored nodes with older image counts
    (image counts), or it had not yet observed a change (delay).

    The last line counts the bindings: bindings=N agreed=N explained=N unexplained=N

    Exit status 1 if more than --allow percent are unexplained.
    """
    if not options.delay <= _MOST_DELAY_SECONDS:
        message = f"must be a number from 0 to {_MOST_DELAY_SECONDS:,}."
        raise typer.BadParameter(message, param_hint="'--delay'")
    from podwright.cli.clusters.shadow_run import run_shadow

    return run_shadow(options)
