"""`podwright replay`: the options."""

from __future__ import annotations

from pathlib import Path

import typer

from podwright.cli.clusters.cluster_options import address_of_target
from podwright.cli.options import Options, argument, command_app, option, reject_idle

app = command_app()


class ReplayOptions(Options):
    """The options of `podwright replay`."""

    file: Path = argument(
        "A record of changes, of podwright record or kube-scheduler-simulator.", "FILE"
    )
    to: str = option(
        "The destination: the address of a cluster of podwright up, or its kubeconfig.", "CLUSTER"
    )
    speed: float = option(
        "How many seconds of the record a second is.", "FACTOR", default=1.0, min=0.001
    )
    immediate: bool = option("Apply one change after the other, without waiting.", default=False)
    step: bool = option("Print each change, and apply it when a line is entered.", default=False)
    strict: bool = option(
        "Stop at a change of an unknown object, and at a rejected change.", default=False
    )


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
    from podwright.cli.clusters.replay_run import run_replay

    run_replay(options, target)
