"""Export and import of snapshots of the cluster, for both HTTP APIs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

from podwright.api.endpoints import HttpRequest
from podwright.apiserver.cluster_client import ClusterClient, RequestFailed
from podwright.apiserver.readers import Readers
from podwright.apiserver.running_scheduler import ExternalScheduler, RunningScheduler
from podwright.controllers import GarbageCollector
from podwright.files import write_snapshot
from podwright.kss import (
    SnapshotImport,
    SnapshotKind,
    apply_request,
    claim_request,
    owners_of,
    with_claim,
    without_owners,
)
from podwright.objects import Document, api_group
from podwright.schema import built_in

_NOT_FOUND: Final = 404
_AT_ONCE: Final = 64
"""So many requests wait for the cluster at a time, so that other clients have their turns."""


class Snapshots:
    """Exports and imports snapshots of a cluster.

    Parameters
    ----------
    scheduler : RunningScheduler
        Of the cluster.
    """

    def __init__(self, scheduler: RunningScheduler) -> None:
        self._scheduler = scheduler
        self._readers = Readers(scheduler.turns)

    def export(self) -> AsyncIterator[bytes]:
        """Return the parts of a snapshot of the cluster in JSON; a reader process encodes it.

        Its configuration is null if podwright does not schedule the pods.
        """
        store = self._scheduler.turns.cluster.store
        configuration = self._configuration()
        kinds = [each.group_kind for each in built_in().snapshot_keys.values()]

        def encoded() -> bytes:
            objects = [obj for kind in kinds for obj in store.list(kind).objects]
            return write_snapshot(objects, configuration=configuration)

        return self._readers.parts(encoded)

    async def load(self, client: ClusterClient, given: SnapshotImport) -> bool:
        """Apply the configuration and the objects of a snapshot; the first error ends the import.

        Parameters
        ----------
        client : ClusterClient
            Sends the requests.
        given : SnapshotImport

        Returns
        -------
        bool
            Whether the snapshot has a configuration that was applied; without a scheduler of
            podwright's own it is not.

        Raises
        ------
        InputError
            The configuration is rejected.
        RequestFailed
            The API server rejected an object.
        """
        has_configuration = given.configuration is not None and self._configuration() is not None
        if has_configuration:
            assert given.configuration is not None, "has_configuration"
            await self._scheduler.apply(given.configuration)
        for wave in given.waves():
            for first in range(0, len(wave), _AT_ONCE):
                part = [(kind, self._kept(each)) for kind, each in wave[first : first + _AT_ONCE]]
                await asyncio.gather(*(_apply(client, kind, document) for kind, document in part))
        return has_configuration

    def _kept(self, document: Document) -> Document:
        """Return an object as it can stay in the cluster.

        A snapshot has no ReplicaSets and Jobs; the garbage collector would delete their pods.
        """
        owners = owners_of(document)
        controllers = self._scheduler.turns.cluster.world.components.controllers
        if not owners or not controllers.runs(GarbageCollector.name):
            return document
        namespace = document["metadata"].get("namespace") or ""
        removed = [each for each in owners if not self._exists(each, namespace)]
        return without_owners(document, removed) if removed else document

    def _exists(self, owner: Document, namespace: str) -> bool:
        """Whether an owner exists, as the garbage collector determines it."""
        kind = api_group(str(owner.get("apiVersion") or "")), str(owner.get("kind") or "")
        if built_in().of(*kind) is None:
            return True
        store = self._scheduler.turns.cluster.store
        name = str(owner.get("name") or "")
        found = (store.get(kind, key) for key in (f"{namespace}/{name}", name))
        return any(each is not None and each.uid == owner.get("uid") for each in found)

    def _configuration(self) -> Document | None:
        try:
            return self._scheduler.configuration()
        except ExternalScheduler:
            return None


async def _apply(client: ClusterClient, kind: SnapshotKind, document: Document) -> None:
    request = claim_request(document) if kind.kind == "PersistentVolume" else None
    if request is not None:
        document = with_claim(document, await _found(client, request))
    await client.body_of(apply_request(kind, document))


async def _found(client: ClusterClient, request: HttpRequest) -> Document | None:
    """Return an object; None if it does not exist."""
    try:
        found: dict[str, Any] = msgspec.json.decode(await client.body_of(request))
    except RequestFailed as error:
        if error.status != _NOT_FOUND:
            raise
        return None
    return found
