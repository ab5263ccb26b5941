"""Export and import of snapshots of the cluster, for both HTTP APIs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject, NamespacedName, api_group
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.controllers import GarbageCollector
from podwright.cluster.store import NAMESPACE, GroupKind, ObjectStore
from podwright.online.apiserver.cluster_client import ClusterClient, RequestFailed
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.running_scheduler import (
    ExternalScheduler,
    RunningScheduler,
)
from podwright.simulation.files import write_snapshot
from podwright.simulation.kss import (
    PREPARING_WAVES,
    SnapshotImport,
    SnapshotKind,
    apply_request,
    claim_request,
    owners_of,
    with_claim,
    without_owners,
)

_NOT_FOUND: Final = 404
_AT_ONCE: Final = 64
"""So many requests wait for the cluster at a time, so that other clients have their turns."""


_Wave: TypeAlias = Sequence[tuple[SnapshotKind, Document]]


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
        """Apply the configuration and the objects of a snapshot; an error undoes the import.

        Namespaces and classes are applied first, without which others are refused. Nothing
        happens because of them. All others are tried before the first of them is applied.

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
        scheduler = self._scheduler
        present = choice = None
        if given.configuration is not None and self._configuration() is not None:
            present, choice = scheduler.present, scheduler.changed(given.configuration)
        waves = list(given.waves())
        earlier = _EarlierObjects(scheduler.turns.cluster.store)
        try:
            for wave in waves[:PREPARING_WAVES]:
                await self._apply(client, wave, earlier)
            for wave in waves[PREPARING_WAVES:]:
                await self._apply(client, wave)
            if choice is not None:
                await scheduler.continue_with(choice)
            for wave in waves[PREPARING_WAVES:]:
                await self._apply(client, wave, earlier)
        except RequestFailed:
            await scheduler.turns.call(lambda _: earlier.restore())
            if present is not None:
                await scheduler.continue_with(present)
            raise
        return choice is not None

    async def _apply(
        self, client: ClusterClient, wave: _Wave, earlier: _EarlierObjects | None = None
    ) -> None:
        """Apply objects whose earlier versions are kept; without them, only try to."""
        for first in range(0, len(wave), _AT_ONCE):
            part = [(kind, self._kept(each)) for kind, each in wave[first : first + _AT_ONCE]]
            if earlier is not None:
                earlier.keep(part)
            is_dry_run = earlier is None
            # All of them end before an error is raised: what comes late would not be undone.
            found = await asyncio.gather(
                *(_apply(client, kind, document, is_dry_run=is_dry_run) for kind, document in part),
                return_exceptions=True,
            )
            for each in found:
                if each is not None:
                    raise each

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


class _EarlierObjects:
    """Objects as they were before an import."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._objects: dict[tuple[GroupKind, NamespacedName], KubernetesObject | None] = {}

    def keep(self, part: _Wave) -> None:
        """Keep the current versions of objects."""
        for kind, document in part:
            metadata = document["metadata"]
            key = kind.key_of(metadata.get("namespace") or "", metadata["name"])
            found = self._store.get(kind.group_kind, key)
            self._objects.setdefault((kind.group_kind, key), found)

    def restore(self) -> None:
        """Put back the earlier versions, and remove new objects."""
        store = self._store
        for (kind, key), earlier in reversed(self._objects.items()):
            if earlier is not None:
                store.put(earlier)
            elif store.get(kind, key) is not None:
                if kind == NAMESPACE:
                    # What controllers have put into it.
                    for each in list(store.kinds()):
                        for obj in store.list(each, namespace=key).objects:
                            store.drop(each, obj.key)
                store.drop(kind, key)


async def _apply(
    client: ClusterClient, kind: SnapshotKind, document: Document, *, is_dry_run: bool
) -> None:
    request = claim_request(document) if kind.kind == "PersistentVolume" else None
    if request is not None:
        document = with_claim(document, await _found(client, request))
    await client.body_of(apply_request(kind, document, is_dry_run=is_dry_run))


async def _found(client: ClusterClient, request: HttpRequest) -> Document | None:
    """Return an object; None if it does not exist."""
    try:
        found: dict[str, Any] = msgspec.json.decode(await client.body_of(request))
    except RequestFailed as error:
        if error.status != _NOT_FOUND:
            raise
        return None
    return found
