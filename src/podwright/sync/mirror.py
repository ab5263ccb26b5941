"""Decides what a destination gets of the changes of a source, without I/O.

The rules, each with a switch in `SyncPolicies`:

- A pod that is bound in the first list keeps its node. A pod that is created later is scheduled by
  the destination, also if it is first seen with a node. Static pods and pods of daemon sets keep
  their node always.
- Changes of a pod that has a node at the source are ignored: the destination has placed it itself.
  Changed labels and resources are followed on request.
- Deletions are mirrored. What the destination has deleted by itself stays deleted, also after a
  restart: a pod that was created at the source before the last sync ended, and is absent, was
  deleted here.
- Nodes are mirrored with their status, pods without it.
- Resource claims that were made for one pod are not mirrored: the destination makes them anew.
  Claims of the first list keep their devices, which their pods use on the same nodes; those that
  a template made for such a pod are created before it, and it names them.
- Services and the owners of pods are not mirrored; what they imply is (`implied_selectors`).
- Owners and service accounts are left out (`object_copy`); the uid of the source is in an
  annotation, so another object of the same name is replaced.

Upstream: simulator/syncer/syncer.go, simulator/resourceapplier (kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from podwright.client import BoundPods, SyncPolicies, Unfreed
from podwright.client.cluster import ChangedObject
from podwright.objects import Document, decode_pod, pending_requests
from podwright.sync.change_merge import SourceChange
from podwright.sync.claim_copy import (
    entry_of,
    independent,
    is_made_for_pod,
    pod_of,
    with_named_claims,
    without_users,
)
from podwright.sync.implied_selectors import ImpliedSelectors, with_selector
from podwright.sync.object_copy import created_copy
from podwright.sync.source_kinds import SourceKind

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
SYNCED_LAST_MAX: Final = 5_000
"""So many uids are saved: an object has at most one megabyte."""

_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class Create(msgspec.Struct, frozen=True):
    """Create an object.

    Attributes
    ----------
    kind : SourceKind
    key : str
    obj : Document
    """

    kind: SourceKind
    key: str
    obj: Document


class Replace(msgspec.Struct, frozen=True):
    """Replace an object by the one of the source, and its status if it is part of the mirror."""

    kind: SourceKind
    key: str
    obj: Document
    has_status: bool


class PatchPod(msgspec.Struct, frozen=True):
    """Merge fields into a pod.

    Attributes
    ----------
    kind : SourceKind
    key : str
    patch : Document
    subresource : str
        `status` or `resize`; "" for the pod itself.
    """

    kind: SourceKind
    key: str
    patch: Document
    subresource: str = ""


class BindPod(msgspec.Struct, frozen=True):
    """Bind a pod to the node that it has at the source."""

    kind: SourceKind
    key: str
    node: str


class Delete(msgspec.Struct, frozen=True):
    """Delete an object that the source has deleted."""

    kind: SourceKind
    key: str


Operation: TypeAlias = Create | Replace | PatchPod | BindPod | Delete


class Mirror:
    """The state of a sync: which objects of the source the destination has got.

    Parameters
    ----------
    policies : SyncPolicies
    present : mapping of (resource, key) to str
        The objects that an earlier sync has created and the destination still has, with the uids
        of the source.
    synced_until : str
        The creation time (RFC 3339) of the last pod that an earlier sync has seen; "" without one.
    synced_last : collection of str
        The uids of the pods of this time, whose seconds may have had others after the earlier sync.

    Attributes
    ----------
    rescheduled : int
        Pods that were first seen with a node, and are scheduled by the destination.
    ignored : int
        Changes of pods with a node, which are not mirrored.
    kept_deleted : int
        Pods that an earlier sync had created and the destination has deleted.
    synced_until : str
    """

    def __init__(
        self,
        policies: SyncPolicies,
        *,
        present: dict[tuple[str, str], str] | None = None,
        synced_until: str = "",
        synced_last: Collection[str] = (),
    ) -> None:
        self.policies = policies
        self.rescheduled = 0
        self.ignored = 0
        self.kept_deleted = 0
        self.synced_until = synced_until
        self._until_before = synced_until
        self._last_before = frozenset(synced_last)
        self._last = set(synced_last)
        self._implied = ImpliedSelectors()
        self._uids: dict[tuple[str, str], str] = {}
        self._present = dict(present or {})
        # By the uid of a pod that is not listed yet: the claims that templates made for it.
        self._made: dict[str, list[tuple[SourceKind, Document]]] = {}
        self._finished: dict[str, tuple[int, int]] = {}
        # Pods whose bindings are mirrored, if the source schedules.
        self._unbound: set[str] = set()
        # Of pods, if their resources are followed.
        self._resources: dict[str, Document] = {}

    def take(self, change: SourceChange) -> Sequence[Operation]:
        """Return what a change of the source means for the destination."""
        return tuple(self._operations(change.kind, change.change))

    def synced(self) -> Sequence[tuple[str, str]]:
        """Return what the destination has and the source had no longer in the first list.

        Each with resource and key; call it when all kinds were listed.
        """
        gone = [each for each in self._present if each not in self._uids]
        self._present.clear()
        self._made.clear()
        return gone

    @property
    def synced_last(self) -> Collection[str]:
        """The uids of the pods that were created at `synced_until`; none if they are too many."""
        return sorted(self._last) if len(self._last) <= SYNCED_LAST_MAX else ()

    def unfreed(self, is_placed: Callable[[str], bool]) -> Unfreed:
        """Return what pods occupy here that have finished at the source.

        Parameters
        ----------
        is_placed : callable
            Whether the pod of a key has a node here.
        """
        amounts = [each for key, each in self._finished.items() if is_placed(key)]
        return Unfreed(
            pods=len(amounts),
            milli_cpu=sum(milli_cpu for milli_cpu, _ in amounts),
            memory_bytes=sum(memory_bytes for _, memory_bytes in amounts),
        )

    def _operations(self, kind: SourceKind, change: ChangedObject) -> Iterator[Operation]:
        if kind.is_workload:
            self._implied.take(SourceChange(kind, change, 0))
            return
        key, place = change.meta.key, (kind.resource, change.meta.key)
        if change.event == "Delete":
            self._forget_pod(key)
            if self._uids.pop(place, None) is not None:
                yield Delete(kind, key)
            return
        known = self._uids.get(place)
        if known is not None and known != change.meta.uid:
            self._forget_pod(key)
            yield Delete(kind, key)
            known = None
        obj = msgspec.json.decode(change.body)
        if kind.resource == "pods":
            yield from self._pod_operations(kind, change, obj, is_known=known is not None)
        elif kind.resource == "resourceclaims" and is_made_for_pod(obj):
            if known is None:
                yield from self._made_claim(kind, change, obj)
        elif known is not None:
            yield _replace(kind, key, obj)
        else:
            earlier = self._present.pop(place, None)
            self._uids[place] = change.meta.uid
            if earlier is not None and earlier != change.meta.uid:
                yield Delete(kind, key)
            is_there = earlier == change.meta.uid
            yield _replace(kind, key, obj) if is_there else self._created(kind, change, obj)
            if change.is_initial and not is_there and self._keeps_devices(kind, obj):
                copy = without_users(created_copy(kind, obj))
                yield Replace(kind, key, copy, has_status=True)

    def _made_claim(
        self, kind: SourceKind, change: ChangedObject, obj: Document
    ) -> Iterator[Operation]:
        """Keep a claim with devices that a template made for a pod, until the pod is listed."""
        place = (kind.resource, change.meta.key)
        earlier = self._present.pop(place, None)
        if earlier == change.meta.uid:
            self._uids[place] = change.meta.uid
            return
        if earlier is not None:
            yield Delete(kind, change.meta.key)
        pod, entry = pod_of(obj), entry_of(obj)
        if pod and entry and change.is_initial and self._keeps_devices(kind, obj):
            self._made.setdefault(pod, []).append((kind, obj))

    def _with_claims(self, pod: Create, uid: str) -> Iterator[Operation]:
        """Create the claims that templates made for a pod which keeps its node, then the pod."""
        made = self._made.pop(uid, ())
        if not made or not pod.obj["spec"].get("nodeName"):
            yield pod
            return
        names: dict[str, str] = {}
        for kind, claim in made:
            metadata = claim["metadata"]
            key = f"{metadata['namespace']}/{metadata['name']}"
            self._uids[kind.resource, key] = metadata["uid"]
            copy = independent(created_copy(kind, claim))
            yield Create(kind, key, copy)
            yield Replace(kind, key, copy, has_status=True)
            names[entry_of(claim) or ""] = metadata["name"]
        yield msgspec.structs.replace(pod, obj=with_named_claims(pod.obj, names))

    def _pod_operations(
        self, kind: SourceKind, change: ChangedObject, obj: Document, *, is_known: bool
    ) -> Iterator[Operation]:
        key, place = change.meta.key, (kind.resource, change.meta.key)
        self._note_finished(key, obj)
        if is_known:
            yield from self._changed_pod(kind, change, obj)
            return
        if self._is_left_out(change, obj):
            return
        earlier = self._present.pop(place, None)
        self._uids[place] = change.meta.uid
        self._follow_pod(key, obj)
        if earlier == change.meta.uid:
            return
        if earlier is not None:
            yield Delete(kind, key)
        yield from self._with_claims(self._created(kind, change, obj), change.meta.uid)
        if self.policies.mirrors_pod_status:
            yield from _phase(kind, key, obj)

    def _created(self, kind: SourceKind, change: ChangedObject, obj: Document) -> Create:
        copy = created_copy(kind, obj)
        if kind.resource == "pods":
            copy = with_selector(
                copy, self._implied.of(obj), is_explicit=self.policies.has_explicit_spread
            )
            spec = copy["spec"]
            if spec.get("nodeName") and not self._keeps_node(change, obj):
                self.rescheduled += 1
                copy["spec"] = {k: v for k, v in spec.items() if k != "nodeName"}
            if not copy["spec"].get("nodeName"):
                copy.pop("status", None)
        return Create(kind, change.meta.key, copy)

    def _keeps_devices(self, kind: SourceKind, obj: Document) -> bool:
        """Whether the devices of a claim stay allocated: those of pods that keep their nodes."""
        if kind.resource != "resourceclaims" or self.policies.bound is BoundPods.none:
            return False
        return not self.policies.excludes_running and "allocation" in (obj.get("status") or {})

    def _keeps_node(self, change: ChangedObject, obj: Document) -> bool:
        metadata = obj["metadata"]
        if MIRROR_ANNOTATION in (metadata.get("annotations") or {}):
            return True
        if any(each.get("kind") == "DaemonSet" for each in metadata.get("ownerReferences") or ()):
            return True
        match self.policies.bound:
            case BoundPods.kss | BoundPods.source:
                return True
            case BoundPods.none:
                return False
            case BoundPods.initial:
                return change.is_initial

    def _is_left_out(self, change: ChangedObject, obj: Document) -> bool:
        created = obj["metadata"].get("creationTimestamp") or ""
        uid = change.meta.uid
        was_seen = bool(self._until_before) and (
            created < self._until_before or uid in self._last_before
        )
        if created > self.synced_until:
            self.synced_until = created
            self._last.clear()
        if created == self.synced_until:
            self._last.add(uid)
        place = ("pods", change.meta.key)
        if change.is_initial and was_seen and place not in self._present:
            # An earlier sync has created it, and the destination has it no longer.
            self.kept_deleted += 1
            return True
        return change.is_initial and bool(_node(obj)) and self.policies.excludes_running

    def _changed_pod(
        self, kind: SourceKind, change: ChangedObject, obj: Document
    ) -> Iterator[Operation]:
        key = change.meta.key
        node = _node(obj)
        if node and key in self._unbound:
            self._unbound.discard(key)
            yield BindPod(kind, key, node)
        elif not node:
            # Of a pending pod, only what the API lets change: metadata, and its gates.
            yield PatchPod(kind, key, _pending_patch(obj))
        elif self.policies.follows_labels:
            patch = {"metadata": {"labels": obj["metadata"].get("labels") or None}}
            yield PatchPod(kind, key, patch)
        elif not self.policies.follows_resources:
            self.ignored += 1
        if self.policies.follows_resources:
            yield from self._resized(kind, key, obj)
        if self.policies.mirrors_pod_status:
            yield from _phase(kind, key, obj)

    def _resized(self, kind: SourceKind, key: str, obj: Document) -> Iterator[PatchPod]:
        resources = _resources(obj)
        before = self._resources.get(key)
        self._resources[key] = resources
        if before != resources:
            yield PatchPod(kind, key, {"spec": resources}, "resize")

    def _follow_pod(self, key: str, obj: Document) -> None:
        """Keep what later changes of a new pod are compared with."""
        if self.policies.follows_resources:
            self._resources[key] = _resources(obj)
        if self.policies.bound is BoundPods.source and not _node(obj):
            self._unbound.add(key)

    def _forget_pod(self, key: str) -> None:
        self._finished.pop(key, None)
        self._resources.pop(key, None)
        self._unbound.discard(key)

    def _note_finished(self, key: str, obj: Document) -> None:
        """Count what a finished pod occupies."""
        if self.policies.mirrors_pod_status or key in self._finished:
            return
        if (obj.get("status") or {}).get("phase") in _FINISHED:
            self._finished[key] = _requests(obj)


def _node(obj: Document) -> str:
    """Return the node of a pod; "" for none."""
    return (obj.get("spec") or {}).get("nodeName") or ""


def _replace(kind: SourceKind, key: str, obj: Document) -> Replace:
    return Replace(kind, key, created_copy(kind, obj), has_status=kind.resource == "nodes")


def _pending_patch(obj: Document) -> Document:
    metadata = obj["metadata"]
    patch: dict[str, Any] = {"metadata": {"labels": metadata.get("labels") or None}}
    gates = (obj.get("spec") or {}).get("schedulingGates")
    patch["spec"] = {"schedulingGates": gates or None}
    return patch


def _phase(kind: SourceKind, key: str, obj: Document) -> Iterator[Operation]:
    phase = (obj.get("status") or {}).get("phase")
    if phase in _FINISHED:
        yield PatchPod(kind, key, {"status": {"phase": phase}}, "status")


def _resources(obj: Document) -> Document:
    """Return the resources of all containers, as a strategic merge patch of the spec."""
    spec = obj.get("spec") or {}
    return {
        field: [
            {"name": each["name"], "resources": each.get("resources") or {}} for each in spec[field]
        ]
        for field in ("containers", "initContainers")
        if spec.get(field)
    }


def _requests(obj: Document) -> tuple[int, int]:
    requests = pending_requests(decode_pod(obj))
    return requests.get("cpu", 0), requests.get("memory", 0)
