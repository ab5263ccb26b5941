"""Pod garbage collection: pods that no other component would remove.

These are bound pods of removed nodes, terminating pods that were never bound, terminating pods on
unready nodes with the out-of-service taint (no kubelet will stop them), and terminated pods
beyond a threshold.

Upstream scans all pods every 20 s; this controller reacts to changes. It deletes the pods of a
node 40 s after the node's removal, which is upstream's quarantine time, and terminated pods 20 s
after the threshold is exceeded.

Upstream: pkg/controller/podgc/gc_controller.go
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, cast

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    timestamp_ns,
)
from podwright.cluster.api import patched, with_disruption_target
from podwright.cluster.controllers.interface import Actions, Controller, Keys, PodChange, Version
from podwright.cluster.controllers.kinds import NODE
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD

QUARANTINE_NS: Final = 40_000_000_000
TERMINATED_PODS_MAX: Final = 12_500
"""How many terminated pods are kept (`--terminated-pod-gc-threshold`)."""

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"

_PERIOD_NS: Final = 20_000_000_000
_STALE_MAX: Final = 1_000
"""How many stale heap entries, beyond the live ones, are kept before the heap is rebuilt."""

_EVICTED_FIRST_NS: Final = 2**62
"""More than any creation time."""

_TERMINATED: Final = "*"
"""The key of terminated pods in the workqueue; it is not a valid node name."""


class PodGarbageCollector(Controller):
    """Deletes pods that would otherwise never be removed."""

    name = "pod-garbage-collector-controller"
    kinds = (POD, NODE)
    pod_changes = (
        PodChange.METADATA
        | PodChange.SPEC
        | PodChange.TERMINAL
        | PodChange.ADDED
        | PodChange.DELETED
    )
    _gone_since_ns: Saved[dict[str, int]]
    _terminated: Saved[dict[NamespacedName, int]]
    _terminated_due_ns: Saved[int]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # The order of terminated pods (`_order_ns`), and a heap of the same, first to last. Stale
        # entries stay in the heap until they are popped or it is rebuilt.
        self._terminated = {}
        self._oldest: list[tuple[int, str, NamespacedName]] = []
        self._gone_since_ns = {}
        self._terminated_due_ns = 0

    def observe(self, old: Version, new: Version) -> Keys:
        """Return removed and out-of-service nodes, and pods to collect."""
        if type(new) is Pod:
            return self._observe_pod(old, new)
        if type(old) is Pod:
            self._terminated.pop(old.key, None)
            return ()
        node = self.latest_of(old, new)
        if new is not None:
            self._gone_since_ns.pop(node.name, None)
            has_changed = _is_out_of_service(new) and not _is_out_of_service(old)
            return (node.name,) if has_changed else ()
        return (node.name,) if self._lister.pods_on(node.name) else ()

    def _observe_pod(self, old: KubernetesObject | None, pod: Pod) -> tuple[NamespacedName, ...]:
        keys: tuple[NamespacedName, ...] = ()
        node = pod.spec.node_name
        is_bound_now = node and (type(old) is not Pod or old.spec.node_name != node)
        if is_bound_now and self._lister.get(NODE, node) is None:
            keys = (node,)
        elif pod.metadata.deletion_timestamp is not None and (
            not node or self._is_out_of_service(node)
        ):
            keys = (pod.key,)
        if pod.is_terminal and self._record_terminated(pod):
            keys += (_TERMINATED,)
        return keys

    def _record_terminated(self, pod: Pod) -> bool:
        """Record a terminated pod; return whether it is new and exceeds the threshold."""
        key, created_ns = pod.key, _order_ns(pod)
        known_ns = self._terminated.get(key)
        if known_ns == created_ns:
            return False
        self._terminated[key] = created_ns
        heappush(self._oldest, (created_ns, pod.name, key))
        if len(self._oldest) > 2 * len(self._terminated) + _STALE_MAX:
            self._rebuild_heap()
        return known_ns is None and len(self._terminated) > TERMINATED_PODS_MAX

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Delete the pods that are due."""
        if key == _TERMINATED:
            return self._sync_terminated(now_ns)
        if "/" in key:
            pod = self._lister.get(POD, key)
            if not isinstance(pod, Pod) or not pod.is_terminating:
                return []
            node = pod.spec.node_name
            if node and not self._is_out_of_service(node):
                return []
            return self._fail_and_delete(pod, now_ns, is_orphan=False)
        if self._is_out_of_service(key):
            return self._sync_out_of_service(key, now_ns)
        return self._sync_node(key, now_ns)

    def _is_out_of_service(self, node: str) -> bool:
        return _is_out_of_service(self._lister.get(NODE, node))

    def _sync_out_of_service(self, node: str, now_ns: int) -> Actions:
        """Delete the terminating pods of an out-of-service node.

        Upstream: gcTerminating
        """
        actions: Actions = []
        for _, pod in sorted(self._lister.pods_on(node).items()):
            if pod.is_terminating:
                actions.extend(self._fail_and_delete(pod, now_ns, is_orphan=False))
        return actions

    def _sync_node(self, node: str, now_ns: int) -> Actions:
        """Delete the pods of a removed node, after the quarantine time.

        Upstream: gcOrphaned
        """
        pods = self._lister.pods_on(node)
        if not pods or self._lister.get(NODE, node) is not None:
            self._gone_since_ns.pop(node, None)
            return []
        due_ns = self._gone_since_ns.setdefault(node, now_ns) + QUARANTINE_NS
        if due_ns > now_ns:
            return [self.sync_at(node, due_ns)]
        del self._gone_since_ns[node]
        actions: Actions = []
        for _, pod in sorted(pods.items()):
            actions.extend(self._fail_and_delete(pod, now_ns, is_orphan=True))
        return actions

    def _sync_terminated(self, now_ns: int) -> Actions:
        """Delete the oldest terminated pods beyond the threshold.

        Upstream: gcTerminated
        """
        surplus = len(self._terminated) - TERMINATED_PODS_MAX
        if surplus <= 0:
            self._terminated_due_ns = 0
            return []
        if not self._terminated_due_ns:
            self._terminated_due_ns = now_ns + _PERIOD_NS
        if now_ns < self._terminated_due_ns:
            return [self.sync_at(_TERMINATED, self._terminated_due_ns)]
        self._terminated_due_ns = 0
        return [self.delete(pod, grace_seconds=0) for pod in self._oldest_terminated(surplus)]

    def _oldest_terminated(self, count: int) -> list[Pod]:
        """Return the terminated pods that were created first; the heap keeps their entries."""
        found: dict[tuple[int, str, NamespacedName], None] = {}
        while len(found) < count:
            entry = heappop(self._oldest)
            if self._terminated.get(entry[2]) == entry[0]:
                found[entry] = None  # a set: an earlier pod of the name may have left an entry
        for entry in found:
            heappush(self._oldest, entry)
        return [cast(Pod, self._lister.get(POD, key)) for *_, key in found]

    def _rebuild_heap(self) -> None:
        self._oldest = [
            (created_ns, key.rpartition("/")[2], key)
            for key, created_ns in self._terminated.items()
        ]
        heapify(self._oldest)

    def _fail_and_delete(self, pod: Pod, now_ns: int, *, is_orphan: bool) -> Actions:
        """Set a pod to Failed, so that its controller counts it, and delete it without grace."""
        actions: Actions = []
        if not pod.is_terminal:
            status: Document = {"phase": "Failed"}
            if pod.metadata.generation:
                status["observedGeneration"] = pod.metadata.generation
            failed = patched(pod, status=status)
            if is_orphan:
                failed = with_disruption_target(
                    failed, "DeletionByPodGC", "PodGC: node no longer exists", now_ns
                )
            actions.append(self.update(failed, "status"))
        return [*actions, self.delete(pod, grace_seconds=0)]

    def _derive(self) -> None:
        self._rebuild_heap()


def _order_ns(pod: Pod) -> int:
    """Return what terminated pods are sorted by: the creation time, before it evicted pods.

    Upstream: byEvictionAndCreationTimestamp
    """
    created_ns = timestamp_ns(pod.metadata.creation_timestamp) or 0
    is_evicted = (pod.status.phase, pod.status.reason) == ("Failed", "Evicted")
    return created_ns - _EVICTED_FIRST_NS if is_evicted else created_ns


def _is_out_of_service(node: KubernetesObject | None) -> bool:
    """Whether a node is unready and has the out-of-service taint."""
    if not isinstance(node, Node) or all(each.key != OUT_OF_SERVICE for each in node.spec.taints):
        return False
    return all(each.type != "Ready" or each.status != "True" for each in node.status.conditions)
