"""`podwright shadow`: the options."""

from __future__ import annotations

import typer

from podwright.cli.clusters.options import ShadowOptions
from podwright.cli.options import (
    command_app,
)

app = command_app()

_MOST_DELAY_SECONDS = 1_000_000_000
"""Limit of ``--delay``: 31 years, well within int64 nanoseconds."""


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
