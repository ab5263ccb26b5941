"""The objects of one kind and their indexes.

An index maps a value to the keys of the objects that have it: each label, the fields of
`fields.indexed_fields`, the uids of owners. `candidates` uses the index that leaves the fewest
objects to examine. Names are kept per namespace, in order.

An index is built when a query first needs it, and is then updated with every change. Without
lists, as in most simulations, writes update no index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, MutableMapping
from typing import Final, TypeAlias

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Requirement
from podwright.cluster.store.at_rest import ObjectsAtRest, RestingObjects, rests
from podwright.cluster.store.encodings import Getter, fields_of, indexed_fields
from podwright.cluster.store.errors import GroupKind
from podwright.cluster.store.history import FreshChange
from podwright.cluster.store.query import Query
from podwright.cluster.store.sorted_keys import Names
from podwright.cluster.store.stored import SavedVersions


def _value_of(getter: Getter) -> Values:
    return lambda obj: (getter(obj),)


_LABELS: Final = "labels"
_LABEL_NAMES: Final = "label names"
_OWNERS: Final = "owners"
_VALUES: Final[dict[str, Values]] = {
    _LABELS: lambda obj: obj.metadata.labels.items(),
    _LABEL_NAMES: lambda obj: obj.metadata.labels.keys(),
    _OWNERS: lambda obj: [owner.uid for owner in obj.metadata.owner_references],
}
"""The indexes of every kind; in addition, each kind has its indexed fields."""


class KindTable:
    """The objects of one kind.

    Parameters
    ----------
    kind : GroupKind
        The kind; it determines the indexed fields, and whether objects rest.
    at_rest : ObjectsAtRest

    Attributes
    ----------
    rests : bool
        Whether objects may rest.
    """

    def __init__(self, kind: GroupKind, at_rest: ObjectsAtRest) -> None:
        self.rests = rests(kind)
        self._resting = RestingObjects(at_rest) if self.rests else None
        self.objects: MutableMapping[NamespacedName, KubernetesObject] = (
            {} if self._resting is None else self._resting
        )
        self.examined_count = 0
        self._fields = indexed_fields(kind)
        self._values = _VALUES | {name: _value_of(fields_of(kind)[name]) for name in self._fields}
        self._indexes: dict[str, Index] = {}
        self._names = None if self._resting is None else self._resting.names
        self._followers: list[
            Callable[[NamespacedName, KubernetesObject | None, KubernetesObject | None], None]
        ] = []
        if self._resting is not None:
            # Later, all objects would have to be decoded.
            for name in self._fields:
                self._index(name)

    def put(
        self, key: NamespacedName, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> None:
        """Set an object, or remove it with None."""
        if new is None:
            assert old is not None, f"{key} does not exist"
            del self.objects[key]
        else:
            self.objects[key] = new
        for follow in self._followers:
            follow(key, old, new)
        if self._names is not None and self._resting is None:
            if new is None:
                self._names.remove(key)
            elif old is None:
                self._names.add(key)

    def is_awake(self, change: FreshChange) -> bool:
        """Whether a change has the current state of an object that does not rest."""
        resting, new = self._resting, change.new
        return resting is not None and new is not None and resting.holds(change.key, new)

    def rest(self, change: FreshChange) -> bool:
        """Let an object rest if a change has its current state; return whether it does.

        Parameters
        ----------
        change : FreshChange
            Its version is durable.
        """
        if not self.is_awake(change):
            return False
        assert self._resting is not None, "what is awake may rest"
        self._resting.rest(change.key, change.version)
        return True

    def restore_resting(self, versions: SavedVersions) -> None:
        """Add objects that rest already."""
        assert self._resting is not None, "objects of the kind do not rest"
        self._resting.restore({key: version for key, (version, _) in versions.items()})
        self._names = self._resting.names
        for number, name in enumerate(self._fields):
            add = self._index(name).add
            for key, (_, values) in versions.items():
                add(values[number], key)

    def states(self) -> Iterator[tuple[NamespacedName, int, KubernetesObject | None]]:
        """Yield the keys, the versions and the objects, None for those at rest."""
        if self._resting is not None:
            yield from self._resting.states()
            return
        for key, obj in self.objects.items():
            yield key, int(obj.metadata.resource_version), obj

    def version_of(self, key: NamespacedName) -> int | None:
        """Return the version of an object, which need not be decoded; None if there is none."""
        if self._resting is not None:
            return self._resting.version_of(key)
        obj = self.objects.get(key)
        return None if obj is None else int(obj.metadata.resource_version)

    def _index(self, name: str) -> Index:
        index = self._indexes.get(name)
        if index is None:
            index = self._indexes[name] = Index(self._values[name], self.objects)
            self._followers.append(index.move)
        return index

    def order_keys(self) -> None:
        """Keep the keys in order from now on, instead of sorting them for the first query."""
        self._by_namespace()

    def _by_namespace(self) -> Names:
        if self._names is None:
            self._names = Names(dict.fromkeys(self.objects, 0))
        return self._names

    # ------------------------------------------------------------------------ queries

    def count(self, namespace: str | None = None) -> int:
        """Return the number of objects, in all namespaces or in one."""
        return len(self.objects) if namespace is None else self._by_namespace().count(namespace)

    def candidates(self, query: Query) -> Collection[NamespacedName] | None:
        """Return a superset of the keys of matching objects, or None if no index applies."""
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
        choices += [
            [self._index(field.field)[field.value]]
            for field in query.fields.requirements
            if field.field in self._fields and not field.is_negated
        ]
        if query.owner_uid is not None:
            choices.append([self._index(_OWNERS)[query.owner_uid]])
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
        places = self._by_namespace().namespaces if namespace is None else (namespace,)
        keys = (f"{place}/{name}" if place else name for place in places)
        return [key for key in keys if key in self.objects]

    def _by_label(self, requirement: Requirement) -> list[Keys] | None:
        label = requirement.key
        match requirement.operator:
            case "In":
                index = self._index(_LABELS)
                return [index[label, value] for value in requirement.values]
            case "Exists" | "Gt" | "Lt":
                return [self._index(_LABEL_NAMES)[label]]
            case "NotIn" | "DoesNotExist":
                return None

    def after(self, key: NamespacedName | None, namespace: str | None) -> Iterator[NamespacedName]:
        """Yield the keys after a key, of a namespace or of all, in order."""
        return self._by_namespace().after(key, namespace)

    def count_after(self, key: NamespacedName, namespace: str | None) -> int:
        """Return how many keys come after a key, in a namespace or in all."""
        return self._by_namespace().count_after(key, namespace)

    def validate(self) -> None:
        """Check the existing indexes against the objects."""
        for key, obj in self.objects.items():
            assert obj.key == key, f"{obj.key} is kept as {key}"
        for index in self._indexes.values():
            index.validate(self.objects)
        if self._names is not None:
            self._names.validate(self.objects)


class KindTables(dict[GroupKind, KindTable]):
    """The tables of the kinds; the table of a kind is created when it is first used.

    Parameters
    ----------
    at_rest : ObjectsAtRest
    """

    def __init__(self, at_rest: ObjectsAtRest) -> None:
        super().__init__()
        self._at_rest = at_rest
        self._orders_keys = False

    def __missing__(self, kind: GroupKind) -> KindTable:
        table = self[kind] = KindTable(kind, self._at_rest)
        if self._orders_keys:
            table.order_keys()
        return table

    def order_keys(self) -> None:
        """Keep the keys of all kinds in order from now on."""
        self._orders_keys = True
        for table in self.values():
            table.order_keys()


def _size(parts: list[Keys]) -> int:
    return sum(map(len, parts))


# Indexes over the objects of a kind: by values.
#
# An index is built from the current objects and then updated with every change.

Objects: TypeAlias = Mapping[NamespacedName, KubernetesObject]
Keys: TypeAlias = Collection[NamespacedName]

_SomeKeys: TypeAlias = tuple[NamespacedName, ...] | set[NamespacedName]

Values: TypeAlias = Callable[[KubernetesObject], Collection[Hashable]]
"""Returns the values under which an object is indexed."""

_NONE: Keys = ()

_FEW: Final = 8
"""Up to so many keys are a tuple, which takes a fifth of a set's memory."""


