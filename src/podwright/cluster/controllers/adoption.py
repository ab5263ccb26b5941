"""Adoption and release of objects by selector.

Orphans are matched with the owners of their namespace when either of them is added or changes,
not at every sync.

Upstream: pkg/controller/controller_ref_manager.go; pkg/controller/controller_utils.go,
GetPodFromTemplate.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar, cast

import msgspec

from podwright.apimachinery.objects import (
    NOTHING,
    Document,
    KubernetesObject,
    LabelSelector,
    NamespacedName,
    ObjectMeta,
    OwnerReference,
    Pod,
    Selector,
    SelectorError,
    decode_pod,
    label_selector,
    with_fields,
)
from podwright.cluster.controllers.interface import Controller, Keys, Version
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import spec_of
from podwright.cluster.store import POD, GroupKind

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
        uid=_uid(owner),
        controller=True,
        block_owner_deletion=True,
    )


def _uid(owner: KubernetesObject) -> str:
    """Return the uid of an owner; its key if it has none yet, as `Scheduler.add` does for pods."""
    return owner.uid or owner.key


def adopted(obj: T, owner: KubernetesObject) -> T:
    """Return an object with a controller reference to an owner added."""
    references = (*obj.metadata.owner_references, controller_reference(owner))
    return with_fields(obj, "metadata", owner_references=references)


def released(obj: T, owner: KubernetesObject) -> T:
    """Return an object without its references to an owner."""
    references = tuple(r for r in obj.metadata.owner_references if r.uid != _uid(owner))
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


def selector_of(owner: KubernetesObject) -> Selector:
    """Return the selector in the spec of an owner; one that cannot be read matches nothing."""
    try:
        written = msgspec.convert(spec_of(owner).get("selector") or {}, LabelSelector)
    except msgspec.ValidationError:
        return NOTHING
    return compiled_selector(written)


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

    def observe(self, old: Version, new: Version) -> Keys:
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


# Pods from pod templates.
#
# A template is decoded once. All pods of one owner share the resulting objects, including the
# document of the spec, so that admission completes that document once for all of them.

_METADATA = ("labels", "annotations", "finalizers")


def controller_reference_document(owner: KubernetesObject) -> Document:
    """Return the controller reference to an owner as a document."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": _uid(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from_template(owner: KubernetesObject, template: Document) -> Pod:
    """Return the pod of a template, with a `generateName` and no name.

    Parameters
    ----------
    owner : KubernetesObject
        The controlling owner.
    template : dict
        A pod template as a document.

    Raises
    ------
    InvalidObject
        The template is invalid.
    """
    written: Document = template.get("metadata") or {}
    metadata: dict[str, Any] = {
        "generateName": f"{owner.name}-",
        "namespace": owner.namespace,
        "ownerReferences": [controller_reference_document(owner)],
    }
    for name in _METADATA:
        if written.get(name):
            metadata[name] = written[name]
    document: Document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }
    return decode_pod(document, source=f"{owner.kind} {owner.key}: template")


class PodOwnerController(Controller):
    """A controller of the pods of one kind of owner, which adopts orphans.

    Attributes
    ----------
    kind : GroupKind
        The kind of the owners; a subclass sets it.
    """

    kind: ClassVar[GroupKind]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._orphans = Orphans(lister, POD)
        self.adopters = self._orphans.owners

    def observe(self, old: Version, new: Version) -> Keys:
        """Return owners that changed, or whose pods did."""
        changed = self.latest_of(old, new)
        if type(changed) is Pod:
            return self._pod_changed(cast(Pod | None, old), cast(Pod | None, new))
        return self._owner_changed(old, new)

    @abstractmethod
    def _pod_changed(self, old: Pod | None, new: Pod | None) -> Keys:
        """Process a change of a pod."""

    @abstractmethod
    def _owner_changed(self, old: Version, new: Version) -> Keys:
        """Process a change of an owner."""

    def _pods_of(self, owner_uid: str) -> list[Pod]:
        return cast(list[Pod], list(self._lister.controlled_by(owner_uid, POD).values()))


class PodTemplates:
    """A cache of the pods that owners create, one per template."""

    def __init__(self) -> None:
        # The template is kept beside the pod and compared by identity: keeping a reference
        # prevents another object from reusing its address.
        self._pods: dict[str, tuple[Document, Pod]] = {}

    def pod(self, owner: KubernetesObject, template: Document) -> Pod:
        """Return the pod of an owner's template; see `pod_from_template`."""
        known = self._pods.get(owner.uid)
        if known is None or known[0] is not template:
            known = self._pods[owner.uid] = (template, pod_from_template(owner, template))
        return known[1]

    def forget(self, owner: KubernetesObject) -> None:
        """Forget an owner that was removed."""
        self._pods.pop(owner.uid, None)


def with_labels(pod: Pod, labels: dict[str, str]) -> Pod:
    """Return a pod with labels added."""
    merged = {**pod.metadata.labels, **labels}
    metadata: ObjectMeta = msgspec.structs.replace(pod.metadata, labels=merged)
    document = {**pod.raw, "metadata": {**pod.raw["metadata"], "labels": merged}}
    return msgspec.structs.replace(pod, metadata=metadata, raw=document)
