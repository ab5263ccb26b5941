"""Adoption and release of objects by selector.

Orphans are matched with the owners of their namespace when either of them is added or changes,
not at every sync.

Upstream: pkg/controller/controller_ref_manager.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from podwright.apimachinery.objects import (
    NOTHING,
    KubernetesObject,
    LabelSelector,
    NamespacedName,
    OwnerReference,
    Selector,
    SelectorError,
    label_selector,
    with_fields,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import GroupKind

T = TypeVar("T", bound=KubernetesObject)


def controller_reference(owner: KubernetesObject) -> OwnerReference:
    """Return the owner reference that makes an owner the controller of an object.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/controller_ref.go
    """
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.name,
        uid=owner.uid,
        controller=True,
        block_owner_deletion=True,
    )


def adopted(obj: T, owner: KubernetesObject) -> T:
    """Return an object with a controller reference to an owner added."""
    references = (*obj.metadata.owner_references, controller_reference(owner))
    return with_fields(obj, "metadata", owner_references=references)


def released(obj: T, owner: KubernetesObject) -> T:
    """Return an object without its references to an owner."""
    references = tuple(r for r in obj.metadata.owner_references if r.uid != owner.uid)
    return with_fields(obj, "metadata", owner_references=references)


def compiled_selector(selector: LabelSelector | None) -> Selector:
    """Return a selector in compiled form; an invalid or empty one matches nothing.

    An empty selector would match every pod of the namespace; upstream rejects it too.
    """
    if selector is None or not (selector.match_labels or selector.match_expressions):
        return NOTHING
    try:
        return label_selector(selector)
    except SelectorError:
        return NOTHING


class Orphans:
    """The orphans of one kind, and the owners whose selectors match them.

    Parameters
    ----------
    lister : Lister
        The current objects.
    kind : GroupKind
        The kind of the orphans.

    Attributes
    ----------
    owners : dict of str to dict
        The selectors of the owners, by key, of each namespace that has one.
    """

    def __init__(self, lister: Lister, kind: GroupKind) -> None:
        self._lister = lister
        self._kind = kind
        self.owners: dict[str, dict[NamespacedName, Selector]] = {}
        self._candidates: dict[NamespacedName, dict[NamespacedName, None]] = {}

    def put_owner(self, owner: KubernetesObject, selector: Selector) -> None:
        """Add an owner, or update its selector."""
        owners = self.owners.setdefault(owner.namespace, {})
        if owners.get(owner.key) == selector:
            return
        owners[owner.key] = selector
        candidates: dict[NamespacedName, None] = {}
        for key, obj in self._lister.orphans(self._kind, owner.namespace).items():
            if selector.matches(obj.metadata.labels):
                candidates[key] = None
        self._set_candidates(owner.key, candidates)

    def remove_owner(self, owner: KubernetesObject) -> None:
        """Remove an owner."""
        owners = self.owners.get(owner.namespace, {})
        owners.pop(owner.key, None)
        if not owners:
            self.owners.pop(owner.namespace, None)
        self._candidates.pop(owner.key, None)

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Process a change of an object; return the owners that may adopt it now."""
        if new is None or new.metadata.controller is not None:
            return ()
        owners = self.owners.get(new.metadata.namespace)
        if not owners:
            return ()
        labels = new.metadata.labels
        if old is not None and old.metadata.controller is None and old.metadata.labels == labels:
            return ()  # as it was when it was matched
        keys = [key for key, selector in owners.items() if selector.matches(labels)]
        for key in keys:
            self._candidates.setdefault(key, {})[new.key] = None
        return sorted(keys)

    def _set_candidates(
        self, owner: NamespacedName, candidates: dict[NamespacedName, None]
    ) -> None:
        if candidates:
            self._candidates[owner] = candidates
        else:
            self._candidates.pop(owner, None)

    def adoptable_by(self, owner: KubernetesObject) -> list[KubernetesObject]:
        """Return the orphans that an owner may adopt, sorted by key; drop stale candidates."""
        candidates = self._candidates.get(owner.key)
        if not candidates:
            return []
        selector = self.owners[owner.namespace][owner.key]
        found = []
        for key in sorted(candidates):
            obj = self._lister.get(self._kind, key)
            if (
                obj is None
                or obj.metadata.controller is not None
                or obj.metadata.deletion_timestamp is not None
                or not selector.matches(obj.metadata.labels)
            ):
                del candidates[key]
            else:
                found.append(obj)
        return found
