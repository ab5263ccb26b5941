"""`podwright scheduler`: the options."""

from __future__ import annotations

from pathlib import Path

from podwright.cli.clusters.cluster_options import ConnectionOptions
from podwright.cli.options import (
    Options,
    Setup,
    command_app,
    option,
    reject_idle,
    size_in_bytes,
)

app = command_app()


class SchedulerCommandOptions(Options):
    """The options of `podwright scheduler`."""

    connection: ConnectionOptions = ConnectionOptions.group()
    config: Path | None = option(
        "A KubeSchedulerConfiguration. Its profiles say which pods are scheduled, by their "
        "schedulerName.",
        "FILE",
        "-c",
        default=None,
    )
    dry_run: bool = option(
        "Print the decisions, and write nothing: rights to read are enough.", default=False
    )
    out: Path | None = option(
        "Keep the decision log in this new folder: podwright explain --run explains its decisions.",
        "FOLDER",
        default=None,
    )
    rotate: int | None = option(
        "With --out: begin another run in the folder, 000001, 000002 and so on, when the log of "
        "one is as large, such as 100Mi, and at each start.",
        "SIZE",
        default=None,
        parser=size_in_bytes,
    )
    keep: int | None = option(
        "With --rotate: the most runs to keep; the oldest is deleted.",
        "NUMBER",
        default=None,
        min=1,
    )
    leader_elect: bool | None = option(
        "Whether to schedule only while holding a Lease. Defaults to leaderElection in the "
        "configuration.",
        None,
        "--leader-elect/--no-leader-elect",
        default=None,
    )
    metrics_address: str = option(
        "With --metrics-port: the IP address to serve.", "IP", default="127.0.0.1"
    )
    metrics_port: int | None = option(
        "Serve /metrics, /healthz, /livez and /readyz over HTTP on this port. 0: any free port.",
        "PORT",
        default=None,
        min=0,
        max=65535,
    )
    setup: Setup = Setup.group("plugins", "seed", "tie_rule", "feature_gates")


@app.command(
    examples=["podwright scheduler --dry-run", "podwright scheduler --out decisions"],
)
def scheduler(options: SchedulerCommandOptions) -> None:
    """Schedule the pods of a real cluster.

    The command follows the objects of the cluster, and binds pods that name one of its profiles
    as their scheduler. It sets conditions, writes Events, preempts, and binds volumes as
    kube-scheduler does. It runs until it is interrupted.
    """
    if options.dry_run and options.leader_elect:
        reject_idle("--leader-elect", "with --dry-run", "nothing is written")
    if options.metrics_port is None and "metrics_address" in options.given:
        reject_idle("--metrics-address", "without --metrics-port", "nothing is served")
    if options.rotate is not None and options.out is None:
        reject_idle("--rotate", "without --out", "nothing is recorded")
    if options.keep is not None and options.rotate is None:
        reject_idle("--keep", "without --rotate", "there is one run")
    options.connection.address()  # before the imports, which need the extra `live`
    from podwright.cli.clusters.scheduler_run import run_scheduler

    run_scheduler(options)
