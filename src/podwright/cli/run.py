"""`podwright run show` and `podwright run step`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import At, Format, Output, Plugins, command_app, examples

app = command_app()

Run = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="What podwright simulate made, or the folder of a decision log."
    ),
]


@app.callback()
def _run() -> None:
    """Look at a recorded run: at one moment, or event by event."""


@app.command(
    epilog=examples(
        "podwright run show RUN",
        "podwright run show RUN --at 5m",
        "podwright run show RUN --at 2026-01-01T00:01:00Z -o json",
    )
)
def show(run: Run, at: At = "", plugin: Plugins = None, output: Output = Format.table) -> None:
    """Show the cluster and the queue at a moment of a run; without --at, at its end.

    A summary comes first, then the fullest nodes, and the pods in each place of the queue, in
    the order in which they leave it: how often each was tried, since when it is there, and the
    plugins that it waits for. Long lists are cut; -o wide, json and yaml have all of it, and
    the other pods.
    """
    from podwright.cli.run_show import run_show

    run_show(run, at=at, plugins=plugin or [], output=output.value)


@app.command(epilog=examples("podwright run step RUN --at 1m < /dev/null"))
def step(run: Run, at: At = "", plugin: Plugins = None) -> None:
    """Go through a run event by event, forward and back.

    Reads commands, one per line: n (or an empty line) goes to the next event, b back, c to the
    next cycle, C to the one before, "/ POD" to the next event about a pod, "g 42" or "g 10m" to
    an event or a time; e explains the cycle, s shows the cluster and the queue, q quits, ? says
    all there are.
    """
    from podwright.cli.run_step import run_step

    run_step(run, at=at, plugins=plugin or [])
