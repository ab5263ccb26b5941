"""Controller revisions: the template history of a stateful or daemon set.

Upstream: pkg/controller/history/controller_history.go;
pkg/controller/statefulset/stateful_set_control.go, getStatefulSetRevisions, truncateHistory
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.actions import deletion_by
from podwright.cluster.controllers.interface import ControllerAction, CreateObject, UpdateObject
from podwright.cluster.controllers.kinds import CONTROLLER_REVISION
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.pod_template import controller_reference_document

REVISION_LABEL: Final = "controller-revision-hash"
"""The label of a pod with the revision that it was created from."""

_PREFIX_LENGTH_MAX: Final = 223


class RevisionNaming(msgspec.Struct, frozen=True):
    """How the sets of one kind name their revisions.

    Attributes
    ----------
    hash_of : callable
        Computes a hash from the data and the collision count.
    label : str
        The label of a revision that holds the hash.
    """

    hash_of: Callable[[Document, int | None], str]
    label: str


class Revisions:
    """The revisions of one set, with the one of its present template.

    Parameters
    ----------
    lister : Lister
    owner : KubernetesObject
        The set.
    data : dict
        The data of a revision of the current template.
    naming : RevisionNaming
    collision_count : int or None
        The number of hash collisions so far.
    source : str
        The name of the controller that writes.
    initial : (str, int), optional
        The hash and number of the first revision if none exists, taken from pods that were
        imported without their revision.

    Attributes
    ----------
    all : list of KubernetesObject
        The existing revisions, oldest first.
    update : KubernetesObject
        The revision of the current template, existing or created by `actions`.
    collision_count : int or None
        The updated number of hash collisions.
    actions : list
        The writes that create or renumber a revision.
    """

    def __init__(
        self,
        lister: Lister,
        owner: KubernetesObject,
        data: Document,
        naming: RevisionNaming,
        collision_count: int | None,
        source: str,
        initial: tuple[str, int] | None = None,
    ) -> None:
        owned = lister.controlled_by(owner.uid, CONTROLLER_REVISION).values()
        self.all = sorted(owned, key=_order)
        self.collision_count = collision_count
        self.actions: list[ControllerAction] = []
        self._lister = lister
        self._owner = owner
        self._source = source
        self._initial = None if self.all else initial
        self.update = self._find_or_create(data, naming)

    def _find_or_create(self, data: Document, naming: RevisionNaming) -> KubernetesObject:
        number = number_of(self.all[-1]) + 1 if self.all else 1
        if self._initial is not None:
            number = self._initial[1]
        equal = [each for each in self.all if data_of(each) == data]
        if not equal:
            return self._create(data, naming, number)
        found = equal[-1]
        if found is not self.all[-1]:
            # A rollback to an earlier template: its revision becomes the newest.
            found = msgspec.structs.replace(found, raw=found.raw | {"revision": number})
            self.actions.append(UpdateObject(found, "main", self._source))
        return found

    def _create(self, data: Document, naming: RevisionNaming, number: int) -> KubernetesObject:
        owner = self._owner
        label = self._initial[0] if self._initial is not None else ""
        while True:
            label = label or naming.hash_of(data, self.collision_count)
            name = f"{owner.name[:_PREFIX_LENGTH_MAX]}-{label}"
            present = self._lister.get(CONTROLLER_REVISION, f"{owner.namespace}/{name}")
            if present is None:
                break
            if data_of(present) == data:
                return present
            self.collision_count = (self.collision_count or 0) + 1
            label = ""
        template: Document = (data.get("spec") or {}).get("template") or {}
        labels = (template.get("metadata") or {}).get("labels") or {}
        metadata: Document = {
            "name": name,
            "namespace": owner.namespace,
            "labels": {**labels, naming.label: label},
            "ownerReferences": [controller_reference_document(owner)],
        }
        if owner.metadata.annotations:
            metadata["annotations"] = dict(owner.metadata.annotations)
        made = decode(
            {
                "apiVersion": "apps/v1",
                "kind": "ControllerRevision",
                "metadata": metadata,
                "data": data,
                "revision": number,
            }
        )
        self.actions.append(CreateObject(made, self._source))
        return made

    def named(self, name: str) -> KubernetesObject:
        """Return the revision of a name; the current one if there is none."""
        return next((each for each in self.all if each.name == name), self.update)

    def truncate_history(self, live: Collection[str], limit: int) -> Iterable[ControllerAction]:
        """Delete the oldest unused revisions beyond a limit."""
        past = [each for each in self.all if each.name not in live]
        for each in past[: max(len(past) - limit, 0)]:
            yield deletion_by(self._source, each)


def number_of(revision: KubernetesObject) -> int:
    """Return the number of a revision."""
    return int(revision.raw.get("revision") or 0)


def data_of(revision: KubernetesObject) -> Document:
    """Return the data of a revision."""
    data: Document = revision.raw.get("data") or {}
    return data


def _order(revision: KubernetesObject) -> tuple[int, str, str]:
    created = revision.metadata.creation_timestamp or ""
    return (number_of(revision), created, revision.name)
