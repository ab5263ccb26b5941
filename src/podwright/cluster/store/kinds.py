"""Group and kind: how the store identifies kinds."""

from __future__ import annotations

from typing import TypeAlias

from podwright.apimachinery.objects import KubernetesObject, Pod, Unknown, api_group

GroupKind: TypeAlias = tuple[str, str]
"""API group and kind, independent of the API version."""

KindLike: TypeAlias = GroupKind | type[KubernetesObject]
"""Group and kind, or the struct of a typed kind."""

NAMESPACE: GroupKind = ("", "Namespace")
POD: GroupKind = ("", "Pod")
EVENT: GroupKind = ("", "Event")
"""The stored kind of the Events of both groups."""

_OF_CLASS: dict[type[KubernetesObject], GroupKind] = {}


def group_kind(kind: KindLike) -> GroupKind:
    """Return the group and kind of a struct class; a GroupKind is returned as it is."""
    if isinstance(kind, tuple):
        return kind
    found = _OF_CLASS.get(kind)
    if found is None:
        found = _OF_CLASS[kind] = (api_group(kind.api_version), kind.kind)
    return found


def kind_of(obj: KubernetesObject) -> GroupKind:
    """Return the group and kind of an object."""
    cls = type(obj)
    if cls is Pod:
        return POD
    if cls is Unknown:
        return (api_group(obj.api_version), obj.kind)
    return group_kind(cls)
