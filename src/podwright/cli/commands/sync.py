"""`podwright sync`: the options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.clusters.cluster_options import ConnectionOptions, SelectionOptions
from podwright.cli.options import command_app, examples

app = command_app()


class BoundName(StrEnum):
    """Which pods keep the node that they have at the source."""

    initial = "initial"
    none = "none"
    kss = "kss"
    source = "source"


@app.command(epilog=examples("podwright sync --to podwright.kubeconfig"))
def sync(  # noqa: PLR0913 - the options of the command
    to: Annotated[
        list[str],
        typer.Option(
            "--to",
            metavar="[NAME=]CLUSTER",
            help="The destination: the address of one that podwright up serves over HTTP, or its "
            "kubeconfig; NAME is shown in its place. Repeatable: all follow the same source.",
            show_default=False,
        ),
    ],
    *,
    connection: ConnectionOptions,
    selection: SelectionOptions,
    bound: Annotated[
        BoundName,
        typer.Option(
            "--bound",
            help="Which pods keep the node that they have at the source: initial, those that are "
            "there at the start; none; kss, all that have one when they are first seen, as in "
            "kube-scheduler-simulator; source, all, and the bindings of others are mirrored. "
            "Static pods and pods of daemon sets always do.",
        ),
    ] = BoundName.initial,
    reschedule_all: Annotated[
        bool, typer.Option("--reschedule-all", help="The same as --bound none.")
    ] = False,
    shadow: Annotated[
        bool,
        typer.Option(
            "--shadow",
            help="The same as --bound source --pod-status, for destinations of podwright up with "
            "--no-scheduler --shadow: they compare each choice of the source with their own.",
        ),
    ] = False,
    exclude_running: Annotated[
        bool,
        typer.Option("--exclude-running", help="Leave out pods that have a node at the start."),
    ] = False,
    follow_labels: Annotated[
        bool,
        typer.Option("--follow-labels", help="Mirror changed labels of pods that have a node."),
    ] = False,
    follow_resources: Annotated[
        bool,
        typer.Option(
            "--follow-resources",
            help="Mirror changed requests and limits of pods, as resizes.",
        ),
    ] = False,
    pod_status: Annotated[
        bool,
        typer.Option(
            "--pod-status",
            help="Mirror that pods have finished, so that they free their resources.",
        ),
    ] = False,
    explicit_spread: Annotated[
        bool,
        typer.Option(
            "--explicit-spread",
            help="Write the default spreading of pods as constraints, for destinations with "
            "another scheduler than podwright's.",
        ),
    ] = False,
    keep_owners: Annotated[
        bool,
        typer.Option(
            "--keep-owners",
            help="Keep the owner references of pods. The garbage collector of the destination "
            "deletes pods whose owners are absent there.",
        ),
    ] = False,
    keep_service_accounts: Annotated[
        bool,
        typer.Option(
            "--keep-service-accounts",
            help="Keep the service accounts of pods, and the token volumes that were injected.",
        ),
    ] = False,
    ignore_deletions: Annotated[
        bool,
        typer.Option("--ignore-deletions", help="Keep what the source deletes."),
    ] = False,
    restore_deleted: Annotated[
        bool,
        typer.Option(
            "--restore-deleted",
            help="Create the pods again that the destination has deleted since the last sync.",
        ),
    ] = False,
    freeze_node_status: Annotated[
        bool,
        typer.Option(
            "--freeze-node-status",
            help="Let nodes keep the status with which they were created.",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only compare the destinations with the source: print what differs, and the "
            "policy that explains it. Exits with status 1 if no policy explains a difference.",
        ),
    ] = False,
    duration: Annotated[
        str,
        typer.Option(
            "--duration",
            metavar="DURATION",
            help="How long to follow, such as 10m. Until the process is interrupted without it.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Keep simulated clusters like a real one, under the same load.

    The source only gets requests that read. Its nodes, pods and volumes are created in each
    destination, and later changes follow. New pods are scheduled by the destination, and each pod
    that it places elsewhere than the source is a line on stdout.
    """
    from podwright.apimachinery.objects import read_duration
    from podwright.cli.clusters.cluster_options import address_of_target

    chosen = {
        **({} if bound is BoundName.initial else {f"--bound {bound.value}": bound}),
        **({"--reschedule-all": BoundName.none} if reschedule_all else {}),
        **({"--shadow": BoundName.source} if shadow else {}),
    }
    if len(set(chosen.values())) > 1:
        first, *others = chosen
        raise typer.BadParameter(
            f"cannot be combined with {' or '.join(others)}.", param_hint=f"'{first}'"
        )
    source = connection.address()
    named = [_named(each) for each in to]
    targets = [(name, address_of_target(cluster)) for name, cluster in named]
    if len({name for name, _ in targets}) < len(targets):
        raise typer.BadParameter("names a destination twice.", param_hint="'--to'")
    from podwright.cli.clusters.sync_run import SyncOptions, run_check, run_sync
    from podwright.online.client import BoundPods, SyncPolicies

    policies = SyncPolicies(
        bound=BoundPods(next(iter(chosen.values()), bound).value),
        excludes_running=exclude_running,
        follows_labels=follow_labels,
        follows_resources=follow_resources,
        mirrors_pod_status=pod_status or shadow,
        has_explicit_spread=explicit_spread,
        keeps_owners=keep_owners,
        keeps_accounts=keep_service_accounts,
        ignores_deletions=ignore_deletions,
        restores_deleted=restore_deleted,
        freezes_node_status=freeze_node_status,
    )
    seconds = read_duration(duration, "--duration") / 1e9 if duration else None
    options = SyncOptions.of(selection, policies, seconds)
    if check:
        run_check(source, targets, options)
    else:
        run_sync(source, targets, options)


def _named(text: str) -> tuple[str, str]:
    """Return the name of a destination, and its address or kubeconfig."""
    name, separator, cluster = text.partition("=")
    if not separator or "/" in name or Path(text).exists():
        return text, text
    return name, cluster
