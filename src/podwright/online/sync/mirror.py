"""Decides what a destination gets of the changes of a source, without I/O.

A destination is brought to the state of the source by comparison (`settlement`), whatever has
happened before. What stays different has a rule, most with a switch in `SyncPolicies`:

- A pod that is bound in the first list of the first sync keeps its node. A pod that is created
  later is scheduled by the destination, also if it is first seen with a node. Static pods and pods
  of daemon sets keep their node always.
- Changes of a pod that has a node on both sides are ignored: the destination has placed it itself.
  Changed labels and resources are followed on request.
- Deletions are mirrored. Pods that the destination has deleted by itself stay deleted, also after a
  restart: a pod that was created at the source before the last sync ended, and is absent, was
  deleted here.
- Nodes are mirrored with their status, pods without it.
- Resource claims that were made for one pod are not mirrored: the destination creates them again.
  Claims have no devices, unless a pod that uses them keeps its node: then they keep theirs. One
  that a template made for such a pod is created before it, and it names that claim; one for its
  extended resources follows it.
- The destination's own classes of storage are not defaults, which claims without a class would get.
- Services and the owners of pods are not mirrored; what they imply is (`ImpliedSelectors`).
- Owners and service accounts are left out (`object_copy`); the uid of the source is in an
  annotation, so another object of the same name is replaced.

Upstream: kube-scheduler-simulator simulator/syncer/syncer.go, simulator/resourceapplier;
pkg/scheduler/framework/plugins/helper/spread.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    Object,
    Pod,
    Requirement,
    Selector,
    decode_pod,
    pending_requests,
)
from podwright.apimachinery.schema import decode
from podwright.online.client import BoundPods, SyncPolicies, Unfreed
from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.object_copy import (
    claims_of,
    created_copy,
    extended_status,
    has_devices,
    independent,
    is_made_for_pod,
    is_of_extended_resources,
    with_devices,
    with_named_claims,
)
from podwright.online.sync.operations import (
    AllocateClaim,
    AllocateExtended,
    BindPod,
    Create,
    Delete,
    Operation,
    Settle,
)
from podwright.online.sync.placements import SeenPods
from podwright.online.sync.settlement import (
    FINISHED,
    THERE,
    TOPOLOGY_LABELS,
    Difference,
    ObjectDifference,
    source_uid,
)
from podwright.online.sync.source import SourceChange
from podwright.online.sync.source_kinds import SourceKind
from podwright.scheduler.columns import SPREAD_SELECTOR, WorkloadIndex, default_selector

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
BROUGHT_ALONG: Final = frozenset({
    "customresourcedefinitions", "namespaces", "priorityclasses", "storageclasses",
})  # fmt: skip
"""Kinds of which a cluster has objects from its start: those of the same name are settled."""

_IS_DEFAULT: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)

IGNORED_DELETIONS: Final = "deletions are not mirrored (--ignore-deletions)"
RUNNING_PODS: Final = "pods that had a node at the start are left out (--exclude-running)"
DELETED_HERE: Final = "what the destination has deleted stays so without --restore-deleted"
MADE_CLAIMS: Final = "claims that were made for a pod are created again by the destination"


class _Known(msgspec.Struct, frozen=True):
    """What the destination has got of an object: its uid at the source, and a hash of the copy."""

    uid: str
    digest: bytes = b""


class Mirror:
    """The state of a sync: which objects of the source the destination has got.

    `compare` takes the first list of a kind, and `take` each later change. Both compare with what
    the destination should have: at the start with what it has, later with what it has got.

    Parameters
    ----------
    policies : SyncPolicies
    seen : SeenPods, optional
        The pods that an earlier sync has seen.
    on_kept : callable, optional
        Called with each object of one side that the other does not have because of a policy.

    Attributes
    ----------
    rescheduled : int
        Pods that were first seen with a node, and are scheduled by the destination.
    kept_deleted : int
        Pods that an earlier sync had created and the destination has deleted.
    seen : SeenPods
    """

    def __init__(
        self,
        policies: SyncPolicies,
        *,
        seen: SeenPods | None = None,
        on_kept: Callable[[ObjectDifference], None] | None = None,
    ) -> None:
        self.policies = policies
        self.rescheduled = 0
        self.kept_deleted = 0
        self.seen = SeenPods() if seen is None else seen
        # A later sync continues: pods that were created meanwhile are scheduled here.
        self._is_first = not self.seen.until
        self._on_kept = on_kept
        self._implied = ImpliedSelectors()
        self._known: dict[tuple[str, str], _Known] = {}
        # By key, the uids of pods of the first list that are left out, and so are their changes.
        self._left_out: dict[str, str] = {}
        # Of the kind that is compared: what the destination has, by key.
        self._present: dict[str, Document] = {}
        # By namespace and key: changes of pods that have no node here yet.
        self._waiting: dict[str, dict[str, SourceChange]] = {}
        # By key, the encoded claims with devices that no pod has kept yet.
        self._allocated: dict[str, tuple[SourceKind, bytes]] = {}
        # By the key of a claim that has no devices yet: the pod that has its node already.
        self._awaiting: dict[str, Document] = {}
        self._given: set[str] = set()
        self._finished: dict[str, tuple[int, int]] = {}
        # Pods whose bindings are mirrored, if the source schedules.
        self._unbound: set[str] = set()

    def compare(
        self, kind: SourceKind, listed: Sequence[SourceChange], present: Mapping[str, bytes]
    ) -> Iterator[tuple[SourceChange, Sequence[Operation]]]:
        """Compare all objects of a kind with those of the destination.

        What is gone at the source precedes what is new, so that it leaves its room.

        Parameters
        ----------
        kind : SourceKind
        listed : sequence of SourceChange
            An Add of each object of the source.
        present : mapping of str to bytes
            The objects of the destination as JSON, by key.

        Yields
        ------
        tuple of (SourceChange, sequence of Operation)
        """
        here = {key: msgspec.json.decode(body) for key, body in present.items()}
        uids = {each.change.meta.key: each.change.meta.uid for each in listed}
        for key, obj in here.items():
            uid = source_uid(obj)
            if uid is None or is_of_extended_resources(obj["metadata"].get("annotations")):
                continue  # its own; or it goes with its pod
            if key not in uids and self.policies.ignores_deletions:
                self._keep(kind, key, Difference("", None, THERE, IGNORED_DELETIONS))
            elif uids.get(key) != uid:
                gone = ChangedObject("Delete", _meta(obj, uid))
                yield SourceChange(kind, gone, 0), (Delete(kind, key),)
        if kind.resource == "storageclasses":
            yield from _without_defaults(kind, uids, here)
        self._present = {
            key: obj for key, obj in here.items()
            if source_uid(obj) in ((None,) if kind.resource in BROUGHT_ALONG else ())
            or source_uid(obj) == uids.get(key, "")
        }  # fmt: skip
        for each in listed:
            yield each, self.take(each)
        self._present = {}

    def take(self, change: SourceChange) -> Sequence[Operation]:
        """Return what a change of the source means for the destination."""
        if not change.kind.is_workload:
            return tuple(self._operations(change))
        if not self._implied.take(change):
            return ()
        namespace = change.change.meta.namespace
        waiting = tuple(self._waiting.get(namespace, {}).values())
        return tuple(operation for each in waiting for operation in self._operations(each))

    def forget(self, resource: str, key: str) -> None:
        """Take note that the destination has not got an object; its next change creates it."""
        self._known.pop((resource, key), None)

    def placed(self, key: str) -> None:
        """Take note that a pod has a node at the destination, or is gone there."""
        self._waiting.get(key.partition("/")[0], {}).pop(key, None)

    def mirrors(self, resource: str, key: str) -> bool:
        """Whether the source has an object that the destination has got."""
        return (resource, key) in self._known

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

    def _operations(self, each: SourceChange) -> Iterator[Operation]:
        kind, change = each.kind, each.change
        key, place = change.meta.key, (kind.name, change.meta.key)
        if change.event == "Delete":
            self._forget(kind, key)
            if self.policies.ignores_deletions:
                return  # its uid is kept: another object of its name replaces it
            if self._known.pop(place, None) is not None:
                yield Delete(kind, key)
            return
        known = self._known.get(place)
        if known is not None and known.uid != change.meta.uid:
            self._forget(kind, key)
            del self._known[place]
            yield Delete(kind, key)
        obj = msgspec.json.decode(change.body)
        if kind.resource == "pods":
            yield from self._pod_operations(each, obj)
            return
        if kind.resource == "resourceclaims" and is_made_for_pod(obj):
            self._made_claim(kind, change)
        else:
            copy = created_copy(kind, obj)
            if kind.resource == "resourceclaims":
                copy.pop("status", None)  # devices follow with a pod that keeps its node
            yield from self._put(kind, change, copy)
        if kind.resource == "resourceclaims":
            yield from self._late_devices(kind, change, obj)

    def _put(
        self, kind: SourceKind, change: ChangedObject, copy: Document, node: str = ""
    ) -> Iterator[Create | Settle]:
        """Create the copy of an object, or settle it if it is there and not the same."""
        key, place = change.meta.key, (kind.name, change.meta.key)
        known = self._known.get(place)
        created = Create(kind, key, copy, self.policies, node)
        now = _Known(change.meta.uid, self._digest(kind, copy))
        self._known[place] = now
        present = self._present.get(key)
        if known is not None:
            if known.digest != now.digest:
                yield created.settling()
        elif present is None:
            yield created
        else:
            yield created.settling(present)

    def _digest(self, kind: SourceKind, copy: Document) -> bytes:
        """Return a hash of what is mirrored of an object."""
        left_out = {"status"}
        spec = copy.get("spec")
        if kind.resource == "nodes" and not self.policies.freezes_node_status:
            left_out = set()
        rest = {k: v for k, v in copy.items() if k not in left_out}
        if kind.resource == "pods":
            rest["spec"] = {k: v for k, v in (spec or {}).items() if k != "nodeName"}
            phase = (copy.get("status") or {}).get("phase")
            if self.policies.mirrors_pod_status and phase in FINISHED:
                rest["status"] = phase
        return hashlib.blake2b(msgspec.json.encode(rest), digest_size=16).digest()

    def _made_claim(self, kind: SourceKind, change: ChangedObject) -> None:
        """Follow the copy of a claim of a pod that an earlier sync has created."""
        if change.meta.key in self._present:
            self._known[kind.name, change.meta.key] = _Known(change.meta.uid)
        elif (kind.name, change.meta.key) not in self._known:
            self._keep(kind, change.meta.key, Difference("", THERE, None, MADE_CLAIMS))

    def _keep(self, kind: SourceKind, key: str, difference: Difference) -> None:
        if self._on_kept is not None:
            self._on_kept(ObjectDifference(kind, key, difference))

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
                self._known[kind.name, key] = _Known(claim["metadata"]["uid"])
                made[entry] = claim["metadata"]["name"]
                yield Create(kind, key, copy, self.policies)
            yield Settle(kind, key, copy, self.policies)
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

    def _pod_operations(self, each: SourceChange, obj: Document) -> Iterator[Operation]:
        kind, change = each.kind, each.change
        key = change.meta.key
        self._note_finished(key, obj)
        is_known = (kind.name, key) in self._known
        present = self._present.get(key)
        if not is_known and self._is_left_out(kind, change, obj, is_present=present is not None):
            return
        node, here = _node(obj), _node(present or {})
        for operation in self._put(kind, change, self._copy_of_pod(kind, obj), node):
            if isinstance(operation, Settle):
                yield operation
                continue
            new = self._new(operation, change, obj)
            here = _node(new.obj)
            yield from self._with_devices(new, obj)
            if self.policies.mirrors_pod_status and _phase(obj) in FINISHED:
                yield new.settling()  # servers create pods without their phase
        self._follow_pod(each, is_new=not is_known and not here)
        if present is not None and here == node and not extended_status(present):
            # The earlier sync may have ended between the pod and its claim.
            yield from self._extended(obj)
        if node and key in self._unbound:
            self._unbound.discard(key)
            # Before the pod is bound, so that its containers can start then.
            yield from self._devices_of_bound(obj, has_node=False)
            yield BindPod(kind, key, node)
            yield from self._extended(obj)

    def _copy_of_pod(self, kind: SourceKind, obj: Document) -> Document:
        copy = created_copy(
            kind, obj, keeps_owners=self.policies.keeps_owners,
            keeps_accounts=self.policies.keeps_accounts,
        )  # fmt: skip
        if _node(obj) and (labels := copy["metadata"].get("labels")):
            labels = {k: v for k, v in labels.items() if k not in TOPOLOGY_LABELS}
            copy["metadata"]["labels"] = labels
        return with_selector(
            copy, self._implied.of(obj), is_explicit=self.policies.has_explicit_spread
        )

    def _new(self, created: Create, change: ChangedObject, obj: Document) -> Create:
        """Return the creation of a pod, on its node if it keeps that."""
        if not _node(obj):
            rest = {k: v for k, v in created.obj.items() if k != "status"}
            return msgspec.structs.replace(created, obj=rest)
        if self._keeps_node(change, obj):
            labels = obj["metadata"].get("labels")
            metadata = {**created.obj["metadata"], **({"labels": labels} if labels else {})}
            return msgspec.structs.replace(created, obj={**created.obj, "metadata": metadata})
        self.rescheduled += 1
        spec = {k: v for k, v in created.obj["spec"].items() if k != "nodeName"}
        rest = {k: v for k, v in created.obj.items() if k != "status"}
        return msgspec.structs.replace(created, obj={**rest, "spec": spec})

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
                return change.is_initial and self._is_first

    def _is_left_out(
        self, kind: SourceKind, change: ChangedObject, obj: Document, *, is_present: bool
    ) -> bool:
        created = obj["metadata"].get("creationTimestamp") or ""
        uid, key = change.meta.uid, change.meta.key
        if self._left_out.get(key) == uid:
            return True
        was_seen = self.seen.has_seen_before(uid, created)
        self.seen.add(uid, created)
        if is_present or not change.is_initial:
            return False
        if _node(obj) and self.policies.excludes_running and (self._is_first or was_seen):
            policy = RUNNING_PODS
        elif was_seen and not self.policies.restores_deleted:
            # An earlier sync has created it, and the destination has it no longer.
            policy = DELETED_HERE
            self.kept_deleted += 1
        else:
            return False
        self._left_out[key] = uid
        self._keep(kind, key, Difference("", THERE, None, policy))
        return True

    def _follow_pod(self, each: SourceChange, *, is_new: bool) -> None:
        """Keep what a pod without a node here is compared with later."""
        namespace, key = each.change.meta.namespace, each.change.meta.key
        waiting = self._waiting.setdefault(namespace, {})
        if is_new or key in waiting:
            waiting[key] = each
        if is_new and self.policies.bound is BoundPods.source:
            self._unbound.add(key)

    def _forget(self, kind: SourceKind, key: str) -> None:
        if kind.resource == "resourceclaims":
            self._allocated.pop(key, None)
            self._awaiting.pop(key, None)
            self._given.discard(key)
        if kind.resource != "pods":
            return
        self._finished.pop(key, None)
        self._left_out.pop(key, None)
        self._awaiting = {k: pod for k, pod in self._awaiting.items() if _key(pod) != key}
        self.placed(key)
        self._unbound.discard(key)

    def _note_finished(self, key: str, obj: Document) -> None:
        """Count what a finished pod occupies."""
        if _phase(obj) in FINISHED and not self.policies.mirrors_pod_status:
            self._finished[key] = _requests(obj)


def _key(obj: Document) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _node(obj: Document) -> str:
    """Return the node of a pod; "" for none."""
    return (obj.get("spec") or {}).get("nodeName") or ""


def _phase(obj: Document) -> str | None:
    phase: str | None = (obj.get("status") or {}).get("phase")
    return phase


def _meta(obj: Document, uid: str = "") -> Meta:
    metadata = obj["metadata"]
    return Meta(name=metadata["name"], namespace=metadata.get("namespace") or "", uid=uid)


def _without_defaults(
    kind: SourceKind, uids: Mapping[str, str], present: Mapping[str, Document]
) -> Iterator[tuple[SourceChange, Sequence[Operation]]]:
    """Make the destination's own classes of storage no defaults.

    Claims that have no class at the source would get one.
    """
    for key, obj in present.items():
        annotations = obj["metadata"].get("annotations") or {}
        if key in uids or "true" not in map(annotations.get, _IS_DEFAULT):
            continue
        annotations = {k: "false" if k in _IS_DEFAULT else v for k, v in annotations.items()}
        aim = {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}
        change = ChangedObject("Update", _meta(obj))
        yield SourceChange(kind, change, 0), (Settle(kind, key, aim, present=obj),)


def _requests(obj: Document) -> tuple[int, int]:
    requests = pending_requests(decode_pod(obj))
    return requests.get("cpu", 0), requests.get("memory", 0)


# The selector that Services and owners imply for a pod at the source.
#
# The scheduler spreads pods without their own constraints by it. A copy of the pod has no
# owner, and workloads are not copied, so the selector is kept in an annotation.

_DEFAULTS: Final = (("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5))
"""Upstream's system defaults: topology key and maximum skew, both ScheduleAnyway."""


