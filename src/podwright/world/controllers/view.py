"""The cluster as controllers see it: every object, by the relations they ask for.

All controllers share one view, and whoever runs them puts every change into it before any of
them hears of it. Objects are shared with the store, never changed.

What is returned is in the order in which objects appeared; a controller that lets an order
decide sorts by something that can be seen in the objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from podwright.objects import (
    KubernetesObject,
    NamespacedName,
    Pod,
)
from podwright.store.kinds import GroupKind, kind_of

Objects: TypeAlias = dict[NamespacedName, KubernetesObject]

_NONE: Mapping[NamespacedName, KubernetesObject] = MappingProxyType({})
_NO_PODS: Mapping[NamespacedName, Pod] = MappingProxyType({})


class View:
    """Every object of a cluster, by kind, namespace, controller and node."""

    def __init__(self) -> None:
        self._objects: dict[GroupKind, Objects] = {}
        self._in_namespace: dict[tuple[GroupKind, str], Objects] = {}
        self._controlled_by: dict[tuple[str, GroupKind], Objects] = {}
        self._pods_on: dict[str, dict[NamespacedName, Pod]] = {}

    def get(self, kind: GroupKind, key: NamespacedName) -> KubernetesObject | None:
        """Return one object, None if there is none."""
        objects = self._objects.get(kind)
        return None if objects is None else objects.get(key)

    def all(self, kind: GroupKind) -> Mapping[NamespacedName, KubernetesObject]:
        """Return all objects of a kind."""
        return self._objects.get(kind, _NONE)

    def in_namespace(
        self, kind: GroupKind, namespace: str
    ) -> Mapping[NamespacedName, KubernetesObject]:
        """Return the objects of a kind in a namespace."""
        return self._in_namespace.get((kind, namespace), _NONE)

    def controlled_by(self, uid: str, kind: GroupKind) -> Mapping[NamespacedName, KubernetesObject]:
        """Return the objects of a kind whose controlling owner has a uid."""
        return self._controlled_by.get((uid, kind), _NONE)

    def pods_on(self, node: str) -> Mapping[NamespacedName, Pod]:
        """Return the pods that are bound to a node."""
        return self._pods_on.get(node, _NO_PODS)

    def kinds(self) -> list[GroupKind]:
        """Return the kinds of which there are or have been objects, sorted."""
        return sorted(self._objects)

    def put(self, obj: KubernetesObject) -> KubernetesObject | None:
        """Take an object in and return what it was before."""
        # On the way of every change: what is there is asked for before something is made.
        kind, key, metadata = kind_of(obj), obj.key, obj.metadata
        objects = self._objects.get(kind)
        if objects is None:
            objects = self._objects[kind] = {}
        old = objects.get(key)
        objects[key] = obj
        if metadata.namespace:
            place = (kind, metadata.namespace)
            neighbours = self._in_namespace.get(place)
            if neighbours is None:
                neighbours = self._in_namespace[place] = {}
            neighbours[key] = obj
        owner = obj.metadata.controller if metadata.owner_references else None
        if old is not None and old.metadata.owner_references is not metadata.owner_references:
            was = old.metadata.controller
            if was is not None and (owner is None or was.uid != owner.uid):
                self._let_go((was.uid, kind), key)
        if owner is not None:
            owned = (owner.uid, kind)
            siblings = self._controlled_by.get(owned)
            if siblings is None:
                siblings = self._controlled_by[owned] = {}
            siblings[key] = obj
        if type(obj) is Pod:
            node = obj.spec.node_name
            if isinstance(old, Pod) and old.spec.node_name and old.spec.node_name != node:
                self._leave_node(old)
            if node:
                pods = self._pods_on.get(node)
                if pods is None:
                    pods = self._pods_on[node] = {}
                pods[key] = obj
        return old

    def delete(self, obj: KubernetesObject) -> KubernetesObject | None:
        """Forget an object and return what it was."""
        kind, key = kind_of(obj), obj.key
        old = self._objects.get(kind, {}).pop(key, None)
        if old is None:
            return None
        if old.namespace:
            objects = self._in_namespace[kind, old.namespace]
            del objects[key]
            if not objects:
                del self._in_namespace[kind, old.namespace]
        owner = old.metadata.controller
        if owner is not None:
            self._let_go((owner.uid, kind), key)
        if isinstance(old, Pod) and old.spec.node_name:
            self._leave_node(old)
        return old

    def _let_go(self, place: tuple[str, GroupKind], key: NamespacedName) -> None:
        objects = self._controlled_by.get(place)
        if objects is not None:
            objects.pop(key, None)
            if not objects:
                del self._controlled_by[place]

    def _leave_node(self, pod: Pod) -> None:
        pods = self._pods_on.get(pod.spec.node_name)
        if pods is not None:
            pods.pop(pod.key, None)
            if not pods:
                del self._pods_on[pod.spec.node_name]
