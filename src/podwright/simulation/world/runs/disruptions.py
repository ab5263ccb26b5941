"""The disruptions of a run: drains, evictions, and pods that no controller replaces.

`Disruptions` observes the requests that remove pods. A drain is blocked while disruption budgets
reject the eviction of one of its pods. A pod is lost if it was evicted, preempted or removed with
its node, and has no controller that creates another one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    api_group,
    condition_of,
    timestamp_text_nano,
)
from podwright.cluster.api import SCHEDULER_USER, DeleteObject, EvictPod, Rejection
from podwright.cluster.controllers import (
    DeviceTaintEvictionController,
    DrainNode,
    GarbageCollector,
    NodeEvent,
    PodGarbageCollector,
    TaintEvictionController,
)
from podwright.cluster.store import ObjectStore

_TAINT_EVICTIONS = (TaintEvictionController.name, DeviceTaintEvictionController.name)


class BlockedEviction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An eviction that is rejected so far.

    Attributes
    ----------
    pod : str
    budgets : tuple of str
        The names of the budgets that reject it.
    message : str
        The reason, in upstream's words.
    since : str
        The time of the first rejection.
    """

    pod: NamespacedName
    budgets: tuple[str, ...]
    message: str
    since: str


class DrainRecord(msgspec.Struct, kw_only=True):
    """A drain so far.

    Attributes
    ----------
    evicted : int
        The number of evicted pods.
    blocked : dict
        The rejected evictions, by pod.
    ended_ns : int, optional
    is_node_deleted : bool
        Whether the node was deleted before the end of the drain.
    """

    node: str
    since_ns: int
    evicted: int = 0
    blocked: dict[NamespacedName, BlockedEviction] = {}
    ended_ns: int | None = None
    is_node_deleted: bool = False


