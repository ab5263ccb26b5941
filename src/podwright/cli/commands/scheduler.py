"""`podwright scheduler`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.clusters.cluster_options import ConnectionOptions
from podwright.cli.options import (
    Gates,
    Plugins,
    Seed,
    Setup,
    TieRuleName,
    Ties,
    command_app,
    examples,
    given_on,
    size_in_bytes,
)

app = command_app()


@app.command(
    epilog=examples("podwright scheduler --dry-run", "podwright scheduler --out decisions")
)
def scheduler(  # noqa: PLR0913 - the options of the command
    ctx: typer.Context,
    *,
    connection: ConnectionOptions,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="A KubeSchedulerConfiguration. Its profiles say which pods are scheduled, by "
            "their schedulerName.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the decisions, and write nothing: rights to read are enough."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Keep the decision log in this new folder: podwright explain --run explains its "
            "decisions.",
            show_default=False,
        ),
    ] = None,
    rotate: Annotated[
        int | None,
        typer.Option(
            "--rotate",
            metavar="SIZE",
            parser=size_in_bytes,
            help="With --out: begin another run in the folder, 000001, 000002 and so on, when the "
            "log of one is as large, such as 100Mi, and at each start.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            metavar="NUMBER",
            min=1,
            help="With --rotate: the most runs to keep; the oldest is deleted.",
            show_default=False,
        ),
    ] = None,
    leader_elect: Annotated[
        bool | None,
        typer.Option(
            "--leader-elect/--no-leader-elect",
            help="Whether to schedule only while holding a Lease. Defaults to leaderElection in "
            "the configuration.",
            show_default=False,
        ),
    ] = None,
    metrics_address: Annotated[
        str,
        typer.Option(
            "--metrics-address",
            metavar="IP",
            help="With --metrics-port: the IP address to serve.",
        ),
    ] = "127.0.0.1",
    metrics_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port",
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve /metrics, /healthz, /livez and /readyz over HTTP on this port. 0: any "
            "free port.",
            show_default=False,
        ),
    ] = None,
    plugin: Plugins = None,
    seed: Seed = 0,
    tie_rule: Ties = TieRuleName.drawn,
    feature_gates: Gates = "",
) -> None:
    """Schedule the pods of a real cluster.

    The command follows the objects of the cluster, and binds pods that name one of its profiles
    as their scheduler. It sets conditions, writes Events, preempts, and binds volumes as
    kube-scheduler does. It runs until it is interrupted.
    """
    from podwright.cli.options import reject_idle

    given = given_on(ctx)
    if dry_run and leader_elect:
        reject_idle("--leader-elect", "with --dry-run", "nothing is written")
    if metrics_port is None and "metrics_address" in given:
        reject_idle("--metrics-address", "without --metrics-port", "nothing is served")
    if rotate is not None and out is None:
        reject_idle("--rotate", "without --out", "nothing is recorded")
    if keep is not None and rotate is None:
        reject_idle("--keep", "without --rotate", "there is one run")
    address = connection.address()
    from podwright.cli.clusters.scheduler_run import LiveOptions, run_scheduler

    setup = Setup(
        config=config,
        plugins=tuple(plugin or ()),
        seed=seed,
        tie_rule=tie_rule,
        feature_gates=feature_gates,
        given=given,
    )
    options = LiveOptions(
        is_dry_run=dry_run,
        run=out,
        largest_bytes=rotate or 0,
        kept_runs=keep or 0,
        elects_leader=leader_elect,
        metrics_address=metrics_address,
        metrics_port=metrics_port,
    )
    run_scheduler(address, options, setup)
