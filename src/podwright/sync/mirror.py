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
- Resource claims that were made for one pod are not mirrored: the destination creates them again.
  Claims have no devices, unless a pod that uses them keeps its node: then they keep theirs. One
  that a template made for such a pod is created before it, and it names that claim; one for its
  extended resources follows it.
- Services and the owners of pods are not mirrored; what they imply is (`implied_selectors`).
- Owners and service accounts are left out (`object_copy`); the uid of the source is in an
  annotation, so another object of the same name is replaced.

Upstream: simulator/syncer/syncer.go, simulator/resourceapplier (kube-scheduler-simulator)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from podwright.client import BoundPods, SyncPolicies, Unfreed
from podwright.client.cluster import ChangedObject
from podwright.objects import Document, decode_pod, pending_requests
from podwright.sync.change_merge import SourceChange
from podwright.sync.claim_copy import (
    claims_of,
    extended_status,
    has_devices,
    independent,
    is_made_for_pod,
    with_devices,
    with_named_claims,
)
from podwright.sync.implied_selectors import ImpliedSelectors, with_selector
from podwright.sync.object_copy import created_copy
from podwright.sync.seen_pods import SeenPods
from podwright.sync.source_kinds import SourceKind

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
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


class AllocateExtended(msgspec.Struct, frozen=True):
    """Create the claim for the extended resources of a pod, with the devices of the source.

    Nothing is done for a pod that has such a claim, or another node.

    Attributes
    ----------
    kind : SourceKind
        Of claims.
    key : str
        Of the claim.
    obj : Document
        The claim.
    pod, node : str
        The name of the pod, and its node.
    status : Document
        The `status.extendedResourceClaimStatus` of the pod.
    """

    kind: SourceKind
    key: str
    obj: Document
    pod: str
    node: str
    status: Document


class AllocateClaim(msgspec.Struct, frozen=True):
    """Allocate the devices of the source to a claim of a pod that is there.

    Nothing is done for a pod on another node, and for a claim that has devices.

    Attributes
    ----------
    kind : SourceKind
        Of claims.
    key : str
        Of the claim at the source.
    obj : Document
        That claim.
    pod, node : str
        The name of the pod, and its node at the source.
    entry : str
        The name in `spec.resourceClaims` of the pod; what it names may differ from the source.
    """

    kind: SourceKind
    key: str
    obj: Document
    pod: str
    node: str
    entry: str


class Delete(msgspec.Struct, frozen=True):
    """Delete an object that the source has deleted."""

    kind: SourceKind
    key: str


Operation: TypeAlias = (
    Create | Replace | PatchPod | BindPod | AllocateExtended | AllocateClaim | Delete
)


