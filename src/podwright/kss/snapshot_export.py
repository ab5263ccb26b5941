"""Snapshots of a served cluster, from the lists of its API.

Upstream: simulator/snapshot/snapshot.go, `Snap` (kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podwright.files import encode_snapshot, is_in_every_cluster
from podwright.kss.snapshot_kinds import snapshot_kinds
from podwright.objects import Document


class _Metadata(msgspec.Struct, frozen=True):
    name: str


class _Named(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _List(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw]


def snapshot(lists: Mapping[str, bytes], configuration: Document | None) -> bytes:
    """Return a snapshot in JSON.

    Parameters
    ----------
    lists : mapping of str to bytes
        For the key of each kind, the reply of the API server to `list_request`.
    configuration : Document, optional
        The KubeSchedulerConfiguration; None if another scheduler schedules the pods.
    """
    found = {
        key: [
            item
            for item in msgspec.json.decode(lists[key], type=_List).items
            if not is_in_every_cluster(kind.kind, _name_of(item))
        ]
        for key, kind in snapshot_kinds().items()
    }
    return encode_snapshot(found, configuration)


def _name_of(item: msgspec.Raw) -> str:
    return msgspec.json.decode(item, type=_Named).metadata.name
