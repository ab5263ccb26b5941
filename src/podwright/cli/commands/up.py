"""`podwright up`: the options."""

from __future__ import annotations

from dataclasses import replace

import typer

from podwright.cli.options import command_app, reject_idle
from podwright.cli.serving.up_options import UpOptions

app = command_app()


@app.command(
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
    """Run a cluster that speaks the Kubernetes API, until it is interrupted.

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
