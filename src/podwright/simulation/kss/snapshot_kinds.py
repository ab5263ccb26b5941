"""The kinds that kube-scheduler-simulator exports, imports and streams, and their requests.

The simulator is a client of the Kubernetes API: what it reads and writes are requests to the API
server of the cluster.

Upstream: simulator/snapshot/snapshot.go, simulator/resourcewatcher/resourcewatcher.go
(kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import NamespacedName, api_group
from podwright.apimachinery.schema import Kind, built_in
from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.store import GroupKind

FIELD_MANAGER: Final = "simulator"


class SnapshotKind(msgspec.Struct, frozen=True):
    """One kind of object in a snapshot.

    Attributes
    ----------
    key : str
        Its list in a snapshot, such as `pvcs`.
    api_version, kind, resource : str
    is_namespaced : bool
    """

    key: str
    api_version: str
    kind: str
    resource: str
    is_namespaced: bool

    @property
    def collection(self) -> str:
        """The path of all objects of the kind."""
        root = "/apis/" if "/" in self.api_version else "/api/"
        return f"{root}{self.api_version}/{self.resource}"

    @property
    def group_kind(self) -> GroupKind:
        """The kind in a store."""
        return api_group(self.api_version), self.kind

    def key_of(self, namespace: str, name: str) -> NamespacedName:
        """Return the key of an object."""
        return f"{namespace or 'default'}/{name}" if self.is_namespaced else name

    def path(self, namespace: str, name: str) -> str:
        """Return the path of an object."""
        if not self.is_namespaced:
            return f"{self.collection}/{name}"
        prefix = self.collection.removesuffix(self.resource)
        return f"{prefix}namespaces/{namespace or 'default'}/{self.resource}/{name}"


def snapshot_kinds() -> Mapping[str, SnapshotKind]:
    """Return the kinds by their keys, in the order in which they are created."""
    return {key: _kind(key, kind) for key, kind in built_in().snapshot_keys.items()}


def _kind(key: str, kind: Kind) -> SnapshotKind:
    row = kind.row
    return SnapshotKind(key, kind.api_version, row.kind, row.resource, row.namespaced)


def list_request(kind: SnapshotKind) -> HttpRequest:
    """Return the request for all objects of a kind."""
    return HttpRequest("GET", kind.collection)


def watch_request(kind: SnapshotKind, resource_version: str) -> HttpRequest:
    """Return the request for the changes of a kind since a version."""
    return HttpRequest("GET", kind.collection, f"watch=true&resourceVersion={resource_version}")
