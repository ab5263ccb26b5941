"""`podwright up`: what fills the cluster from another one, or from a record, while it is served."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import typer

from podwright.apimachinery.objects import PodwrightError, nearest
from podwright.cli.clusters.cluster_inputs import ImportedSource
from podwright.cli.clusters.cluster_options import (
    SelectionOptions,
    address_of_source,
    run_remote,
    warn_of_version,
)
from podwright.cli.console import print_message
from podwright.online.client import BoundPods, SyncPolicies

if TYPE_CHECKING:
    from podwright.online.client.cluster import ClusterAddress

Background: TypeAlias = Callable[[Any], Coroutine[Any, Any, None]]
"""What runs beside a turn loop."""

POLICIES: Final[dict[str, dict[str, Any]]] = {
    "bound=initial": {"bound": BoundPods.initial},
    "bound=none": {"bound": BoundPods.none},
    "bound=kss": {"bound": BoundPods.kss},
    "bound=source": {"bound": BoundPods.source},
    "reschedule-all": {"bound": BoundPods.none},
    "exclude-running": {"excludes_running": True},
    "follow-labels": {"follows_labels": True},
    "follow-resources": {"follows_resources": True},
    "pod-status": {"mirrors_pod_status": True},
    "explicit-spread": {"has_explicit_spread": True},
    "keep-owners": {"keeps_owners": True},
    "keep-service-accounts": {"keeps_accounts": True},
    "ignore-deletions": {"ignores_deletions": True},
    "restore-deleted": {"restores_deleted": True},
    "freeze-node-status": {"freezes_node_status": True},
}
"""The policies of `--sync-policy`, which are the options of `podwright sync`."""


class ReplayPace(Enum):
    """What the changes of a record wait for: their times, nothing, or lines on stdin."""

    recorded = "recorded"
    immediate = "immediate"
    steps = "steps"


class Filling(msgspec.Struct, frozen=True, kw_only=True):
    """What fills a cluster that is served, from other clusters or a record.

    Attributes
    ----------
    imported : str
        The cluster whose objects are read at the start; "" for none.
    source : str
        The cluster that is followed, as `address_of_source` reads it; "" for none.
    selection : SelectionOptions
        Which objects of these clusters.
    policies : SyncPolicies
    replay : Path, optional
        The record that is applied.
    pace : ReplayPace
    """

    imported: str = ""
    source: str = ""
    selection: SelectionOptions = SelectionOptions()
    policies: SyncPolicies = SyncPolicies()
    replay: Path | None = None
    pace: ReplayPace = ReplayPace.recorded

    def imported_source(self) -> ImportedSource | None:
        """Return the cluster whose objects are read at the start."""
        return ImportedSource(self.imported, self.selection) if self.imported else None


def read_policies(texts: Sequence[str]) -> SyncPolicies:
    """Read the values of `--sync-policy`."""
    policies = SyncPolicies()
    for text in texts:
        if text not in POLICIES:
            near = nearest(text, POLICIES)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(POLICIES)}."
            raise typer.BadParameter(
                f'"{text}" is not a policy; {hint}', param_hint="'--sync-policy'"
            )
        policies = msgspec.structs.replace(policies, **POLICIES[text])
    return policies


def background_of(filling: Filling, kubeconfig: Path, *, speed: float) -> Sequence[Background]:
    """Return what fills the cluster; checks first that the source can be read.

    Parameters
    ----------
    filling : Filling
    kubeconfig : Path
        Of the cluster that is served.
    speed : float
        How many seconds of a record a second is.

    Raises
    ------
    MissingLiveError
    InputError
        The record cannot be read.
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    if not filling.source and filling.replay is None:
        return ()
    from podwright.cli.clusters.cluster_options import check_installed

    check_installed()
    from podwright.online.client.cluster import ClusterAddress

    own = ClusterAddress(kubeconfig=str(kubeconfig), environment=dict(os.environ))
    if filling.replay is not None:
        at = speed if filling.pace is ReplayPace.recorded else None
        steps = filling.pace is ReplayPace.steps
        work = partial(_replay, filling.replay, own, at, steps=steps)
        return (_reported(work, "--replay"),)
    source = address_of_source(filling.source)
    run_remote(partial(_check, source))
    return (_reported(partial(_follow, source, own, filling), "--sync"),)


def _reported(work: Callable[[], Coroutine[Any, Any, None]], option: str) -> Background:
    async def run(_: object) -> None:
        try:
            await work()
        except PodwrightError as error:
            print_message(f"{option}: {error}; the cluster is served, and not filled any longer")

    return run


async def _check(source: ClusterAddress) -> None:
    from podwright.online.client.cluster import ReadConnection, cluster_identity

    async with ReadConnection(source) as connection:
        await warn_of_version(connection)
        await cluster_identity(connection)


async def _follow(source: ClusterAddress, own: ClusterAddress, filling: Filling) -> None:
    from podwright.cli.clusters.sync_run import SyncOptions, new_sync
    from podwright.online.client.cluster import ReadConnection
    from podwright.online.sync import Target

    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(ReadConnection(source))
        target = await stack.enter_async_context(Target(own, "here"))
        scope = await SyncOptions.of(filling.selection, filling.policies).scope(connection)
        sync = new_sync(connection, scope, filling.policies)
        await sync.open([target])
        await sync.run()


async def _replay(path: Path, own: ClusterAddress, speed: float | None, *, steps: bool) -> None:
    from podwright.cli.clusters.replay_run import Replay, ReplayOptions
    from podwright.online.sync import Target

    replay = Replay(ReplayOptions(speed=speed, steps=steps, is_strict=False))
    async with Target(own, "here") as target:
        await replay.run(path, target)
        replay.summarize(target)
