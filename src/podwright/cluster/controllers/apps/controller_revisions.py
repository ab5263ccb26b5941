"""Controller revisions: the template history of a stateful or daemon set.

Upstream: pkg/controller/history/controller_history.go;
pkg/controller/statefulset/stateful_set_control.go, getStatefulSetRevisions, truncateHistory;
pkg/controller/controller_utils.go, ComputeHash; pkg/controller/history/ controller_history.go;
staging/src/k8s.io/apimachinery/pkg/util/rand/rand.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.adoption import controller_reference_document
from podwright.cluster.controllers.interface import Actions, ControllerAction, Requests
from podwright.cluster.controllers.kinds import CONTROLLER_REVISION
from podwright.cluster.controllers.lister import Lister

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
    reads_nulls : bool
        Whether the newest revision is that of the current template if they differ in nulls only,
        as those do that Kubernetes before 1.34 wrote.
    """

    hash_of: Callable[[Document, int | None], str]
    label: str
    reads_nulls: bool = False


class Revisions(Requests):
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
    update_revision : KubernetesObject
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
        self.actions: Actions = []
        self._lister = lister
        self._owner = owner
        self.name = source
        self._initial = None if self.all else initial
        self.update_revision = self._find_or_create(data, naming)

    def _find_or_create(self, data: Document, naming: RevisionNaming) -> KubernetesObject:
        number = number_of(self.all[-1]) + 1 if self.all else 1
        if self._initial is not None:
            number = self._initial[1]
        equal = [each for each in self.all if data_of(each) == data]
        if not equal and naming.reads_nulls and self.all and _sorted(data_of(self.all[-1])) == data:
            return self.all[-1]
        if not equal:
            return self._create(data, naming, number)
        found = equal[-1]
        if found is not self.all[-1]:
            # A rollback to an earlier template: its revision becomes the newest.
            found = msgspec.structs.replace(found, raw=found.raw | {"revision": number})
            self.actions.append(self.update(found))
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
        self.actions.append(self.create(made))
        return made

    def named(self, name: str) -> KubernetesObject:
        """Return the revision of a name; the current one if there is none."""
        return next((each for each in self.all if each.name == name), self.update_revision)

    def truncate_history(self, live: Collection[str], limit: int) -> Iterable[ControllerAction]:
        """Delete the oldest unused revisions beyond a limit."""
        past = [each for each in self.all if each.name not in live]
        for each in past[: max(len(past) - limit, 0)]:
            yield self.delete(each)


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


# Hashes of templates for the names of revisions, in upstream's form.

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_ESCAPED: Final = re.compile("[<>&\u2028\u2029]")


def go_json(document: Any) -> bytes:
    """Return a document as Go encodes maps: sorted keys, `<`, `>` and `&` escaped."""
    text = msgspec.json.encode(document, order="sorted").decode()
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def fnv32(data: bytes) -> int:
    """Return the 32-bit FNV-1 hash."""
    value = _OFFSET
    for byte in data:
        value = (value * _PRIME & 0xFFFFFFFF) ^ byte
    return value


def fnv32a(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    value = _OFFSET
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value


def safe_encoded(number: int) -> str:
    """Return a number in an alphabet without vowels, which spells no words."""
    # Upstream: rand.go, SafeEncodeString: the index is the character code, not the digit.
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def template_hash(template: Document, collision_count: int | None) -> str:
    """Return the hash of a template for deployments and daemon sets.

    Upstream hashes a dump of Go's in-memory structs, which cannot be reproduced in Python. This
    hash has the same form but another value.
    """
    data = go_json(template)
    if collision_count is not None:
        data += collision_count.to_bytes(8, "little")
    return safe_encoded(fnv32a(data))


def revision_hash(data: Document, collision_count: int | None) -> str:
    """Return the hash of a revision for stateful sets, with upstream's value.

    Notes
    -----
    Upstream: controller_history.go, HashControllerRevision
    """
    text = go_json(data)
    if collision_count is not None:
        text += str(collision_count).encode()
    return safe_encoded(fnv32(text))


def template_patch(template: Document) -> Document:
    """Return the data of a revision: a patch that restores the template, with sorted keys.

    Clients compare the data with the bytes of a patch that they make themselves.

    Notes
    -----
    Upstream: pkg/controller/statefulset/stateful_set_utils.go, getPatch
    """
    return {"spec": {"template": _sorted({**template, "$patch": "replace"})}}


def with_nulls(data: Document) -> Document:
    """Return the data of a revision as Kubernetes before 1.34 wrote it."""
    template = (data.get("spec") or {}).get("template") or {}
    metadata = {"creationTimestamp": None, **(template.get("metadata") or {})}
    return {"spec": {"template": {**template, "metadata": metadata}}}


def template_of_patch(data: Document) -> Document:
    """Return the template in the data of a revision."""
    template: Document = (data.get("spec") or {}).get("template") or {}
    return {name: value for name, value in template.items() if name != "$patch"}


def _sorted(value: Any) -> Any:
    """Return a value with the keys of all objects in order, and without nulls."""
    if isinstance(value, dict):
        return {name: _sorted(each) for name, each in sorted(value.items()) if each is not None}
    if isinstance(value, list):
        return [_sorted(each) for each in value]
    return value
