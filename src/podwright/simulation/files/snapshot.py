"""Snapshots of a cluster as kube-scheduler-simulator exports and imports them.

A snapshot is one JSON object with exactly eight keys: seven lists, whose objects have no kind and
apiVersion as in lists of the API, and the scheduler's configuration. Objects that exist in every
cluster are excluded: priority classes that start with `system-`, the namespace `default`, and
namespaces that start with `kube-`. `read_manifest` reads snapshots.

Upstream: kube-scheduler-simulator simulator/snapshot/snapshot.go
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    DEFAULT_SCHEDULER_NAME,
    Document,
    FieldError,
    InputError,
    KubernetesObject,
    Namespace,
    ObjectMeta,
    encode,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.store import GroupKind, kind_of
from podwright.scheduler.config import (
    API_VERSION,
    KIND,
    POINT_TYPES,
    REPLACED_BY,
    read_configuration,
)

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


# The scheduler configuration of a snapshot, which any version of the simulator may have written.
#
# kube-scheduler-simulator exports the configuration of the version of Kubernetes that it was built
# for, and older versions export it without `apiVersion` and `kind`. It is read as version v1:
# fields and plugins that v1 does not have are removed and reported.

_UNKNOWN = "unknown field"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def readable_configuration(exported: Document) -> tuple[Document, tuple[str, ...]]:
    """Return a configuration of version v1, and the differences from the exported one.

    Parameters
    ----------
    exported : dict
        The `schedulerConfig` of a snapshot, which is not modified. Errors other than unknown
        fields and removed plugins stay in the result.
    """
    document = copy.deepcopy(exported)
    notes: list[str] = []
    # Documents without a version are marked with the group only.
    written = document.get("apiVersion") if "kind" in document else None
    if written != API_VERSION or document.get("kind") != KIND:
        what = f"its version is {written}" if written else "it has no apiVersion and kind"
        notes.append(f"{what}; it is read as {API_VERSION}")
    document |= {"apiVersion": API_VERSION, "kind": KIND}
    notes += _without_removed_plugins(document)
    unknown = [error.path for error in _errors(document) if error.message.startswith(_UNKNOWN)]
    for path in unknown:
        _remove(document, path)
    if unknown:
        notes.append(f"fields that {API_VERSION} does not have are ignored: {', '.join(unknown)}")
    return document, tuple(notes)


def _errors(document: Document) -> tuple[FieldError, ...]:
    try:
        read_configuration(document, source="")
    except InputError as error:
        return tuple(error.errors)
    return ()


def _without_removed_plugins(document: Document) -> list[str]:
    removed: dict[str, None] = {}
    for profile in _dicts(document.get("profiles")):
        sets = profile.get("plugins") or {}
        for point in POINT_TYPES:
            plugin_set = sets.get(point) if isinstance(sets, dict) else None
            if not isinstance(plugin_set, dict) or not plugin_set.get("enabled"):
                continue
            gone = [e for e in _dicts(plugin_set["enabled"]) if e.get("name") in REPLACED_BY]
            removed |= dict.fromkeys(entry["name"] for entry in gone)
            if gone:
                plugin_set["enabled"] = [e for e in plugin_set["enabled"] if e not in gone]
    if not removed:
        return []
    return [f"plugins that Kubernetes has removed are ignored: {', '.join(removed)}"]


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if type(values) is list else []


def _remove(document: Document, path: str) -> None:
    """Remove the field at a path such as `profiles[0].weight`."""
    steps = [int(index) if index else name for name, index in _STEP.findall(path)]
    container: Any = document
    for step in steps[:-1]:
        container = container[step]
    del container[steps[-1]]
