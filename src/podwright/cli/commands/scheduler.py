"""`podwright scheduler`: the options."""

from __future__ import annotations

from podwright.cli.clusters.options import SchedulerCommandOptions
from podwright.cli.options import (
    command_app,
    reject_idle,
)

app = command_app()


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
