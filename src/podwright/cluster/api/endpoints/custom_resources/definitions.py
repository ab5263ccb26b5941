"""The definitions of a store and the resources that they serve, kept up to date.

Theory of operation
-------------------
`catch_up` examines what changed in the store since the last call. A changed definition is examined
with all others of its group, because a name that it gives up may be accepted for another one.
Every step is a write to the store, as by upstream's controllers, so that watchers see each of them:
names accepted, established, terminating. The steps end when nothing changes any more. A definition
that is terminating is examined again whenever one of its objects is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.endpoints.custom_resources import cleanup, names
from podwright.cluster.api.endpoints.custom_resources.conditions import is_true
from podwright.cluster.api.endpoints.custom_resources.served_versions import (
    served_resources,
    storage_kind,
)
from podwright.cluster.api.endpoints.served.server_writes import MANAGER
from podwright.cluster.api.field_management import FieldManagement
from podwright.cluster.api.pipeline import executed
from podwright.cluster.api.stages.kinds.custom_resources import DEFINITION
from podwright.cluster.api.stages.write import Parts, Write
from podwright.cluster.api.versions.resources import Resource, Resources
from podwright.cluster.store import Change, GroupKind, ObjectStore

_STEPS_MAX: Final = 1_000


class _Served(msgspec.Struct, frozen=True):
    """What the resources of a definition were made from, and their paths."""

    basis: list[Any]
    paths: list[tuple[str, str, str]]


class Definitions:
    """Serves the custom resources of a store.

    Parameters
    ----------
    store : ObjectStore
        Has the definitions and their objects.
    parts : Parts
        Writes them.
    resources : Resources
        The served resources, which are changed.
    fields : FieldManagement
        Keeps the managers of the fields of definitions.
    """

    def __init__(
        self,
        store: ObjectStore,
        parts: Parts,
        resources: Resources,
        fields: FieldManagement,
    ) -> None:
        self._store = store
        self._parts = parts
        self._resources = resources
        self._fields = fields
        self._changes = store.follow(DEFINITION)
        self._served: dict[str, _Served] = {}
        self._terminating: dict[GroupKind, str] = {}
        self._is_new = True

    def catch_up(self, now_ns: int) -> None:
        """Bring the definitions and the served resources up to date with the store."""
        if not (self._changes or self._terminating or self._is_new):
            return
        pending = dict.fromkeys(self._keys()) if self._is_new else {}
        self._is_new = False
        for _ in range(_STEPS_MAX):
            for change in self._changes:
                pending |= dict.fromkeys(self._affected(change))
            self._changes.clear()
            # Objects with finalizers keep their definition until the last of them is gone.
            for kind in [each for each in self._terminating if not self._store.count(each)]:
                pending[self._terminating.pop(kind)] = None
            if not pending:
                return
            key = next(iter(pending))
            del pending[key]
            self._settle(key, now_ns)
        raise AssertionError(f"definitions do not settle: {', '.join(pending)}")

    def _keys(self) -> list[str]:
        return self._names_of(DEFINITION)

    def _names_of(self, kind: GroupKind) -> list[str]:
        return [obj.key for obj in self._store.list(kind).objects]

    def _affected(self, change: Change) -> Iterator[str]:
        """Yield the definitions that a change may affect: itself first."""
        yield change.key
        group = _group(change.new or change.old)
        for key in self._keys():
            other = self._store.get(DEFINITION, key)
            if key != change.key and _group(other) == group:
                yield key

    # --------------------------------------------------------------------- one definition

    def _settle(self, key: str, now_ns: int) -> None:
        """Do the next step of a definition."""
        obj = self._store.get(DEFINITION, key)
        if obj is None:
            self._serve(key, None)
            return
        definition = obj.raw
        for step in self._steps(key):
            made = step(definition, now_ns)
            if made is not definition:
                self._write(obj, made, now_ns)
                # The change is examined next.
                return
        self._serve(key, definition)
        if cleanup.awaits_cleanup(definition):
            self._clean(obj, now_ns)

    def _steps(self, key: str) -> list[Callable[[Document, int], Document]]:
        def with_names(definition: Document, now_ns: int) -> Document:
            group = definition["spec"]["group"]
            found = [self._store.get(DEFINITION, each) for each in self._keys() if each != key]
            others = [each.raw for each in found if each is not None and _group(each) == group]
            return names.with_names(definition, others, now_ns)

        return [with_names, names.with_approval, names.without_violations, names.established]

    def _write(self, obj: KubernetesObject, made: Document, now_ns: int) -> None:
        resource = self._resources.of_storage(DEFINITION)
        if resource is not None:
            made = self._fields.updated(
                resource,
                obj.raw,
                made,
                manager=MANAGER,
                subresource="status",
                now_ns=now_ns,
            )
        with interlude():
            changed = decode(made if resource is None else resource.kind.go_form(made))
        write = Write(now_ns=now_ns, body=changed, current=obj)
        executed(self._parts, "update", write)

    def _serve(self, key: str, definition: Document | None) -> None:
        """Replace the resources of a definition, if what they are made from has changed."""
        found = self._served.get(key)
        basis = None if definition is None else _basis(definition)
        if found is not None and basis == found.basis:
            return
        with interlude():
            made = [] if definition is None else served_resources(definition)
        if found is not None:
            for old in found.paths:
                self._resources.remove(*old)
            del self._served[key]
        self._terminating = {kind: each for kind, each in self._terminating.items() if each != key}
        if definition is None or basis is None:
            return
        paths = []
        for resource in made:
            where = (resource.group, resource.version, resource.plural)
            if self._is_free(where):
                self._resources.add(resource)
                paths.append(where)
        self._served[key] = _Served(basis, paths)
        if cleanup.awaits_cleanup(definition):
            self._terminating[storage_kind(definition)] = key

    def _is_free(self, where: tuple[str, str, str]) -> bool:
        """Whether no built-in resource has a path."""
        found: Resource | None = self._resources.find(*where)
        return found is None or found.is_custom

    def _clean(self, obj: KubernetesObject, now_ns: int) -> None:
        """Delete the objects of a terminating definition, and then itself."""
        definition = obj.raw
        begun = cleanup.in_progress(definition, now_ns)
        if begun != definition:
            self._write(obj, begun, now_ns)
            return
        was_established = is_true(definition, "Established")
        if was_established:
            kind = storage_kind(definition)
            for key in self._names_of(kind):
                current = self._store.get(kind, key)
                if current is not None and current.metadata.deletion_timestamp is None:
                    write = Write(kind=kind, key=key, now_ns=now_ns, body=DeleteOptions())
                    executed(self._parts, "delete", write)
            if self._store.count(kind):
                return  # objects with finalizers
        made = cleanup.cleaned(definition, now_ns, was_established=was_established)
        self._write(obj, made, now_ns)


def _group(obj: KubernetesObject | None) -> str:
    return "" if obj is None else str((obj.raw.get("spec") or {}).get("group") or "")


def _basis(definition: Document) -> list[Any]:
    """Return the parts of a definition from which its resources are made."""
    status = definition.get("status") or {}
    types = ("NamesAccepted", "Established", "Terminating")
    conditions = [is_true(definition, each) for each in types]
    return [definition.get("spec"), status.get("acceptedNames"), conditions]
