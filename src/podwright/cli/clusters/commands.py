"""The commands about real clusters and their records."""

from __future__ import annotations

import typer

from podwright.cli.clusters.options import (
    ImportClusterOptions,
    RecordOptions,
    ReplayOptions,
    SchedulerCommandOptions,
    ShadowOptions,
    address_of_target,
)
from podwright.cli.options import command, reject_idle


@command(
    examples=["podwright import --out cluster.json", "podwright import --kinds nodes,pods -o name"],
)
def import_(options: ImportClusterOptions) -> None:
    """Read the objects of a real cluster, as input of other commands.

    The command only sends requests that read; the rights get, list and watch are enough. It writes
    what decisions depend on: nodes, pods, volumes, classes, budgets and devices, but no secrets,
    and no workloads without --workloads. Pods keep their nodes; their owners and service accounts
    are left out.

    Other commands read the result: podwright import | podwright schedule -
    """
    options.connection.address()  # before the imports, which need the extra `live`
    from podwright.cli.clusters.import_run import run_import

    run_import(options)


@command(examples=["podwright record --out changes.jsonl --duration 5s"])
def record(options: RecordOptions) -> None:
    """Record the changes of a real cluster in a file.

    The command only sends requests that read. The file starts with all objects; simulate
    --events, up --events, shadow and convert read it, and podwright replay applies it to a
    cluster. Secrets and config maps are never recorded.
    """
    if options.keep is not None and options.rotate is None:
        reject_idle("--keep", "without --rotate", "there is one file")
    if options.resume and options.rotate is not None:
        reject_idle("--resume", "with --rotate", "a new file starts with all objects")
    options.connection.address()  # before the imports, which need the extra `live`
    from podwright.cli.clusters.record_run import run_record

    run_record(options)


@command(examples=["podwright replay changes.jsonl --to podwright.kubeconfig --immediate"])
def replay(options: ReplayOptions) -> None:
    """Apply a record of changes to a simulated cluster.

    The changes are applied at the pace of the record. Pods that are recorded with a node when they
    are added keep it; later changes of pods with a node are not applied, because the destination
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


@command(
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


_MOST_DELAY_SECONDS = 1_000_000_000
"""Limit of ``--delay``: 31 years, well within int64 nanoseconds."""


@command(
    examples=[
        "podwright shadow examples/shadow",
        "podwright shadow examples/shadow/record.jsonl --no-scheduler-log",
        "podwright shadow examples/shadow/record.jsonl "
        "--scheduler-log examples/shadow/scheduler.jsonl -o json",
    ]
)
def shadow(options: ShadowOptions) -> bool:
    """Compare the recorded decisions of a real scheduler with podwright's.

    The command replays the record. At each binding and each preemption, podwright evaluates
    the pod against all nodes. The decisions agree if no node scores higher than the node that
    the real scheduler chose. Differences are listed with their explanation: the real scheduler
    stopped after enough feasible nodes (sampling), it scored nodes with older image counts
    (image counts), or it had not yet observed a change (delay).

    The last line counts the bindings: bindings=N agreed=N explained=N unexplained=N

    Exit status 1 if more than --allow percent are unexplained.
    """
    if not options.delay <= _MOST_DELAY_SECONDS:
        message = f"must be a number from 0 to {_MOST_DELAY_SECONDS:,}."
        raise typer.BadParameter(message, param_hint="'--delay'")
    from podwright.cli.clusters.shadow_run import run_shadow

    return run_shadow(options)
