"""`podwright debug`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.commands.clock import ClockFormat, Kubeconfig, Output, Server
from podwright.cli.options import command_app, examples

app = command_app()


@app.callback()
def _debug() -> None:
    """Debug the plugins of a running cluster: durations, failures, breakpoints."""


@app.command(epilog=examples("podwright debug timings"))
def timings(
    kubeconfig: Kubeconfig = None, server: Server = "", output: Output = ClockFormat.table
) -> None:
    """Show how long the calls of plugins took, per plugin and extension point, longest first."""
    from podwright.cli.serving.debug_run import show_timings

    show_timings(kubeconfig, server, output.value)


@app.command(
    epilog=examples("podwright debug failures", "podwright debug failures --limit 1 --traceback")
)
def failures(
    plugin: Annotated[
        str, typer.Option("--plugin", metavar="NAME", help="Only those of this plugin.")
    ] = "",
    pod: Annotated[
        str, typer.Option("--pod", metavar="POD", help="Only those for this pod: [NAMESPACE/]NAME.")
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", metavar="NUMBER", min=1, max=1_000, help="The most to show.")
    ] = 20,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show the traceback of each.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    server: Server = "",
    output: Output = ClockFormat.table,
) -> None:
    """Show the last exceptions and errors of plugins, the last one first."""
    from podwright.cli.serving.debug_run import show_failures

    query = {"plugin": plugin, "pod": pod, "limit": str(limit)}
    show_failures(kubeconfig, server, output.value, query=query, has_traceback=traceback)


@app.command(epilog=examples("podwright debug breakpoints"))
def breakpoints(
    kubeconfig: Kubeconfig = None, server: Server = "", output: Output = ClockFormat.table
) -> None:
    """Show the breakpoints, and where the cluster has stopped."""
    from podwright.cli.serving.debug_run import show_breakpoints

    show_breakpoints(kubeconfig, server, output.value)


@app.command(
    "break",
    epilog=examples("podwright debug break pod=default/web-0", "podwright debug break on=error"),
)
def add_breakpoint(
    condition: Annotated[
        str,
        typer.Argument(
            metavar="CONDITION",
            help="Such as pod=default/web, label=app=web, plugin=NAME, point=Filter, on=reject, "
            "on=error or score-above=90; several parts with commas between them.",
        ),
    ],
    kubeconfig: Kubeconfig = None,
    server: Server = "",
    output: Output = ClockFormat.table,
) -> None:
    """Stop the cluster after each scheduling cycle that matches a condition.

    The clock pauses, and the result of the cycle is not executed yet. `podwright clock resume`
    lets the cluster go on.
    """
    from podwright.cli.serving.debug_run import add_breakpoint

    add_breakpoint(kubeconfig, server, output.value, condition)


@app.command(
    "save-case", epilog=examples("podwright debug save-case web-0 test_web.py --attempt 1")
)
def save_case(
    pod: Annotated[str, typer.Argument(metavar="POD", help="[NAMESPACE/]NAME.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    attempt: Annotated[
        int | None,
        typer.Option(
            "--attempt",
            metavar="NUMBER",
            min=1,
            help="The last one if left out.",
            show_default=False,
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    server: Server = "",
) -> None:
    """Write a scheduling attempt as a test that reproduces it offline.

    The test has the recorded state and the plugins; `pytest FILE` runs it.
    """
    from podwright.cli.serving.debug_run import save_attempt

    save_attempt(kubeconfig, server, pod, file, attempt=attempt)


@app.command(epilog=examples("podwright debug unbreak 1"))
def unbreak(
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of the breakpoint.")],
    kubeconfig: Kubeconfig = None,
    server: Server = "",
    output: Output = ClockFormat.table,
) -> None:
    """Remove a breakpoint; a cluster that has stopped at it stays stopped."""
    from podwright.cli.serving.debug_run import remove_breakpoint

    remove_breakpoint(kubeconfig, server, output.value, number)
