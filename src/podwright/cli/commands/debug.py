"""`podwright debug`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app
from podwright.cli.serving.options import (
    BreakOptions,
    ClockOptions,
    FailuresOptions,
    SaveCaseOptions,
    UnbreakOptions,
)

app = command_app()


@app.callback()
def _debug() -> None:
    """Debug the plugins of a running cluster: durations, failures, breakpoints."""


@app.command(examples=["podwright debug timings"])
def timings(options: ClockOptions) -> None:
    """Show how long the calls of plugins took, per plugin and extension point, longest first."""
    from podwright.cli.serving.debug_run import show_timings

    show_timings(options)


@app.command(
    examples=["podwright debug failures", "podwright debug failures --limit 1 --traceback"]
)
def failures(options: FailuresOptions) -> None:
    """Show the last exceptions and errors of plugins, the last one first."""
    from podwright.cli.serving.debug_run import show_failures

    show_failures(options)


@app.command(examples=["podwright debug breakpoints"])
def breakpoints(options: ClockOptions) -> None:
    """Show the breakpoints, and where the cluster has stopped."""
    from podwright.cli.serving.debug_run import show_breakpoints

    show_breakpoints(options)


@app.command(
    "break",
    examples=["podwright debug break pod=default/web-0", "podwright debug break on=error"],
)
def add_breakpoint(options: BreakOptions) -> None:
    """Stop the cluster after each scheduling cycle that matches a condition.

    The clock pauses, and the result of the cycle is not executed yet. `podwright clock resume`
    lets the cluster continue.
    """
    from podwright.cli.serving.debug_run import add_breakpoint

    add_breakpoint(options)


@app.command("save-case", examples=["podwright debug save-case web-0 test_web.py --attempt 1"])
def save_case(options: SaveCaseOptions) -> None:
    """Write a scheduling attempt as a test that reproduces it offline.

    The test has the recorded state and the plugins; `pytest FILE` runs it.
    """
    from podwright.cli.serving.debug_run import save_attempt

    save_attempt(options)


@app.command(examples=["podwright debug unbreak 1"])
def unbreak(options: UnbreakOptions) -> None:
    """Remove a breakpoint; a cluster that has stopped at it stays stopped."""
    from podwright.cli.serving.debug_run import remove_breakpoint

    remove_breakpoint(options)
