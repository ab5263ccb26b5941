"""`podwright check`: the options."""

from __future__ import annotations

import typer

from podwright.cli.options import command_app, reject_idle
from podwright.cli.recorded.options import CheckOptions

app = command_app()

_OF_CREATE = ("from_run", "decision", "attempt")
_OF_CHECKS = ("junit", "summary", "seed", "charts", "values", "kustomize", "output")
_NAMES = {"charts": "--chart"}


@app.command(
    examples=[
        "podwright check examples/scenarios/rollout.yaml",
        "podwright check examples/scenarios/rollout.yaml -o json --exit-zero",
    ]
)
def check(options: CheckOptions) -> bool:
    """Check what scenarios expect, for CI.

    Each configuration of each scenario is simulated, and compared with its expectations.
    With --create, a scenario is written instead: of a snapshot of a cluster, or of one decision
    of a recorded run.

    Exit status 1 if an expectation is not met.
    """
    idle = _OF_CREATE if options.create is None else _OF_CHECKS
    for name in idle:
        if name in options.given:
            shown = _NAMES.get(name, f"--{name.replace('_', '-')}")
            condition = "without --create" if options.create is None else "with --create"
            reject_idle(shown, condition, "it is an option of the other use of this command")
    if options.values and not options.charts:
        reject_idle("--values", "without --chart", "they are values of charts")
    if (options.from_run is None) != (not options.decision):
        raise typer.BadParameter("needs --from-run RUN and --decision POD.", param_hint="--create")
    if options.create is not None and bool(options.files) == bool(options.decision):
        raise typer.BadParameter("specify FILE, or --from-run and --decision.", param_hint="FILE")
    if not options.files and options.create is None:
        raise typer.BadParameter("specify a scenario.", param_hint="SCENARIO")
    from podwright.cli.recorded.check_run import run_check, run_create

    return run_check(options) if options.create is None else run_create(options)
