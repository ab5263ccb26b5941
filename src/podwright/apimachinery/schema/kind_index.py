"""All kinds, found by version, group or resource."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Final

from podwright.apimachinery import objects
from podwright.apimachinery.objects import (
    DEFAULT_NAMESPACE,
    TYPE_OF,
    Document,
    Object,
    api_group,
    nearest,
    quoted,
)
from podwright.apimachinery.schema.decoding import Problem, decoding_problems
from podwright.apimachinery.schema.definition_kind import DEFINITION_TYPE, DefinitionKind
from podwright.apimachinery.schema.go_form import GoForms
from podwright.apimachinery.schema.kind import Kind
from podwright.apimachinery.schema.strict_structs import StrictStructs
from podwright.apimachinery.schema.table import OTHER_RANK, Table, built_in_table
from podwright.apimachinery.schema.types import StructType

_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final[Mapping[str | None, int]] = {None: 2, "beta": 1, "alpha": 0}


class Schema:
    """The kinds of a table; each is compiled when it is first used.

    Parameters
    ----------
    table : Table
        The table; see `schema.table`.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._types: dict[str, StructType] = {}
        self._forms = GoForms(self.type)
        self._structs = StrictStructs(self.type, self._forms), StrictStructs(self.type)
        self._kinds: dict[str, Kind] = {}
        self._versions: dict[tuple[str, str], list[str]] = {}
        for key, row in table.kinds.items():
            self._versions.setdefault((row.group, row.kind), []).append(key)
        for keys in self._versions.values():
            keys.sort(key=lambda key: _priority(table.kinds[key].version), reverse=True)
        self._resources = {
            name: self._versions[row.group, row.kind][0]
            for row in sorted(table.kinds.values(), key=lambda row: row.group, reverse=True)
            if row.resource
            for plain in filter(None, (row.resource, row.singular, *row.short_names))
            for name in (plain, f"{plain}.{row.group}")
        }
        self._groups: dict[str, dict[str, None]] = {}
        for key in (*table.kinds, *table.unserved):
            api_version, _, kind = key.rpartition("/")
            self._groups.setdefault(api_group(api_version), {})[kind] = None

    def __iter__(self) -> Iterator[Kind]:
        """Yield all kinds of all versions, by `apiVersion/Kind`."""
        return map(self._kind, self._table.kinds)

    def type(self, name: str) -> StructType:
        """Return a struct by its name, such as `core.v1.PodSpec`."""
        found = self._types.get(name)
        if found is None:
            found = self._types[name] = StructType(name, self._table.types[name])
        return found

    def type_names(self) -> Iterator[str]:
        """Yield the names of all structs."""
        return iter(self._table.types)

    def struct_form(self, name: str, document: Document) -> Document:
        """Return a part of an object as upstream's struct of a name writes it."""
        return self._forms.of(name).convert(document)

    def struct_problems(self, name: str, document: Any, path: str) -> list[Problem]:
        """Return every unknown field and wrong type in a part that a struct describes."""
        return list(decoding_problems(document, self.type(name), self.type, path))

    def _kind(self, key: str) -> Kind:
        found = self._kinds.get(key)
        if found is None:
            row = self._table.kinds[key]
            cls = DefinitionKind if row.type == DEFINITION_TYPE else Kind
            found = self._kinds[key] = cls(row, self.type, self._structs, self._forms)
        return found

    def find(self, api_version: str, kind: str) -> Kind | None:
        """Return a served kind; None for any other."""
        key = f"{api_version}/{kind}"
        return self._kind(key) if key in self._table.kinds else None

    def of(self, group: str, kind: str) -> Kind | None:
        """Return a kind in its preferred version; None if none is served."""
        keys = self._versions.get((group, kind))
        return self._kind(keys[0]) if keys else None

    def resource(self, name: str) -> Kind | None:
        """Return the kind with a resource, singular or short name, as kubectl accepts it.

        The group may follow after a dot: `events.events.k8s.io`. Case is ignored.
        """
        key = self._resources.get(name.lower())
        return self._kind(key) if key else None

    def preferred(self) -> Iterator[Kind]:
        """Yield every kind in its preferred version."""
        return (self._kind(keys[0]) for keys in self._versions.values())

    @cached_property
    def pod_templates(self) -> Mapping[tuple[str, str], str]:
        """The path of the pod template, by group and kind, of kinds that create pods; read-only."""
        paths = {kind.group_kind: kind.row.pod_template for kind in self.preferred()}
        return {kind: path for kind, path in paths.items() if path}

    @cached_property
    def scaled(self) -> frozenset[tuple[str, str]]:
        """The groups and kinds with the subresource `scale`."""
        return frozenset(k.group_kind for k in self.preferred() if "scale" in k.row.subresources)

    @cached_property
    def snapshot_keys(self) -> Mapping[str, Kind]:
        """The kinds of the lists of a snapshot, in the order of their creation; read-only."""
        listed = [kind for kind in self.preferred() if kind.row.snapshot_key]
        listed.sort(key=lambda kind: kind.row.creation_rank)
        return {kind.row.snapshot_key: kind for kind in listed}

    def creation_rank(self, group: str, kind: str) -> int:
        """Return the order in which objects of a kind are created; custom kinds have no own."""
        found = self.of(group, kind)
        return OTHER_RANK if found is None else found.row.creation_rank

    def is_built_in(self, group: str) -> bool:
        """Whether a group belongs to Kubernetes; the kinds of other groups are custom."""
        return group in self._groups

    def is_namespaced(self, group: str, kind: str) -> bool:
        """Whether the objects of a kind are in namespaces; unknown kinds are assumed not to be."""
        found = self.of(group, kind)
        if found is not None:
            return found.row.namespaced
        cls = TYPE_OF.get((group, kind))  # a custom kind that scheduling reads
        return cls is not None and cls.namespaced

    def successor(self, api_version: str, kind: str) -> str:
        """Return the `apiVersion` that replaces one that is not served; "" if there is none."""
        replacement = self._table.unserved.get(f"{api_version}/{kind}")
        if replacement is not None:
            return replacement
        known = self.of(api_group(api_version), kind)
        return known.api_version if known else ""

    def is_replaced(self, api_version: str, kind: str) -> bool:
        """Whether a version of a kind was served once, and another one replaces it."""
        return bool(self._table.unserved.get(f"{api_version}/{kind}"))

    def no_match(self, api_version: str, kind: str) -> str:
        """Return kubectl's error for a kind that a built-in group does not serve; else "".

        Upstream: staging/src/k8s.io/apimachinery/pkg/api/meta/errors.go, `NoKindMatchError`
        """
        group = api_group(api_version)
        known = self._groups.get(group)
        if known is None or self.find(api_version, kind):
            return ""
        message = f"no matches for kind {quoted(kind)} in version {quoted(api_version)}"
        if successor := self.successor(api_version, kind):
            return f"{message}; use {successor}"
        if kind in known:
            return f"{message}; Kubernetes 1.36 does not serve this kind"
        near = nearest(kind, known)
        return f'{message}; did you mean "{near}"?' if near else message


def _priority(version: str) -> tuple[int, int, int]:
    """Return the order of versions: v1 before v1beta2 before v1beta1 before v1alpha1.

    Upstream: staging/src/k8s.io/apimachinery/pkg/version/helpers.go, CompareKubeAwareVersionStrings
    """
    match = _VERSION.fullmatch(version)
    assert match, version
    major, stability, minor = match.groups()
    return _STABILITY[stability], int(major), int(minor or 0)


@cache
def built_in() -> Schema:
    """Return the schema of the kinds that Kubernetes serves."""
    return Schema(built_in_table())


def decode(document: Mapping[str, Any], *, source: str = "") -> Object:
    """Read an object of any kind, as `objects.decode`.

    An object without a namespace is in `default` if its kind is namespaced, also a kind that has
    no struct in `objects`.

    Raises
    ------
    InvalidObject
        With all errors.
    """
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if isinstance(metadata, dict) and not metadata.get("namespace"):
        group = api_group(str(document.get("apiVersion", "")))
        if built_in().is_namespaced(group, str(document.get("kind"))):
            document = {**document, "metadata": metadata | {"namespace": DEFAULT_NAMESPACE}}
    return objects.decode(document, source=source)
