"""The managers of `spec.replicas`, as the subresource `scale` has them.

A Scale is an object of its own, with entries only of those who set the replicas of the object.
After a write of the Scale, its entries become entries of the object again.

Upstream: k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching.field_sets import LEAF, FieldSet, difference, is_member
from podwright.apimachinery.patching.managed_fields import (
    Manager,
    Managers,
    Owned,
    read_entries,
    written_entries,
)

SCALE_API_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final[FieldSet] = {"f:spec": {"f:replicas": LEAF}}


def scale_entries(entries: Any, paths: Mapping[str, tuple[str, ...]]) -> list[Document]:
    """Return the entries of a Scale.

    Parameters
    ----------
    entries : list of dict
        `managedFields` of the object.
    paths : mapping
        By `apiVersion` of the object, the field names on the path of its replicas.
    """
    found: Managers = {}
    for manager, one in read_entries(entries).items():
        path = paths.get(one.api_version)
        if path and _has(one.fields, path):
            found[_of_scale(manager)] = Owned(_REPLICAS, SCALE_API_VERSION, one.time)
    return written_entries(found)


def object_entries(
    entries: Any,
    scale: Any,
    api_version: str,
    paths: Mapping[str, tuple[str, ...]],
) -> list[Document]:
    """Return the entries of an object after a write of its Scale.

    Parameters
    ----------
    entries : list of dict
        `managedFields` of the object before the write.
    scale : list of dict
        `managedFields` of the Scale after it.
    api_version : str
        The version of the object.
    paths : mapping
        As for `scale_entries`.
    """
    parents, of_scale = read_entries(entries), read_entries(scale)
    found: Managers = {}
    for manager, one in parents.items():
        path = paths.get(one.api_version)
        if path is None:
            continue
        if not path or not _has(one.fields, path):
            found[manager] = one
        elif _of_scale(manager) in of_scale:
            found[manager] = one
            del of_scale[_of_scale(manager)]
        else:
            fields = difference(one.fields, _path_set(path))
            if fields:
                found[manager] = Owned(fields, one.api_version, one.time)
    for manager, one in of_scale.items():
        if not _has(one.fields, ("spec", "replicas")):
            continue
        version = api_version if manager.operation == "Update" else ""
        parent = manager._replace(api_version=version)
        time = parents[parent].time if parent in parents else None
        found[parent] = Owned(_path_set(paths[api_version]), api_version, time)
    return written_entries(found)


def _of_scale(manager: Manager) -> Manager:
    return manager if not manager.api_version else manager._replace(api_version=SCALE_API_VERSION)


def _path_set(path: tuple[str, ...]) -> FieldSet:
    found: FieldSet = LEAF
    for name in reversed(path):
        found = {f"f:{name}": found}
    return found


def _has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    node: Any = fields
    for name in path:
        node = node.get(f"f:{name}")
        if node is None:
            return False
    return is_member(node)
