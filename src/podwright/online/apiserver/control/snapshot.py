"""Snapshots of the cluster, and the way back to its start.

An import sends requests to the Kubernetes API with the credentials of the user who imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from podwright.apimachinery.objects import Document, InputError
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints import IMPERSONATION, wire_headers
from podwright.online.apiserver.cluster_client import ClusterClient, RequestFailed
from podwright.online.apiserver.control.endpoints import (
    JSON,
    ControlledCluster,
    Endpoint,
    declared,
    endpoint,
)
from podwright.online.apiserver.control.problems import Problem, input_problem
from podwright.online.apiserver.readers import begun
from podwright.online.apiserver.records.snapshots import Snapshots
from podwright.online.apiserver.wire.sending import CERTIFIED
from podwright.simulation.kss import SnapshotImport, UndecodableSnapshot

_BODY_MAX: Final = 1 << 30
_FORBIDDEN: Final = 403


def _snapshot(name: str, summary: str, objects: Any, *defaults: Any) -> Any:
    """Return a struct with a field for each list of a snapshot, and for the configuration."""
    types = {**dict.fromkeys(built_in().snapshot_keys, objects), "schedulerConfig": Document | None}
    fields = [(key, cls, *defaults) for key, cls in types.items()]
    return msgspec.defstruct(
        name, fields, namespace={"__doc__": summary}, frozen=True, kw_only=True
    )


SnapshotDocument = _snapshot(
    "SnapshotDocument", "The objects of each kind, and the configuration.", list[Document]
)
SnapshotToImport = _snapshot(
    "SnapshotToImport",
    "The objects of each kind, and the configuration; all of them may be missing or null.",
    list[Document] | None,
    None,
)


class ImportedSnapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an import applied.

    Attributes
    ----------
    objects : int
        The number of objects.
    has_configuration : bool
        Whether the profiles and extenders of the snapshot were applied; without a scheduler of
        podwright's own they are not.
    warnings : tuple of str
        How the configuration that was applied differs from that of the snapshot, which may be of
        an older version.
    """

    objects: int
    has_configuration: bool
    warnings: tuple[str, ...] = ()


class RestoredStart(msgspec.Struct, frozen=True):
    """The cluster after a reset.

    Attributes
    ----------
    objects : int
        The number of objects that were there at the start.
    """

    objects: int


class _Snapshot:
    """The endpoints."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._cluster = cluster
        self._snapshots = Snapshots(cluster.scheduler)

    @endpoint("GET", "/snapshot", reply=SnapshotDocument)
    async def export(self) -> Response:
        """Export a snapshot of the cluster, in the format of kube-scheduler-simulator."""
        return StreamingResponse(await begun(self._snapshots.export()), media_type=JSON)

    @endpoint("POST", "/snapshot", body=SnapshotToImport, body_max=_BODY_MAX)
    async def load(self, body: bytes, request: Request) -> ImportedSnapshot:
        """Import a snapshot: apply its objects, and the profiles of its configuration."""
        try:
            given = SnapshotImport(body)
        except UndecodableSnapshot as error:
            raise Problem(422, str(error)) from error
        if given.unknown_keys:
            key = given.unknown_keys[0]
            raise Problem(422, f"a snapshot has no key {key!r}", field=key)
        client = ClusterClient(
            self._cluster.turns,
            _identity(wire_headers(request.scope["headers"])),
            certified=request.scope["state"].get(CERTIFIED),
        )
        try:
            has_configuration = await self._snapshots.load(client, given)
        except InputError as error:
            raise input_problem(error, prefix="schedulerConfig.") from error
        except RequestFailed as error:
            raise Problem(_FORBIDDEN if error.status == _FORBIDDEN else 422, str(error)) from error
        return ImportedSnapshot(
            objects=sum(map(len, given.waves())),
            has_configuration=has_configuration,
            warnings=given.warnings if has_configuration else (),
        )

    @endpoint("POST", "/reset")
    async def reset(self) -> RestoredStart:
        """Restore the objects and the configuration of the start."""
        return RestoredStart(await self._cluster.scheduler.reset())


def _identity(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that say who the user is."""
    return {
        name: value
        for name, value in headers.items()
        if name == "authorization" or name.startswith(IMPERSONATION)
    }


def snapshot_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoints of snapshots."""
    return declared(_Snapshot(cluster))
