"""Export and import of snapshots by requests to the cluster."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from podwright.api.endpoints import HttpRequest
from podwright.apiserver.kss_api.cluster_client import ClusterClient, RequestFailed
from podwright.kss import (
    SnapshotImport,
    SnapshotKind,
    apply_request,
    claim_request,
    list_request,
    snapshot,
    snapshot_kinds,
    with_claim,
)
from podwright.objects import Document

_NOT_FOUND: Final = 404
_AT_ONCE: Final = 64
"""So many requests wait for the cluster at a time, so that other clients have their turns."""


async def exported(client: ClusterClient, configuration: Document | None) -> bytes:
    """Return a snapshot of the cluster.

    Raises
    ------
    RequestFailed
    """
    kinds = snapshot_kinds()
    bodies = await asyncio.gather(*(client.body_of(list_request(k)) for k in kinds.values()))
    return snapshot(dict(zip(kinds, bodies, strict=True)), configuration)


async def imported(client: ClusterClient, given: SnapshotImport) -> None:
    """Apply the objects of a snapshot; the first error ends the import.

    Raises
    ------
    RequestFailed
    """
    for wave in given.waves():
        for first in range(0, len(wave), _AT_ONCE):
            part = wave[first : first + _AT_ONCE]
            await asyncio.gather(*(_apply(client, kind, document) for kind, document in part))


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
