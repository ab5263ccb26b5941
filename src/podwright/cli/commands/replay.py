"""`podwright replay`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import command_app, examples, given_on, reject_idle

app = command_app()


@app.command(
    epilog=examples("podwright replay changes.jsonl --to podwright.kubeconfig --immediate")
)
def replay(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A record of changes, of podwright record or kube-scheduler-simulator.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="CLUSTER",
            help="The destination: the address of a cluster of podwright up, or its kubeconfig.",
            show_default=False,
        ),
    ],
    speed: Annotated[
        float,
        typer.Option(
            "--speed",
            metavar="FACTOR",
            min=0.001,
            help="How many seconds of the record a second is.",
        ),
    ] = 1.0,
    immediate: Annotated[
        bool, typer.Option("--immediate", help="Apply one change after the other, without waiting.")
    ] = False,
    step: Annotated[
        bool, typer.Option("--step", help="Print each change, and apply it when a line is entered.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at a change of an unknown object, and at a rejected change."
        ),
    ] = False,
) -> None:
    """Apply a record of changes to a simulated cluster.

    The changes have the pace of the record. Pods that are recorded with a node when they are
    added keep it; later changes of pods with a node are not applied, because the destination
    schedules them itself.
    """
    given = given_on(ctx)
    if immediate and step:
        raise typer.BadParameter("cannot be combined with --step.", param_hint="'--immediate'")
    if "speed" in given and (immediate or step):
        reject_idle("--speed", f"with --{'immediate' if immediate else 'step'}", "nothing waits")
    from podwright.cli.clusters.cluster_options import address_of_target

    target = address_of_target(to)
    from podwright.cli.clusters.replay_run import ReplayOptions, run_replay

    options = ReplayOptions(
        speed=None if immediate or step else speed, steps=step, is_strict=strict
    )
    run_replay(file, to, target, options)
