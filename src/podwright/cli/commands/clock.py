"""`podwright clock`: the options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import command_app, examples

app = command_app()


class ClockFormat(StrEnum):
    """The output formats of the clock."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    name = "name"


Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="The kubeconfig of the cluster. Defaults to $KUBECONFIG, then to podwright.kubeconfig "
        "in the current folder.",
        show_default=False,
    ),
]
Server = Annotated[
    str,
    typer.Option(
        "--server",
        metavar="URL",
        help="The address of the cluster, such as http://127.0.0.1:8180, without a kubeconfig.",
        show_default=False,
    ),
]
Output = Annotated[ClockFormat, typer.Option("--output", "-o", help="Output format.")]


@app.callback()
def _clock() -> None:
    """Show, pause, step or speed up the clock of a running cluster."""


def _run(
    kubeconfig: Path | None,
    server: str,
    output: ClockFormat,
    action: str = "",
    body: dict[str, object] | None = None,
) -> None:
    from podwright.cli.serving.clock_run import run_clock

    run_clock(kubeconfig, server, action=action, body=body, output=output.value)


@app.command(epilog=examples("podwright clock show"))
def show(
    kubeconfig: Kubeconfig = None, server: Server = "", output: Output = ClockFormat.table
) -> None:
    """Show the time of the cluster, its speed, and whether it is paused."""
    _run(kubeconfig, server, output)


@app.command(epilog=examples("podwright clock pause"))
def pause(
    kubeconfig: Kubeconfig = None, server: Server = "", output: Output = ClockFormat.table
) -> None:
    """Stop the time of the cluster.

    Requests are still answered, and what is due now is done: new pods are scheduled, but do not
    start.
    """
    _run(kubeconfig, server, output, "pause")


@app.command(epilog=examples("podwright clock resume"))
def resume(
    kubeconfig: Kubeconfig = None, server: Server = "", output: Output = ClockFormat.table
) -> None:
    """Let the time pass again."""
    _run(kubeconfig, server, output, "resume")


@app.command(epilog=examples("podwright clock step 30s"))
def step(
    duration: Annotated[str, typer.Argument(metavar="DURATION", help="Such as 30s or 1h30m.")],
    kubeconfig: Kubeconfig = None,
    server: Server = "",
    output: Output = ClockFormat.table,
) -> None:
    """Advance the time at once, and wait until everything that is due by then has been done."""
    _run(kubeconfig, server, output, "step", {"duration": duration})


@app.command(epilog=examples("podwright clock speed 10"))
def speed(
    factor: Annotated[
        float,
        typer.Argument(metavar="FACTOR", help="How many seconds of the cluster a real second is."),
    ],
    kubeconfig: Kubeconfig = None,
    server: Server = "",
    output: Output = ClockFormat.table,
) -> None:
    """Let the time pass at another speed."""
    from podwright.online.apiserver import SPEED_MAX, SPEED_MIN

    if not SPEED_MIN <= factor <= SPEED_MAX:
        message = f"must be a number from {SPEED_MIN:g} to {SPEED_MAX:g}."
        raise typer.BadParameter(message, param_hint="'FACTOR'")
    _run(kubeconfig, server, output, "speed", {"speed": factor})


@app.command(
    "run-to",
    epilog=examples("podwright clock run-to 2030-01-01T00:00:00Z"),
)
def run_to(
    time: Annotated[
        str, typer.Argument(metavar="TIME", help="Such as 2030-01-01T00:00:00Z; not in the past.")
    ],
    kubeconfig: Kubeconfig = None,
    server: Server = "",
    output: Output = ClockFormat.table,
) -> None:
    """Advance the time at once to a later time, and wait as `step` does."""
    _run(kubeconfig, server, output, "run-to", {"time": time})