class NodeDrain(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a drain.

    Attributes
    ----------
    status : str
        `done`, `blocked` (budgets reject evictions), `in progress` (pods still terminate) or
        `node deleted`.
    since : str
    ended : str, optional
    evicted : int
        The number of evicted pods.
    blocked_by : tuple of str
        The budgets that block the drain, as `namespace/name`.
    blocked_since : str, optional
        The time of the first of these rejections.
    blocked_pods : tuple of BlockedEviction
    """

    node: str
    status: str
    since: str
    ended: str | None = None
    evicted: int = 0
    blocked_by: tuple[str, ...] = ()
    blocked_since: str | None = None
    blocked_pods: tuple[BlockedEviction, ...] = ()


class Evictions(msgspec.Struct, kw_only=True, rename="camel"):
    """The numbers of removed pods, without preemption.

    Attributes
    ----------
    evicted : int
        By drains.
    rejected : int
        Attempts that disruption budgets rejected.
    by_taint : int
        Pods that do not tolerate a NoExecute taint of their node, such as that of a failed node.
    node_deleted : int
        Pods whose node was deleted.
    """

    evicted: int = 0
    rejected: int = 0
    by_taint: int = 0
    node_deleted: int = 0


class LostPod(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A pod that was removed and that no controller replaces.

    Attributes
    ----------
    pod, node : str
        The `namespace/name` of the pod, and the name of its node.
    cause : str
        `evicted`, `evicted by taint`, `preempted`, `node deleted` or `owner missing`.
    owner : str
        The missing owner, such as `ReplicaSet default/web-1`; empty for a pod without owner.
    time : str
        When it was removed, RFC 3339.
    """

    pod: NamespacedName
    node: str
    cause: str
    owner: str
    time: str


class ObservedWorld(Protocol):
    """What the observer reads of a world."""

    store: ObjectStore

    @property
    def draining_nodes(self) -> Collection[str]:
        """The nodes whose drains are in progress."""
        ...


class Disruptions(Checkpointed):
    """Observes a world and collects its disruptions.

    Parameters
    ----------
    world : World
    missing_owners : mapping of str to str
        The owner of each pod whose owner is not among the inputs.

    Attributes
    ----------
    evictions : Evictions
    """

    _drains: Saved[list[DrainRecord]]
    evictions: Saved[Evictions]
    _lost: Saved[dict[str, LostPod]]
    _deleted_uids: Saved[dict[str, None]]

    def __init__(self, world: ObservedWorld, missing_owners: Mapping[NamespacedName, str]) -> None:
        self._missing_owners = missing_owners
        self._world = world
        self._drains = []
        self._open: dict[str, DrainRecord] = {}
        self.evictions = Evictions()
        self._lost = {}
        # Dependents of these objects are deleted on purpose.
        self._deleted_uids = {}

    # ------------------------------------------------------------------------- observing

    def node_event(self, event: NodeEvent, now_ns: int) -> None:
        """Receive the start of a drain."""
        if isinstance(event, DrainNode) and event.node not in self._open:
            drain = DrainRecord(node=event.node, since_ns=now_ns)
            self._drains.append(drain)
            self._open[event.node] = drain

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Receive a deleted object; others have no effect."""
        if new is not None or old is None:
            return
        if isinstance(old, Pod):
            drain = self._open.get(old.spec.node_name)
            if drain is not None:
                drain.blocked.pop(old.key, None)
        elif isinstance(old, Node):
            drain = self._open.get(old.name)
            if drain is not None:
                drain.is_node_deleted = True
        else:
            self._deleted_uids[old.metadata.uid] = None

    def removal_handled(
        self, pod: Pod, request: DeleteObject | EvictPod, error: Exception | None, now_ns: int
    ) -> None:
        """Receive a request that removes a pod."""
        if isinstance(request, EvictPod):
            self._evicted(pod, error, now_ns)
            return
        if error is not None or (pod.is_terminal and not _is_failed_by_pod_gc(pod)):
            return
        node, counts = pod.spec.node_name, self.evictions
        if request.user in _TAINT_EVICTIONS:
            # The deletion of a pod that is terminating already is not a further eviction.
            counts.by_taint += not pod.is_terminating
            self._check_lost(pod, "evicted by taint", now_ns)
        elif request.user == PodGarbageCollector.name and node and not self._has_node(node):
            counts.node_deleted += not pod.is_terminating
            self._check_lost(pod, "node deleted", now_ns)
        elif request.user == SCHEDULER_USER:
            self._check_lost(pod, "preempted", now_ns)
        elif request.user == GarbageCollector.name:
            owner = pod.metadata.controller
            if owner is not None and owner.uid not in self._deleted_uids:
                self._check_lost(pod, "owner missing", now_ns)

    def _evicted(self, pod: Pod, error: Exception | None, now_ns: int) -> None:
        drain = self._open.get(pod.spec.node_name)
        if error is None:
            self.evictions.evicted += 1
            if drain is not None:
                drain.evicted += 1
                drain.blocked.pop(pod.key, None)
            if not pod.is_terminal:
                self._check_lost(pod, "evicted", now_ns)
        elif isinstance(error, Rejection) and error.about:
            self.evictions.rejected += 1
            if drain is not None and pod.key not in drain.blocked:
                drain.blocked[pod.key] = BlockedEviction(
                    pod=pod.key,
                    budgets=tuple(f"{pod.namespace}/{name}" for name in error.about),
                    message=" ".join([str(error), *(each["message"] for each in error.causes)]),
                    since=timestamp_text_nano(now_ns),
                )

    def _check_lost(self, pod: Pod, cause: str, now_ns: int) -> None:
        """Add a removed pod to the lost ones if no controller replaces it."""
        if pod.uid in self._lost:
            return
        reference = pod.metadata.controller
        owner = self._missing_owners.get(pod.key, "")
        if reference is not None:
            kind = (api_group(reference.api_version), reference.kind)
            found = None
            # A controller is in the pod's namespace or, like the Node of a static pod, in none.
            for key in (f"{pod.namespace}/{reference.name}", reference.name):
                found = found or self._store.get(kind, key)
            if found is not None and found.metadata.uid == reference.uid:
                return
            owner = f"{reference.kind} {pod.namespace}/{reference.name}"
        self._lost[pod.uid] = LostPod(
            pod=pod.key,
            node=pod.spec.node_name,
            cause=cause,
            owner=owner,
            time=timestamp_text_nano(now_ns),
        )

    def _has_node(self, name: str) -> bool:
        return self._store.get(Node, name) is not None

    @property
    def _store(self) -> ObjectStore:
        return self._world.store

    def passed(self, before_ns: int) -> None:
        """Receive that time advances; drains that are not in progress any more have ended."""
        if not self._open:
            return
        draining = self._world.draining_nodes
        for node in [node for node in self._open if node not in draining]:
            self._open.pop(node).ended_ns = before_ns

    # --------------------------------------------------------------------------- results

    @property
    def drains(self) -> tuple[NodeDrain, ...]:
        """The drains in the order in which they started."""
        return tuple(map(_drain, self._drains))

    @property
    def lost(self) -> tuple[LostPod, ...]:
        """The lost pods in the order in which they were removed."""
        return tuple(self._lost.values())

    def _derive(self) -> None:
        self._open = {drain.node: drain for drain in self._drains if drain.ended_ns is None}


def _is_failed_by_pod_gc(pod: Pod) -> bool:
    """Tell whether pod garbage collection set a pod to Failed, as it does before deleting it."""
    condition = condition_of(pod, "DisruptionTarget")
    return condition is not None and condition.reason == "DeletionByPodGC"


def _drain(record: DrainRecord) -> NodeDrain:
    blocked = tuple(record.blocked[pod] for pod in sorted(record.blocked))
    status = "in progress"
    if record.is_node_deleted:
        status, blocked = "node deleted", ()
    elif record.ended_ns is not None:
        status = "done"
    elif blocked:
        status = "blocked"
    return NodeDrain(
        node=record.node,
        status=status,
        since=timestamp_text_nano(record.since_ns),
        ended=None if record.ended_ns is None else timestamp_text_nano(record.ended_ns),
        evicted=record.evicted,
        blocked_by=tuple(sorted({name for each in blocked for name in each.budgets})),
        blocked_since=min((each.since for each in blocked), default=None),
        blocked_pods=blocked,
    )
