"""`podwright clock`: requests to the clock of a running cluster."""

from __future__ import annotations

from typing import Any, Final

import typer

from podwright.cli.options import command_app
from podwright.cli.serving.options import (
    ClockOptions,
    ClockSpeedOptions,
    ClockStepOptions,
    RunToOptions,
)

app = command_app()

_PATH: Final = "/podwright/v1/clock"
_LONG_SECONDS: Final = 3_600.0
"""How long a step may take: as long as what is due in it."""


@app.callback()
def _clock() -> None:
    """Show, pause, step or speed up the clock of a running cluster."""


@app.command(examples=["podwright clock show"])
def show(options: ClockOptions) -> None:
    """Show the time of the cluster, its speed, and whether it is paused."""
    _run(options)


@app.command(examples=["podwright clock pause"])
def pause(options: ClockOptions) -> None:
    """Stop the time of the cluster.

    Requests are still answered, and what is due now is done: new pods are scheduled, but do not
    start.
    """
    _run(options, "pause")


@app.command(examples=["podwright clock resume"])
def resume(options: ClockOptions) -> None:
    """Let the time pass again."""
    _run(options, "resume")


@app.command(examples=["podwright clock step 30s"])
def step(options: ClockStepOptions) -> None:
    """Advance the time at once, and wait until everything that is due by then has been done."""
    _run(options, "step", {"duration": options.duration})


@app.command(examples=["podwright clock speed 10"])
def speed(options: ClockSpeedOptions) -> None:
    """Let the time pass at another speed."""
    from podwright.online.apiserver import SPEED_MAX, SPEED_MIN

    if not SPEED_MIN <= options.factor <= SPEED_MAX:
        message = f"must be a number from {SPEED_MIN:g} to {SPEED_MAX:g}."
        raise typer.BadParameter(message, param_hint="'FACTOR'")
    _run(options, "speed", {"speed": options.factor})


@app.command("run-to", examples=["podwright clock run-to 2030-01-01T00:00:00Z"])
def run_to(options: RunToOptions) -> None:
    """Advance the time at once to a later time, and wait as `step` does."""
    _run(options, "run-to", {"time": options.time})


def _run(options: ClockOptions, action: str = "", body: dict[str, object] | None = None) -> None:
    """Send one request to the clock, and print its state.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or rejected the request.
    """
    from podwright.cli.console import print_document, print_table, write
    from podwright.online.client import send

    access = options.cluster.access()
    if action:
        path = f"{_PATH}/{action}"
        state: Any = send(access, "POST", path, body, timeout_seconds=_LONG_SECONDS)
    else:
        state = send(access, "GET", _PATH)
    if options.output == "name":
        write(state["time"])
    elif options.output in {"json", "yaml"}:
        print_document(state, options.output)
    else:
        is_due = "nothing" if state["isCaughtUp"] else "being processed"
        row = (state["time"], f"{state['speed']:g}", _state_text(state), is_due)
        print_table(("TIME", "SPEED", "STATE", "DUE"), [row])


def _state_text(state: Any) -> str:
    if state["stoppedAt"] is not None:
        return f"at breakpoint {state['stoppedAt']}"
    return "paused" if state["isPaused"] else "running"
