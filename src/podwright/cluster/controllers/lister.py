"""The objects of the cluster, indexed by the relations that controllers look up.

All controllers share one lister. `ControllerLoop` updates it before it delivers a change to
them. Objects are shared with the store and never changed in place.

Results are in the order in which objects were added; a controller whose decision depends on
the order sorts by a field of the objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias, TypeVar, cast

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    ObjectMeta,
    Pod,
    Unknown,
)
from podwright.cluster.store import EVENT, POD, GroupKind, Names, kind_of

Objects: TypeAlias = dict[NamespacedName, KubernetesObject]
Keys: TypeAlias = dict[NamespacedName, None]
IndexValue = TypeVar("IndexValue")

_NONE: Mapping[NamespacedName, KubernetesObject] = MappingProxyType({})


class _NamedEvents(Mapping[NamespacedName, KubernetesObject]):
    """The Events of a cluster, of which only the names are kept.

    There can be more Events than all other objects, and controllers only delete and count them.
    """

    def __init__(self) -> None:
        self.names = Names()

    def __getitem__(self, key: NamespacedName) -> KubernetesObject:
        namespace, _, name = key.rpartition("/")
        if key not in self.names.of(namespace):
            raise KeyError(key)
        metadata = ObjectMeta(name=name, namespace=namespace)
        return Unknown(api_version="v1", kind="Event", metadata=metadata)

    def __iter__(self) -> Iterator[NamespacedName]:
        return self.names.after(None, None)

    def __len__(self) -> int:
        return self.names.count(None)


class Lister:
    """All objects of a cluster, indexed by kind, namespace, controlling owner and node.

    Events have nothing but a name here. The indexes hold keys only, so that a new version of an
    object, which seldom moves between index entries, updates one dictionary.

    Parameters
    ----------
    has_namespaces : bool
        Whether the index of namespaces is built with the first objects of each kind. Otherwise it
        is built on the first lookup, which takes 30 ms with 50,000 pods.
    """

    def __init__(self, *, has_namespaces: bool = False) -> None:
        self._has_namespaces = has_namespaces
        self._objects: dict[GroupKind, Objects] = {}
        self._events = _NamedEvents()
        self._in_namespace: dict[GroupKind, dict[str, Keys]] = {}
        # Built for a kind on its first lookup: most kinds have no owners that adopt.
        self._orphans: dict[GroupKind, dict[str, Keys]] = {}
        self._controlled_by: dict[tuple[str, GroupKind], Keys] = {}
        self._pods_on: dict[str, Keys] = {}

    def get(self, kind: GroupKind, key: NamespacedName) -> KubernetesObject | None:
        """Return the object named `key` of `kind`, a group and a kind; None if there is none."""
        return self.all(kind).get(key)

    def all(self, kind: GroupKind) -> Mapping[NamespacedName, KubernetesObject]:
        """Return all objects of `kind`, a group and a kind, by their names."""
        return self._events if kind == EVENT else self._objects.get(kind, _NONE)

    def in_namespace(
        self, kind: GroupKind, namespace: str
    ) -> Mapping[NamespacedName, KubernetesObject]:
        """Return the objects of `kind` in `namespace`, which is "" for objects without one."""
        return self._named(kind, self._names_in(kind, namespace))

    def count_in_namespace(self, kind: GroupKind, namespace: str) -> int:
        """Return the number of objects of `kind` in `namespace`, without reading them."""
        return len(self._names_in(kind, namespace))

    def namespaces_of(self, kind: GroupKind) -> Collection[str]:
        """Return the namespaces that have objects of `kind`, which is not that of Events."""
        return self._by_namespace(kind)

    def _names_in(self, kind: GroupKind, namespace: str) -> Collection[NamespacedName]:
        """Return the names of the objects of a kind in a namespace."""
        if kind == EVENT:
            return self._events.names.of(namespace)
        return self._by_namespace(kind).get(namespace, ())

    def _by_namespace(self, kind: GroupKind) -> dict[str, Keys]:
        names = self._in_namespace.get(kind)
        if names is None:
            names = self._in_namespace[kind] = {}
            for key, obj in self.all(kind).items():
                _add_key(names, obj.metadata.namespace, key)
        return names

    def controlled_by(self, uid: str, kind: GroupKind) -> Mapping[NamespacedName, KubernetesObject]:
        """Return the objects of `kind` whose controlling owner has `uid`."""
        return self._named(kind, self._controlled_by.get((uid, kind)))

    def orphans(self, kind: GroupKind, namespace: str) -> Mapping[NamespacedName, KubernetesObject]:
        """Return the objects of `kind` in `namespace` that have no controlling owner."""
        orphans = self._orphans.get(kind)
        if orphans is None:
            orphans = self._orphans[kind] = {}
            for key, obj in self.all(kind).items():
                if obj.metadata.controller is None:
                    _add_key(orphans, obj.metadata.namespace, key)
        return self._named(kind, orphans.get(namespace))

    def pods_on(self, node: str) -> Mapping[NamespacedName, Pod]:
        """Return the pods that are bound to the node named `node`."""
        return cast(Mapping[NamespacedName, Pod], self._named(POD, self._pods_on.get(node)))

    def _named(
        self, kind: GroupKind, keys: Collection[NamespacedName] | None
    ) -> Mapping[NamespacedName, KubernetesObject]:
        if not keys:
            return _NONE
        objects = self.all(kind)
        return {key: objects[key] for key in keys}

    def kinds(self) -> list[GroupKind]:
        """Return the kinds that have or had objects, sorted."""
        return sorted([*self._objects, *([EVENT] if self._events else [])])

    def put(self, obj: KubernetesObject) -> KubernetesObject | None:
        """Add `obj`, or replace the object of its name; return the previous version."""
        kind, key = kind_of(obj), obj.key
        old = self.get(kind, key)
        if old is None:
            self.add(kind, key, obj)
        else:
            self.replace(kind, key, old, obj)
        return old

    def delete(self, obj: KubernetesObject) -> KubernetesObject | None:
        """Remove the object of the kind and name of `obj`; return its last version."""
        kind, key = kind_of(obj), obj.key
        old = self.get(kind, key)
        if old is not None:
            self.remove(kind, key, old)
        return old

    # ------------------------------------------ updates by callers that know the old version

    def add_event(self, key: NamespacedName) -> None:
        """Add an Event that does not exist yet; only `key`, its `namespace/name`, is kept."""
        self._events.names.add(key)

    def add(self, kind: GroupKind, key: NamespacedName, obj: KubernetesObject) -> None:
        """Add `obj`, which does not exist yet; `kind` and `key` are its kind and name."""
        if kind == EVENT:
            self.add_event(key)
            return
        objects = self._objects.get(kind)
        if objects is None:
            objects = self._objects[kind] = {}
            if self._has_namespaces:
                self._in_namespace[kind] = {}
        objects[key] = obj
        names = self._in_namespace.get(kind)
        if names is not None:
            _add_key(names, obj.metadata.namespace, key)
        owner = obj.metadata.controller
        if owner is not None:
            _add_key(self._controlled_by, (owner.uid, kind), key)
        elif kind in self._orphans:
            _add_key(self._orphans[kind], obj.metadata.namespace, key)
        if type(obj) is Pod and obj.spec.node_name:
            _add_key(self._pods_on, obj.spec.node_name, key)

    def replace(
        self, kind: GroupKind, key: NamespacedName, old: KubernetesObject, new: KubernetesObject
    ) -> None:
        """Replace `old`, the stored version of the object `key` of `kind`, by `new`."""
        if kind == EVENT:
            return
        self._objects[kind][key] = new
        if old.metadata.owner_references is not new.metadata.owner_references:
            was, now = old.metadata.controller, new.metadata.controller
            if was is not None and (now is None or was.uid != now.uid):
                _remove_key(self._controlled_by, (was.uid, kind), key)
            if now is not None:
                _add_key(self._controlled_by, (now.uid, kind), key)
            if (was is None) is not (now is None) and kind in self._orphans:
                change = _add_key if now is None else _remove_key
                change(self._orphans[kind], new.metadata.namespace, key)
        if type(new) is Pod and type(old) is Pod and old.spec is not new.spec:
            node, node_before = new.spec.node_name, old.spec.node_name
            if node != node_before:
                if node_before:
                    _remove_key(self._pods_on, node_before, key)
                if node:
                    _add_key(self._pods_on, node, key)

    def remove(self, kind: GroupKind, key: NamespacedName, old: KubernetesObject) -> None:
        """Remove the object `key` of `kind`, whose stored version is `old`."""
        if kind == EVENT:
            self._events.names.remove(key)
            return
        del self._objects[kind][key]
        names = self._in_namespace.get(kind)
        if names is not None:
            _remove_key(names, old.metadata.namespace, key)
        owner = old.metadata.controller
        if owner is not None:
            _remove_key(self._controlled_by, (owner.uid, kind), key)
        elif kind in self._orphans:
            _remove_key(self._orphans[kind], old.metadata.namespace, key)
        if type(old) is Pod and old.spec.node_name:
            _remove_key(self._pods_on, old.spec.node_name, key)


def _add_key(index: dict[IndexValue, Keys], value: IndexValue, key: NamespacedName) -> None:
    keys = index.get(value)
    if keys is None:
        keys = index[value] = {}
    keys[key] = None


def _remove_key(index: dict[IndexValue, Keys], value: IndexValue, key: NamespacedName) -> None:
    keys = index[value]
    del keys[key]
    if not keys:
        del index[value]
