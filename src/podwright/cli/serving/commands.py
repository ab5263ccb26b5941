"""The commands about a cluster that is served."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import typer

from podwright.cli.options import command, command_group, reject_idle
from podwright.cli.serving.options import (
    BreakOptions,
    ClockOptions,
    ClockSpeedOptions,
    ClockStepOptions,
    FailuresOptions,
    PageCommandOptions,
    RunToOptions,
    SaveCaseOptions,
    UnbreakOptions,
)
from podwright.cli.serving.up_options import UpOptions


@command(
    examples=[
        "podwright up --nodes 3",
        "podwright up examples/quickstart --db cluster.db",
        "podwright up --demo",
        "podwright up examples/simulate --events examples/simulate/day.jsonl --speed 60",
        "podwright up --nodes 3 --tls",
        "podwright up --nodes 3 --kss-port 1212",
        "podwright up --nodes 3 --no-scheduler --record record.jsonl",
    ]
)
def up(options: UpOptions) -> None:
    """Run a cluster that serves the Kubernetes API, until it is interrupted.

    The command serves the API on 127.0.0.1, writes a kubeconfig with a token, schedules pods, and
    simulates the controllers and the kubelets.
    """
    from podwright.cli.serving.up_run import run_up

    run_up(_checked(options))


_PARTS = ("scheduler", "controllers", "lifecycle")


def _checked(options: UpOptions) -> UpOptions:
    """Return the options with those of a SimulatorConfiguration, and without idle parts.

    Raises
    ------
    BadParameter
        If an option has no effect, or contradicts another one.
    """
    from podwright.online.apiserver import SPEED_MAX, SPEED_MIN

    parts, is_bare = options.parts, options.parts.bare
    if options.kss.allow_extender and (is_bare or not parts.has_scheduler):
        where = f"with --{'bare' if is_bare else 'no-scheduler'}"
        reject_idle("--allow-extender", where, "podwright calls no extenders")
    options.kss.check()
    if options.kss.kss_config is not None:
        from podwright.cli.serving.up_simulator import with_simulator_file

        options = with_simulator_file(options, options.kss.kss_config)
    if is_bare:
        for name in _PARTS:
            if f"has_{name}" in options.given:
                reject_idle(f"--{name}", "with --bare", "none of these parts runs")
    if options.inputs.images and (is_bare or not parts.has_lifecycle):
        where = f"with --{'bare' if is_bare else 'no-lifecycle'}"
        reject_idle("--images", where, "no kubelet is simulated")
    if is_bare:
        parts = replace(parts, has_scheduler=False, has_controllers=False, has_lifecycle=False)
    options.scheduling.check(has_scheduler=parts.has_scheduler, is_bare=is_bare)
    options.files.check(has_scheduler=parts.has_scheduler)
    options.serving.check(is_bare=is_bare)
    options.inputs.check()
    options.ui.check(is_bare=is_bare)
    if not SPEED_MIN <= parts.speed <= SPEED_MAX:
        message = f"must be a number from {SPEED_MIN:g} to {SPEED_MAX:g}."
        raise typer.BadParameter(message, param_hint="'--speed'")
    ui = replace(options.ui, has_page=options.ui.has_page and not is_bare)
    return replace(options, parts=parts, ui=ui)


_PATH: Final = "/podwright/v1/clock"
_LONG_SECONDS: Final = 3_600.0
"""How long a step may take: as long as what is due in it."""


clock = command_group("Show, pause, step or speed up the clock of a running cluster.")


@clock.command(examples=["podwright clock show"])
def show(options: ClockOptions) -> None:
    """Show the time of the cluster, its speed, and whether it is paused."""
    _run(options)


@clock.command(examples=["podwright clock pause"])
def pause(options: ClockOptions) -> None:
    """Pause the clock of the cluster.

    Requests are still answered, and what is due now is done: new pods are scheduled, but do not
    start.
    """
    _run(options, "pause")


@clock.command(examples=["podwright clock resume"])
def resume(options: ClockOptions) -> None:
    """Resume the clock of the cluster."""
    _run(options, "resume")


@clock.command(examples=["podwright clock step 30s"])
def step(options: ClockStepOptions) -> None:
    """Advance the clock at once, and wait until everything that is due by then has been done."""
    _run(options, "step", {"duration": options.duration})


@clock.command(examples=["podwright clock speed 10"])
def speed(options: ClockSpeedOptions) -> None:
    """Change the speed of the clock."""
    from podwright.online.apiserver import SPEED_MAX, SPEED_MIN

    if not SPEED_MIN <= options.factor <= SPEED_MAX:
        message = f"must be a number from {SPEED_MIN:g} to {SPEED_MAX:g}."
        raise typer.BadParameter(message, param_hint="'FACTOR'")
    _run(options, "speed", {"speed": options.factor})


@clock.command("run-to", examples=["podwright clock run-to 2030-01-01T00:00:00Z"])
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
    from podwright.cli.console import print_data, print_table
    from podwright.online.client import send

    access = options.cluster.access()
    if action:
        path = f"{_PATH}/{action}"
        state: Any = send(access, "POST", path, body, timeout_seconds=_LONG_SECONDS)
    else:
        state = send(access, "GET", _PATH)
    if not print_data(options.output, lambda: state, [state["time"]]):
        is_due = "nothing" if state["isCaughtUp"] else "being processed"
        row = (state["time"], f"{state['speed']:g}", _state_text(state), is_due)
        print_table(("TIME", "SPEED", "STATE", "DUE"), [row])


def _state_text(state: Any) -> str:
    if state["stoppedAt"] is not None:
        return f"at breakpoint {state['stoppedAt']}"
    return "paused" if state["isPaused"] else "running"


debug = command_group("Debug the plugins of a running cluster: durations, failures, breakpoints.")


@debug.command(examples=["podwright debug timings"])
def timings(options: ClockOptions) -> None:
    """Show how long the calls of plugins took, per plugin and extension point, longest first."""
    from podwright.cli.serving.debug_run import show_timings

    show_timings(options)


@debug.command(
    examples=["podwright debug failures", "podwright debug failures --limit 1 --traceback"]
)
def failures(options: FailuresOptions) -> None:
    """Show the last exceptions and errors of plugins, the last one first."""
    from podwright.cli.serving.debug_run import show_failures

    show_failures(options)


@debug.command(examples=["podwright debug breakpoints"])
def breakpoints(options: ClockOptions) -> None:
    """Show the breakpoints, and where the cluster has stopped."""
    from podwright.cli.serving.debug_run import show_breakpoints

    show_breakpoints(options)


@debug.command(
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


@debug.command("save-case", examples=["podwright debug save-case web-0 test_web.py --attempt 1"])
def save_case(options: SaveCaseOptions) -> None:
    """Write a scheduling attempt as a test that reproduces it offline.

    The test has the recorded state and the plugins; `pytest FILE` runs it.
    """
    from podwright.cli.serving.debug_run import save_attempt

    save_attempt(options)


@debug.command(examples=["podwright debug unbreak 1"])
def unbreak(options: UnbreakOptions) -> None:
    """Remove a breakpoint; a cluster that has stopped at it stays stopped."""
    from podwright.cli.serving.debug_run import remove_breakpoint

    remove_breakpoint(options)


@command(examples=["podwright page --open", "podwright page --server http://127.0.0.1:8180"])
def page(options: PageCommandOptions) -> None:
    """Serve the web page of a running cluster, until it is interrupted.

    The page is served on 127.0.0.1. Anyone who opens it acts as the user of the kubeconfig.
    """
    from podwright.cli.serving.page_run import run_page

    run_page(options)
