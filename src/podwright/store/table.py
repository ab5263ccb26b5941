"""The objects of one kind and the indexes that lead to them.

An index maps a value to the keys of the objects that have it: each label, the fields of
`fields.INDEXED`, the uids of owners. Names are kept per namespace and are sorted when
somebody asks. `candidates` picks the index that leaves the fewest objects to look at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from podwright.objects import KubernetesObject, NamespacedName
from podwright.objects.selector import Requirement
from podwright.store.fields import FIELDS, INDEXED, Getter
from podwright.store.kinds import POD, GroupKind
from podwright.store.query import Query

Keys: TypeAlias = set[NamespacedName]
_NONE: Keys = set()


class SortedKeys:
    """Keys that are put in order when somebody asks, and stay so until they change."""

    def __init__(self) -> None:
        self._order: list[NamespacedName] = []
        self._added: list[NamespacedName] = []
        self._removed: set[NamespacedName] = set()

    def __len__(self) -> int:
        return len(self._order) + len(self._added) - len(self._removed)

    def add(self, key: NamespacedName) -> None:
        """Add a key that is not there."""
        if key in self._removed:
            self._removed.remove(key)
        else:
            self._added.append(key)

    def remove(self, key: NamespacedName) -> None:
        """Remove a key that is there."""
        self._removed.add(key)

    def sorted(self) -> list[NamespacedName]:
        """Return the keys in order; not to be changed."""
        if self._removed or self._added:
            if self._removed:
                self._order = [key for key in self._order if key not in self._removed]
                self._added = [key for key in self._added if key not in self._removed]
                self._removed.clear()
            # Two runs, of which one is short, are merged in a single pass.
            self._order += sorted(self._added)
            self._order.sort()
            self._added.clear()
        return self._order


class KindTable:
    """The objects of one kind.

    Parameters
    ----------
    kind : GroupKind
        Which; it decides the indexed fields.
    """

    def __init__(self, kind: GroupKind) -> None:
        self.objects: dict[NamespacedName, KubernetesObject] = {}
        self.examined_count = 0
        self._namespaces: dict[str, SortedKeys] = {}
        self._labels: dict[str, dict[str, Keys]] = {}
        self._owners: dict[str, Keys] = {}
        self._fields: dict[str, dict[str, Keys]] = {name: {} for name in INDEXED.get(kind, ())}
        own = FIELDS.get(kind, {})
        self._getters: tuple[tuple[dict[str, Keys], Getter], ...] = tuple(
            (index, own[name]) for name, index in self._fields.items()
        )
        # Of a typed kind, the section in which an indexed field is.
        self._sections = tuple(
            name.partition(".")[0] if kind == POD else "raw" for name in self._fields
        )

    def put(self, key: NamespacedName, new: KubernetesObject | None) -> None:
        """Set an object, or remove it with None."""
        old = self.objects.get(key)
        if new is None:
            assert old is not None, f"{key} is not there to be removed"
            del self.objects[key]
            self._forget(key, old)
        else:
            self.objects[key] = new
            if old is None:
                self._learn(key, new)
            else:
                self._move(key, old, new)

    def _learn(self, key: NamespacedName, obj: KubernetesObject) -> None:
        metadata = obj.metadata
        names = self._namespaces.get(metadata.namespace)
        if names is None:
            names = self._namespaces[metadata.namespace] = SortedKeys()
        names.add(key)
        self._add_labels(key, metadata.labels)
        for owner in metadata.owner_references:
            self._owners.setdefault(owner.uid, set()).add(key)
        for index, getter in self._getters:
            index.setdefault(getter(obj), set()).add(key)

    def _forget(self, key: NamespacedName, obj: KubernetesObject) -> None:
        metadata = obj.metadata
        names = self._namespaces[metadata.namespace]
        names.remove(key)
        if not len(names):
            del self._namespaces[metadata.namespace]
        self._remove_labels(key, metadata.labels)
        for owner in metadata.owner_references:
            _remove(self._owners, owner.uid, key)
        for index, getter in self._getters:
            _remove(index, getter(obj), key)

    def _move(self, key: NamespacedName, old: KubernetesObject, new: KubernetesObject) -> None:
        was, now = old.metadata, new.metadata
        # What a write leaves alone is the same object in both versions.
        if was.labels is not now.labels and was.labels != now.labels:
            self._remove_labels(key, was.labels)
            self._add_labels(key, now.labels)
        if (
            was.owner_references is not now.owner_references
            and was.owner_references != now.owner_references
        ):
            for owner in was.owner_references:
                _remove(self._owners, owner.uid, key)
            for owner in now.owner_references:
                self._owners.setdefault(owner.uid, set()).add(key)
        for (index, getter), section in zip(self._getters, self._sections, strict=True):
            if getattr(old, section) is getattr(new, section):
                continue
            before, after = getter(old), getter(new)
            if before != after:
                _remove(index, before, key)
                index.setdefault(after, set()).add(key)

    def _add_labels(self, key: NamespacedName, labels: Mapping[str, str]) -> None:
        for label, value in labels.items():
            self._labels.setdefault(label, {}).setdefault(value, set()).add(key)

    def _remove_labels(self, key: NamespacedName, labels: Mapping[str, str]) -> None:
        for label, value in labels.items():
            values = self._labels[label]
            _remove(values, value, key)
            if not values:
                del self._labels[label]

    # ------------------------------------------------------------------------ queries

    def count(self, namespace: str | None = None) -> int:
        """Return how many objects there are, everywhere or in a namespace."""
        if namespace is None:
            return len(self.objects)
        names = self._namespaces.get(namespace)
        return len(names) if names else 0

    def candidates(self, query: Query) -> Collection[NamespacedName] | None:
        """Return the keys among which all that match are, or None if no index helps."""
        by_name = self._by_name(query)
        if by_name is not None:
            return by_name
        choices: list[list[Keys]] = []
        if query.labels.is_nothing:
            return ()
        for requirement in query.labels.requirements:
            found = self._by_label(requirement)
            if found is not None:
                choices.append(found)
        for field in query.fields.requirements:
            index = self._fields.get(field.field)
            if index is not None and not field.is_negated:
                choices.append([index.get(field.value, _NONE)])
        if query.owner_uid is not None:
            choices.append([self._owners.get(query.owner_uid, _NONE)])
        if not choices:
            return None
        best = min(choices, key=_size)
        if query.namespace is not None and _size(best) >= self.count(query.namespace):
            return None
        return best[0] if len(best) == 1 else set().union(*best)

    def _by_name(self, query: Query) -> Collection[NamespacedName] | None:
        namespace = query.namespace
        name: str | None = None
        for field in query.fields.requirements:
            if field.is_negated:
                continue
            if field.field == "metadata.name":
                name = field.value
            elif field.field == "metadata.namespace":
                namespace = field.value
        if name is None:
            return None
        places = self._namespaces if namespace is None else (namespace,)
        keys = (f"{place}/{name}" if place else name for place in places)
        return [key for key in keys if key in self.objects]

    def _by_label(self, requirement: Requirement) -> list[Keys] | None:
        match requirement.operator:
            case "In":
                values = self._labels.get(requirement.key, {})
                return [values[value] for value in requirement.values if value in values]
            case "Exists" | "Gt" | "Lt":
                return list(self._labels.get(requirement.key, {}).values())
            case "NotIn" | "DoesNotExist":
                return None

    def ordered(self, namespace: str | None) -> Iterable[list[NamespacedName]]:
        """Yield all keys, in runs that are sorted and follow each other."""
        if namespace is not None:
            names = self._namespaces.get(namespace)
            if names:
                yield names.sorted()
            return
        # Keys are compared whole, as in etcd: `a-b/x` is before `a/x`.
        for place in sorted(self._namespaces, key=lambda name: f"{name}/"):
            yield self._namespaces[place].sorted()

    def validate(self) -> None:
        """Check the indexes against the objects."""
        again: dict[str, dict[str, Keys]] = {}
        owners: dict[str, Keys] = {}
        fields: dict[str, dict[str, Keys]] = {name: {} for name in self._fields}
        places: dict[str, list[NamespacedName]] = {}
        getters = dict(zip(self._fields, (getter for _, getter in self._getters), strict=True))
        for key, obj in self.objects.items():
            assert obj.key == key, f"{obj.key} is kept as {key}"
            places.setdefault(obj.namespace, []).append(key)
            for label, value in obj.metadata.labels.items():
                again.setdefault(label, {}).setdefault(value, set()).add(key)
            for owner in obj.metadata.owner_references:
                owners.setdefault(owner.uid, set()).add(key)
            for name, getter in getters.items():
                fields[name].setdefault(getter(obj), set()).add(key)
        assert again == self._labels, "the index of labels is wrong"
        assert owners == self._owners, "the index of owners is wrong"
        assert fields == self._fields, "the index of fields is wrong"
        kept = {place: names.sorted() for place, names in self._namespaces.items()}
        assert kept == {place: sorted(keys) for place, keys in places.items()}, "names are wrong"


def _remove(index: dict[str, Keys], value: str, key: NamespacedName) -> None:
    keys = index.get(value)
    if keys is None:  # an owner that is named twice
        return
    keys.discard(key)
    if not keys:
        del index[value]


def _size(parts: list[Keys]) -> int:
    return sum(map(len, parts))