class Index:
    """Maps values to the keys of the objects that have them.

    Parameters
    ----------
    values_of : callable
        Returns the values of an object.
    objects : mapping
        The current objects.
    """

    def __init__(self, values_of: Values, objects: Objects) -> None:
        self._values_of = values_of
        self._keys = _keys_by_value(values_of, objects)

    def __getitem__(self, value: Hashable) -> Keys:
        """Return the keys of the objects that have a value; read-only."""
        return self._keys.get(value, _NONE)

    def move(
        self, key: NamespacedName, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> None:
        """Apply a change."""
        before = () if old is None else self._values_of(old)
        after = () if new is None else self._values_of(new)
        if before == after:
            return
        for value in before:
            self._remove(value, key)
        for value in after:
            _add(self._keys, value, key)

    def add(self, value: Hashable, key: NamespacedName) -> None:
        """Add the key of an object that has a value."""
        _add(self._keys, value, key)

    def _remove(self, value: Hashable, key: NamespacedName) -> None:
        keys = self._keys.get(value)
        if isinstance(keys, set):
            keys.discard(key)
        elif keys is not None:
            keys = self._keys[value] = tuple(each for each in keys if each != key)
        # None if the object lists the same owner twice.
        if keys is not None and not keys:
            del self._keys[value]

    def validate(self, objects: Objects) -> None:
        """Check the index against the objects."""
        expected = _keys_by_value(self._values_of, objects)
        assert self._keys.keys() == expected.keys(), "an index is wrong"
        for value, keys in self._keys.items():
            assert set(keys) == set(expected[value]), f"the index of {value} is wrong"


def _keys_by_value(values_of: Values, objects: Objects) -> dict[Hashable, _SomeKeys]:
    keys: dict[Hashable, _SomeKeys] = {}
    for key, obj in objects.items():
        for value in values_of(obj):
            _add(keys, value, key)
    return keys


def _add(keys_of: dict[Hashable, _SomeKeys], value: Hashable, key: NamespacedName) -> None:
    keys = keys_of.get(value, ())
    if isinstance(keys, set):
        keys.add(key)
    elif len(keys) == _FEW:
        keys_of[value] = {*keys, key}
    elif key not in keys:
        keys_of[value] = (*keys, key)
