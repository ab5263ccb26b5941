"""`podwright up`: what fills the cluster from another one, or from a record, while it is served."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from podwright.apimachinery.objects import PodwrightError
from podwright.cli.clusters.cluster_options import (
    SelectionOptions,
    address_of_source,
    run_remote,
    warn_of_version,
)
from podwright.cli.console import print_message
from podwright.cli.serving.up_options import InputOptions
from podwright.online.client import SyncPolicies

if TYPE_CHECKING:
    from podwright.online.client.cluster import ClusterAddress

Background: TypeAlias = Callable[[Any], Coroutine[Any, Any, None]]
"""What runs beside a turn loop."""


def background_of(
    inputs: InputOptions, policies: SyncPolicies, kubeconfig: Path, *, speed: float
) -> Sequence[Background]:
    """Return what fills the cluster; checks first that the source can be read.

    Parameters
    ----------
    inputs : InputOptions
    policies : SyncPolicies
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
    if not inputs.sync and inputs.replay is None:
        return ()
    from podwright.cli.clusters.cluster_options import check_installed

    check_installed()
    from podwright.online.client.cluster import ClusterAddress

    own = ClusterAddress(kubeconfig=str(kubeconfig), environment=dict(os.environ))
    if inputs.replay is not None:
        at = None if inputs.immediate or inputs.step else speed
        work = partial(_replay, inputs.replay, own, at, steps=inputs.step)
        return (_reported(work, "--replay"),)
    source = address_of_source(inputs.sync)
    run_remote(partial(_check, source))
    return (_reported(partial(_follow, source, own, inputs.selection, policies), "--sync"),)


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


async def _follow(
    source: ClusterAddress,
    own: ClusterAddress,
    selection: SelectionOptions,
    policies: SyncPolicies,
) -> None:
    from podwright.cli.clusters.sync_run import new_sync, scope_of
    from podwright.online.client.cluster import ReadConnection
    from podwright.online.sync import Target

    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(ReadConnection(source))
        target = await stack.enter_async_context(Target(own, "here"))
        scope = await scope_of(connection, selection)
        sync = new_sync(connection, scope, policies)
        await sync.open([target])
        await sync.run()


async def _replay(path: Path, own: ClusterAddress, speed: float | None, *, steps: bool) -> None:
    from podwright.cli.clusters.replay_run import Replay
    from podwright.online.sync import Target

    replay = Replay(speed, steps=steps)
    async with Target(own, "here") as target:
        await replay.run(path, target)
        replay.summarize(target)
