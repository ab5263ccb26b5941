"""The stream of all changes, merged from a watch for each kind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.online.apiserver.cluster_client import ClusterClient
from podwright.online.apiserver.kss_api.scheduler_results import SchedulerResults
from podwright.simulation.kss import (
    Change,
    SnapshotKind,
    change_of,
    last_version,
    list_request,
    listed,
    snapshot_kinds,
    watch_request,
)

_LOG: Final = logging.getLogger("podwright.simulation.kss")
_WAITING_MAX: Final = 256
"""So many lines wait for the client; then no more are read from the watches."""


async def change_lines(
    client: ClusterClient, results: SchedulerResults, parameters: Mapping[str, str]
) -> AsyncIterator[bytes]:
    """Yield the lines of the stream until the watch of a kind ends or fails.

    Parameters
    ----------
    client : ClusterClient
    results : SchedulerResults
        Its annotations are added to the pods that are sent.
    parameters : mapping of str to str
        The query parameters; see `podwright.simulation.kss.PARAMETERS`.
    """
    waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING_MAX)

    async def read(kind: SnapshotKind) -> None:
        try:
            async for change in _changes(client, kind, last_version(parameters, kind)):
                await waiting.put(await _line(results, change))
        except PodwrightError:
            pass  # one watch that fails ends the stream, as in the original
        finally:
            await waiting.put(None)

    tasks = [asyncio.create_task(read(kind)) for kind in snapshot_kinds().values()]
    try:
        while (line := await waiting.get()) is not None:
            yield line
    finally:
        for task in tasks:
            task.cancel()


async def _changes(
    client: ClusterClient, kind: SnapshotKind, version: str
) -> AsyncIterator[Change]:
    if not version:
        changes, version = listed(kind, await client.body_of(list_request(kind)))
        for change in changes:
            yield change
    async for line in client.lines_of(watch_request(kind, version)):
        found = change_of(kind, line)
        if found is not None:
            yield found


class _Key(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""


async def _line(results: SchedulerResults, change: Change) -> bytes:
    if change.kind.kind != "Pod":
        return change.line()
    key = msgspec.json.decode(change.obj["metadata"], type=_Key)
    pod = f"{key.namespace}/{key.name}"
    try:
        return change.line(await results.annotations(pod))
    except PodwrightError as error:
        _LOG.error("pod %s is sent without its results: %s", pod, error)
        return change.line()
