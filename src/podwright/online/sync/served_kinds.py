"""Which kinds a server has, by its discovery documents.

Upstream: staging/src/k8s.io/client-go/discovery/discovery_client.go, `ServerPreferredResources`
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from podwright.online.client.cluster import ReadConnection, RejectedRequest
from podwright.online.sync.source_kinds import SourceKind

_VERBS: Final = frozenset({"get", "list", "watch", "create", "update", "delete"})
_ABSENT: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE})


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    group_version: str


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    preferred_version: _Version
    versions: Sequence[_Version] = ()


class _Groups(msgspec.Struct, frozen=True):
    groups: Sequence[_Group] = ()


class _Resource(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool
    verbs: Sequence[str]


class _Resources(msgspec.Struct, frozen=True):
    resources: Sequence[_Resource] = ()


async def served_kinds(connection: ReadConnection) -> Sequence[SourceKind]:
    """Return all kinds of a server that can be mirrored, each in one version.

    That is the preferred one of its group, or the first one that has the kind. An aggregated API
    whose server does not answer has none.

    Raises
    ------
    RejectedRequest, UnreachableCluster
    """
    groups = msgspec.json.decode(await connection.get("/apis"), type=_Groups).groups
    versions = dict.fromkeys(["v1"])
    for group in groups:
        for version in (group.preferred_version, *group.versions):
            versions[version.group_version] = None
    found: dict[tuple[str, str], SourceKind] = {}
    for name in versions:
        group_name = name.partition("/")[0] if "/" in name else ""
        for each in await _resources(connection, name):
            if "/" not in each.name and set(each.verbs) >= _VERBS:
                kind = SourceKind(name, each.kind, each.name, each.namespaced, is_required=False)
                found.setdefault((group_name, each.name), kind)
    return list(found.values())


async def _resources(connection: ReadConnection, version: str) -> Sequence[_Resource]:
    path = f"/apis/{version}" if "/" in version else f"/api/{version}"
    try:
        return msgspec.json.decode(await connection.get(path), type=_Resources).resources
    except RejectedRequest as error:
        if error.status in _ABSENT:
            return ()
        raise