class ImpliedSelectors:
    """The Services and owners of a source."""

    def __init__(self) -> None:
        self._index = WorkloadIndex()
        self._objects: dict[tuple[str, str], Object] = {}
        self._read: dict[tuple[str, str], Document | None] = {}

    def take(self, each: SourceChange) -> bool:
        """Take a change of a Service or of an owner; return whether a selector may change."""
        place = (each.kind.resource, each.change.meta.key)
        if each.change.event == "Delete":
            self._read.pop(place, None)
            known = self._objects.pop(place, None)
            if known is not None:
                self._index.delete(known)
            return known is not None
        document = msgspec.json.decode(each.change.body)
        selector = (document.get("spec") or {}).get("selector")
        # Their templates and counts are not read, and change often.
        if place in self._read and self._read[place] == selector:
            return False
        self._read[place] = selector
        obj = decode({**document, "apiVersion": each.kind.api_version, "kind": each.kind.kind})
        self._objects[place] = obj
        self._index.put(obj)
        return True

    def of(self, document: Document) -> Selector:
        """Return the selector of a pod of the source; empty if nothing selects it."""
        head = {"apiVersion": "v1", "kind": "Pod", "metadata": document["metadata"]}
        pod = decode({**head, "spec": {"containers": []}})
        assert isinstance(pod, Pod)
        metadata = pod.metadata
        return default_selector(
            self._index, metadata.namespace, metadata.labels, metadata.controller
        )


def with_selector(copy: Document, selector: Selector, *, is_explicit: bool) -> Document:
    """Return a copy of a pod that is spread by a selector.

    Parameters
    ----------
    copy : Document
    selector : Selector
    is_explicit : bool
        Whether to write constraints instead of the annotation, for schedulers that do not read it.
        They differ from default constraints on nodes without the label of a topology.
    """
    if selector.is_empty or (copy["spec"].get("topologySpreadConstraints")):
        return copy
    if is_explicit:
        expressions = [_expression(each) for each in selector.requirements]
        constraints = [
            {
                "maxSkew": skew,
                "topologyKey": key,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchExpressions": expressions},
            }
            for key, skew in _DEFAULTS
        ]
        return {**copy, "spec": {**copy["spec"], "topologySpreadConstraints": constraints}}
    metadata = copy["metadata"]
    annotations = {**(metadata.get("annotations") or {}), SPREAD_SELECTOR: str(selector)}
    return {**copy, "metadata": {**metadata, "annotations": annotations}}


def _expression(requirement: Requirement) -> Document:
    expression: Document = {"key": requirement.key, "operator": requirement.operator}
    if requirement.values:
        expression["values"] = list(requirement.values)
    return expression
