"""`podwright sync`: the command and its options."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from podwright.cli.clusters.options import FollowOptions, address_of_target
from podwright.cli.options import command, option

if TYPE_CHECKING:
    from podwright.online.client import SyncPolicies
    from podwright.online.client.cluster import ClusterAddress


class SyncOptions(FollowOptions):
    """The options of `podwright sync`."""

    to: tuple[str, ...] = option(
        "The destination: the address of one that podwright up serves over HTTP, or its "
        "kubeconfig; NAME is shown in its place. Repeatable: all follow the same source.",
        "[NAME=]CLUSTER",
    )
    bound: Literal["initial", "none", "kss", "source"] = option(
        "Which pods keep the node that they have at the source: initial, those that are there at "
        "the start; none; kss, all that have one when they are first seen, as in "
        "kube-scheduler-simulator; source, all, and the bindings of others are mirrored. Static "
        "pods and pods of daemon sets always do.",
        default="initial",
    )
    reschedule_all: bool = option("The same as --bound none.", default=False)
    shadow: bool = option(
        "The same as --bound source --pod-status, for destinations of podwright up with "
        "--no-scheduler --shadow: they compare each choice of the source with their own.",
        default=False,
    )
    exclude_running: bool = option("Leave out pods that have a node at the start.", default=False)
    follow_labels: bool = option("Mirror changed labels of pods that have a node.", default=False)
    follow_resources: bool = option(
        "Mirror changed requests and limits of pods, as resizes.", default=False
    )
    pod_status: bool = option(
        "Mirror that pods have finished, so that they free their resources.", default=False
    )
    explicit_spread: bool = option(
        "Write the default spreading of pods as constraints, for destinations with another "
        "scheduler than podwright's.",
        default=False,
    )
    keep_owners: bool = option(
        "Keep the owner references of pods. The garbage collector of the destination deletes pods "
        "whose owners are absent there.",
        default=False,
    )
    keep_service_accounts: bool = option(
        "Keep the service accounts of pods, and the token volumes that were injected.",
        default=False,
    )
    ignore_deletions: bool = option("Keep what the source deletes.", default=False)
    restore_deleted: bool = option(
        "Create the pods again that the destination has deleted since the last sync.",
        default=False,
    )
    freeze_node_status: bool = option(
        "Let nodes keep the status with which they were created.", default=False
    )
    check: bool = option(
        "Only compare the destinations with the source: print what differs, and the policy that "
        "explains it. Exits with status 1 if no policy explains a difference.",
        default=False,
    )

    def policies(self) -> SyncPolicies:
        """Return the policies.

        Raises
        ------
        BadParameter
            If options contradict each other.
        """
        chosen = {
            **({} if self.bound == "initial" else {f"--bound {self.bound}": self.bound}),
            **({"--reschedule-all": "none"} if self.reschedule_all else {}),
            **({"--shadow": "source"} if self.shadow else {}),
        }
        if len(set(chosen.values())) > 1:
            first, *others = chosen
            raise typer.BadParameter(
                f"cannot be combined with {' or '.join(others)}.", param_hint=f"'{first}'"
            )
        names = [f"bound={next(iter(chosen.values()), self.bound)}"]
        names += ["pod-status"] if self.shadow else []
        names += [each for each in _SWITCHES if getattr(self, each.replace("-", "_"))]
        return read_policies(names)

    def targets(self) -> list[tuple[str, ClusterAddress]]:
        """Return the destinations and their names.

        Raises
        ------
        BadParameter
            If one is named twice.
        MissingLiveError
        """
        named = [_named(each) for each in self.to]
        targets = [(name, address_of_target(cluster)) for name, cluster in named]
        if len({name for name, _ in targets}) < len(targets):
            raise typer.BadParameter("names a destination twice.", param_hint="'--to'")
        return targets


_SWITCHES = {
    "exclude-running": "excludes_running",
    "follow-labels": "follows_labels",
    "follow-resources": "follows_resources",
    "pod-status": "mirrors_pod_status",
    "explicit-spread": "has_explicit_spread",
    "keep-owners": "keeps_owners",
    "keep-service-accounts": "keeps_accounts",
    "ignore-deletions": "ignores_deletions",
    "restore-deleted": "restores_deleted",
    "freeze-node-status": "freezes_node_status",
}
"""The policies that are switches: their options, and their fields in `SyncPolicies`."""


def read_policies(texts: Iterable[str]) -> SyncPolicies:
    """Return the policies that the values of `--sync-policy` name: the options of `sync`.

    Raises
    ------
    BadParameter
        If one is unknown.
    """
    from podwright.apimachinery.objects import nearest
    from podwright.online.client import BoundPods, SyncPolicies

    bound = {f"bound={each.value}": {"bound": each} for each in BoundPods}
    bound["reschedule-all"] = {"bound": BoundPods.none}
    known: dict[str, dict[str, Any]] = bound | {
        name: {field: True} for name, field in _SWITCHES.items()
    }
    chosen: dict[str, Any] = {}
    for text in texts:
        if text not in known:
            near = nearest(text, known)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}."
            raise typer.BadParameter(
                f'"{text}" is not a policy; {hint}', param_hint="'--sync-policy'"
            )
        chosen |= known[text]
    return SyncPolicies(**chosen)


@command(examples=["podwright sync --to podwright.kubeconfig"])
def sync(options: SyncOptions) -> None:
    """Keep simulated clusters in step with a real one.

    The source is only read. Its nodes, pods and volumes are created in each destination, and later
    changes are applied there, too. The destination schedules new pods itself; each pod that it
    places on another node than the source is a line on stdout.
    """
    policies, source, targets = options.policies(), options.connection.address(), options.targets()
    from podwright.cli.clusters.sync_run import run_check, run_sync

    following = policies, options.selection
    if options.check:
        run_check(source, targets, *following)
    else:
        run_sync(source, targets, *following, options.seconds())


def _named(text: str) -> tuple[str, str]:
    """Return the name of a destination, and its address or kubeconfig."""
    name, separator, cluster = text.partition("=")
    if not separator or "/" in name or Path(text).exists():
        return text, text
    return name, cluster
