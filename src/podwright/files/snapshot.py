"""Snapshots of a cluster as kube-scheduler-simulator exports and imports them.

A snapshot is one JSON object with exactly eight keys: seven lists, whose objects have no kind and
apiVersion as in lists of the API, and the scheduler's configuration. Objects that exist in every
cluster are excluded: priority classes that begin with `system-`, the namespace `default`, and
namespaces that begin with `kube-`. `read_manifest` reads snapshots.

Upstream: simulator/snapshot/snapshot.go (kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from podwright.config import API_VERSION, KIND
from podwright.files.documents import SNAPSHOT_KEYS
from podwright.objects import (
    DEFAULT_SCHEDULER_NAME,
    TYPES,
    Document,
    KubernetesObject,
    Namespace,
    ObjectMeta,
    PriorityClass,
    encode,
)
from podwright.store import GroupKind, group_kind, kind_of

DEFAULT_CONFIGURATION: Final[Document] = {
    "kind": KIND,
    "apiVersion": API_VERSION,
    "profiles": [{"schedulerName": DEFAULT_SCHEDULER_NAME}],
}
"""The default configuration."""

_ORDER = ("pods", "nodes", "pvs", "pvcs", "storageClasses", "priorityClasses")
_GROUP_KIND = {cls.kind: group_kind(cls) for cls in reversed(TYPES)}
_KEY_OF: dict[GroupKind, str] = {_GROUP_KIND[kind]: key for key, kind in SNAPSHOT_KEYS.items()}


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
    lists: dict[str, list[Document]] = {key: [] for key in (*_ORDER, "namespaces")}
    for obj in objects:
        if is_in_snapshot(obj):
            lists[_KEY_OF[kind_of(obj)]].append(_without_type(encode(obj)))
    # In the order of the fields of upstream's ResourcesForSnap.
    snapshot: dict[str, Any] = {key: lists[key] for key in _ORDER}
    snapshot["schedulerConfig"] = configuration
    snapshot["namespaces"] = lists["namespaces"]
    return msgspec.json.encode(snapshot) + b"\n"


def is_in_snapshot(obj: KubernetesObject) -> bool:
    """Whether a snapshot contains this object."""
    if isinstance(obj, PriorityClass):
        return not obj.name.startswith("system-")
    if isinstance(obj, Namespace):
        return not _is_everywhere(obj.name)
    return kind_of(obj) in _KEY_OF


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