class Mirror:
    """The state of a sync: which objects of the source the destination has got.

    Parameters
    ----------
    policies : SyncPolicies
    present : mapping of (resource, key) to str
        The objects that an earlier sync has created and the destination still has, with the uids
        of the source.
    seen : SeenPods, optional
        The pods that an earlier sync has seen.

    Attributes
    ----------
    rescheduled : int
        Pods that were first seen with a node, and are scheduled by the destination.
    ignored : int
        Changes of pods with a node, which are not mirrored.
    kept_deleted : int
        Pods that an earlier sync had created and the destination has deleted.
    seen : SeenPods
    """

    def __init__(
        self,
        policies: SyncPolicies,
        *,
        present: dict[tuple[str, str], str] | None = None,
        seen: SeenPods | None = None,
    ) -> None:
        self.policies = policies
        self.rescheduled = 0
        self.ignored = 0
        self.kept_deleted = 0
        self.seen = SeenPods() if seen is None else seen
        self._implied = ImpliedSelectors()
        self._uids: dict[tuple[str, str], str] = {}
        self._present = dict(present or {})
        # By key, the encoded claims with devices that no pod has kept yet.
        self._allocated: dict[str, tuple[SourceKind, bytes]] = {}
        # By the key of a claim that has no devices yet: the pod that has its node already.
        self._awaiting: dict[str, Document] = {}
        self._given: set[str] = set()
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
        return () if self.policies.ignores_deletions else gone

    def mirrors(self, resource: str, key: str) -> bool:
        """Whether the source has an object that the destination has got."""
        return (resource, key) in self._uids

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
            self._forget(kind, key)
            if self.policies.ignores_deletions:
                return  # its uid is kept: another object of its name replaces it
            if self._uids.pop(place, None) is not None:
                yield Delete(kind, key)
            return
        known = self._uids.get(place)
        if known is not None and known != change.meta.uid:
            self._forget(kind, key)
            yield Delete(kind, key)
            known = None
        obj = msgspec.json.decode(change.body)
        if kind.resource == "pods":
            yield from self._pod_operations(kind, change, obj, is_known=known is not None)
            return
        if kind.resource == "resourceclaims" and is_made_for_pod(obj):
            yield from self._present_claim(kind, change)
        else:
            yield from self._object_operations(kind, change, obj, is_known=known is not None)
        if kind.resource == "resourceclaims":
            yield from self._late_devices(kind, change, obj)

    def _object_operations(
        self, kind: SourceKind, change: ChangedObject, obj: Document, *, is_known: bool
    ) -> Iterator[Operation]:
        key, place = change.meta.key, (kind.resource, change.meta.key)
        if is_known:
            yield self._replaced(kind, key, obj)
            return
        earlier = self._present.pop(place, None)
        self._uids[place] = change.meta.uid
        if earlier is not None and earlier != change.meta.uid:
            yield Delete(kind, key)
        is_there = earlier == change.meta.uid
        yield self._replaced(kind, key, obj) if is_there else self._created(kind, change, obj)

    def _present_claim(self, kind: SourceKind, change: ChangedObject) -> Iterator[Operation]:
        """Follow a claim of a pod that an earlier sync has created."""
        place = (kind.resource, change.meta.key)
        earlier = self._present.pop(place, None)
        if earlier == change.meta.uid:
            self._uids[place] = change.meta.uid
        elif earlier is not None:
            yield Delete(kind, change.meta.key)

    def _late_devices(
        self, kind: SourceKind, change: ChangedObject, obj: Document
    ) -> Iterator[Operation]:
        """Keep a claim with devices until a pod that keeps its node uses it, if none does yet."""
        if not has_devices(obj):
            self._allocated.pop(change.meta.key, None)
            return
        self._allocated[change.meta.key] = (kind, change.body)
        pod = self._awaiting.pop(change.meta.key, None)
        if pod is not None:
            yield from self._devices_of_bound(pod, has_node=True)

    def _with_devices(self, pod: Create, source: Document) -> Iterator[Operation]:
        """Create a pod; if it keeps its node, its claims get their devices before it."""
        if not pod.obj["spec"].get("nodeName"):
            yield pod
            return
        made: dict[str, str] = {}
        for entry, kind, claim in self._taken(source, claims_of(source)):
            key = _key(claim)
            copy = with_devices(created_copy(kind, claim))
            if is_made_for_pod(claim):
                copy = independent(copy)
                self._uids[kind.resource, key] = claim["metadata"]["uid"]
                made[entry] = claim["metadata"]["name"]
                yield Create(kind, key, copy)
            yield Replace(kind, key, copy, has_status=True)
        obj = with_named_claims(pod.obj, made) if made else pod.obj
        yield msgspec.structs.replace(pod, obj=obj)
        # Claims that were made after their kind was listed follow.
        yield from self._devices_of_bound(source, has_node=True)

    def _devices_of_bound(self, pod: Document, *, has_node: bool) -> Iterator[Operation]:
        """Allocate the devices of a pod that the source has bound, and await those that follow.

        Parameters
        ----------
        has_node : bool
            Whether the pod has its node here, too.
        """
        for entry, kind, claim in self._taken(pod, claims_of(pod), awaits=True):
            yield AllocateClaim(
                kind, _key(claim), created_copy(kind, claim), pod["metadata"]["name"],
                _node(pod), entry,
            )  # fmt: skip
        if has_node:
            yield from self._extended(pod)

    def _extended(self, pod: Document) -> Iterator[Operation]:
        """Create the claim for the extended resources of a pod that keeps its node."""
        status = extended_status(pod)
        if status is None or not _node(pod):
            return
        name = {"": status["resourceClaimName"]}
        for _, kind, claim in self._taken(pod, name, awaits=True):
            copy = created_copy(kind, claim)
            yield AllocateExtended(
                kind, _key(claim), copy, pod["metadata"]["name"], _node(pod), status
            )

    def _taken(
        self, pod: Document, names: Mapping[str, str], *, awaits: bool = False
    ) -> Iterator[tuple[str, SourceKind, Document]]:
        """Yield the claims of a pod that have devices, each once, with its entry in the pod."""
        for entry, name in names.items():
            key = f"{pod['metadata']['namespace']}/{name}"
            found = self._allocated.pop(key, None)
            if found is None and awaits and key not in self._given:
                self._awaiting[key] = pod
            if found is not None:
                self._given.add(key)
                kind, body = found
                yield entry, kind, msgspec.json.decode(body)

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
            # The earlier sync may have ended between the pod and its claim.
            yield from self._extended(obj)
            return
        if earlier is not None:
            yield Delete(kind, key)
        yield from self._with_devices(self._created(kind, change, obj), obj)
        if self.policies.mirrors_pod_status:
            yield from _phase(kind, key, obj)

    def _replaced(self, kind: SourceKind, key: str, obj: Document) -> Replace:
        has_status = kind.resource == "nodes" and not self.policies.freezes_node_status
        return Replace(kind, key, created_copy(kind, obj), has_status=has_status)

    def _created(self, kind: SourceKind, change: ChangedObject, obj: Document) -> Create:
        copy = created_copy(
            kind,
            obj,
            keeps_owners=self.policies.keeps_owners,
            keeps_accounts=self.policies.keeps_accounts,
        )
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
        was_seen = self.seen.has_seen_before(uid, created)
        self.seen.add(uid, created)
        place = ("pods", change.meta.key)
        restores = self.policies.restores_deleted
        if change.is_initial and was_seen and not restores and place not in self._present:
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
            # Before the pod is bound, so that its containers can start then.
            yield from self._devices_of_bound(obj, has_node=False)
            yield BindPod(kind, key, node)
            yield from self._extended(obj)
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

    def _forget(self, kind: SourceKind, key: str) -> None:
        if kind.resource == "resourceclaims":
            self._allocated.pop(key, None)
            self._awaiting.pop(key, None)
            self._given.discard(key)
        if kind.resource != "pods":
            return
        self._finished.pop(key, None)
        self._resources.pop(key, None)
        self._unbound.discard(key)

    def _note_finished(self, key: str, obj: Document) -> None:
        """Count what a finished pod occupies."""
        if self.policies.mirrors_pod_status or key in self._finished:
            return
        if (obj.get("status") or {}).get("phase") in _FINISHED:
            self._finished[key] = _requests(obj)


def _key(obj: Document) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _node(obj: Document) -> str:
    """Return the node of a pod; "" for none."""
    return (obj.get("spec") or {}).get("nodeName") or ""


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
