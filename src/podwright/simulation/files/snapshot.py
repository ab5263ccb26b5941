"""Snapshots of a cluster as kube-scheduler-simulator exports and imports them.

A snapshot is one JSON object with exactly eight keys: seven lists, whose objects have no kind and
apiVersion as in lists of the API, and the scheduler's configuration. Objects that exist in every
cluster are excluded: priority classes that begin with `system-`, the namespace `default`, and
namespaces that begin with `kube-`. `read_manifest` reads snapshots.

Upstream: simulator/snapshot/snapshot.go (kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    DEFAULT_SCHEDULER_NAME,
    Document,
    KubernetesObject,
    Namespace,
    ObjectMeta,
    encode,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.store import GroupKind, kind_of
from podwright.scheduler.config import API_VERSION, KIND

DEFAULT_CONFIGURATION: Final[Document] = {
    "kind": KIND,
    "apiVersion": API_VERSION,
    "profiles": [{"schedulerName": DEFAULT_SCHEDULER_NAME}],
}
"""The default configuration."""


# The fields have the order of upstream's ResourcesForSnap.
_CONFIGURATION_KEY: Final = "schedulerConfig"
_CONFIGURATION_POSITION: Final = 6


def write_snapshot(
    objects: Iterable[KubernetesObject], *, configuration: Document | None = DEFAULT_CONFIGURATION
) -> bytes:
    """Write a snapshot; the objects of each kind keep their order.

    Parameters
    ----------
    objects : iterable of KubernetesObject
        Objects of kinds that a snapshot does not have are skipped; see `is_in_snapshot`.
    configuration : Document, optional
        A KubeSchedulerConfiguration as `config.to_document` returns it, or as the user wrote it.
        None if an external scheduler is used.
    """
    lists: dict[str, list[Document]] = {key: [] for key in built_in().snapshot_keys}
    key_of = _key_of()
    for obj in objects:
        if is_in_snapshot(obj):
            lists[key_of[kind_of(obj)]].append(_without_type(encode(obj)))
    return encode_snapshot(lists, configuration)


def encode_snapshot(
    lists: Mapping[str, Sequence[Document | msgspec.Raw]], configuration: Document | None
) -> bytes:
    """Encode a snapshot.

    Parameters
    ----------
    lists : mapping of str to sequence
        The objects of every key, without kind and apiVersion; see `write_snapshot`.
    configuration : Document, optional
        As for `write_snapshot`.
    """
    positions = {key: k.row.snapshot_position for key, k in built_in().snapshot_keys.items()}
    positions[_CONFIGURATION_KEY] = _CONFIGURATION_POSITION
    values: dict[str, Any] = {**lists, _CONFIGURATION_KEY: configuration}
    ordered = {key: values[key] for key in sorted(positions, key=positions.__getitem__)}
    return msgspec.json.encode(ordered) + b"\n"


@cache
def _key_of() -> dict[GroupKind, str]:
    return {kind.group_kind: key for key, kind in built_in().snapshot_keys.items()}


def is_in_snapshot(obj: KubernetesObject) -> bool:
    """Whether a snapshot contains this object."""
    return kind_of(obj) in _key_of() and not is_in_every_cluster(obj.kind, obj.name)


def is_in_every_cluster(kind: str, name: str) -> bool:
    """Whether an object exists in every cluster, so that a snapshot does not contain it."""
    if kind == "PriorityClass":
        return name.startswith("system-")
    return kind == "Namespace" and _is_everywhere(name)


def missing_namespaces(objects: Iterable[KubernetesObject]) -> list[Namespace]:
    """Return the namespaces that objects use but that are not among them, sorted by name.

    Files rarely contain them; an API server rejects objects in a namespace that does not exist.
    """
    several = list(objects)
    known = {obj.name for obj in several if isinstance(obj, Namespace)}
    used = {obj.namespace for obj in several if obj.namespace and is_in_snapshot(obj)}
    return [
        Namespace(metadata=ObjectMeta(name=name))
        for name in sorted(used - known)
        if not _is_everywhere(name)
    ]


def _is_everywhere(namespace: str) -> bool:
    return namespace == "default" or namespace.startswith("kube-")


def _without_type(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}
