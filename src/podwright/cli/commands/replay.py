"""`podwright replay`: the options."""

from __future__ import annotations

import typer

from podwright.cli.clusters.options import ReplayOptions, address_of_target
from podwright.cli.options import command_app, reject_idle

app = command_app()


@app.command(examples=["podwright replay changes.jsonl --to podwright.kubeconfig --immediate"])
def replay(options: ReplayOptions) -> None:
    """Apply a record of changes to a simulated cluster.

    The changes have the pace of the record. Pods that are recorded with a node when they are
    added keep it; later changes of pods with a node are not applied, because the destination
    schedules them itself.
    """
    immediate, step = options.immediate, options.step
    if immediate and step:
        raise typer.BadParameter("cannot be combined with --step.", param_hint="'--immediate'")
    if "speed" in options.given and (immediate or step):
        reject_idle("--speed", f"with --{'immediate' if immediate else 'step'}", "nothing waits")
    target = address_of_target(options.to)
    from podwright.cli.clusters.record_run import run_replay

    run_replay(options, target)
