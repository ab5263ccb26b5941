"""Pods that nobody else ends: of nodes that are gone, deleted before they had one, too many.

Also those that are deleted on a node that is not ready and that somebody has tainted as out of
service: no kubelet will end them.

Unlike upstream, which looks around every 20 s, this hears of what happens: a pod of a node that
is gone ends when the node has been gone for the 40 s that upstream waits before it believes it,
and ended pods beyond the threshold go 20 s after the first of them.

Upstream: pkg/controller/podgc/gc_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final, cast

from podwright.api import patched, with_disruption_target
from podwright.controllers.actions import deletion_by
from podwright.controllers.interface import (
    ControllerAction,
    PodChange,
    SyncAt,
    SyncDue,
    UpdateObject,
)
from podwright.controllers.kinds import NODE, POD, GroupKind
from podwright.controllers.lister import Lister
from podwright.objects import KubernetesObject, NamespacedName, Node, Pod, timestamp_ns

QUARANTINE_NS: Final = 40_000_000_000
TERMINATED_PODS_MAX: Final = 12_500
"""How many ended pods are kept (`--terminated-pod-gc-threshold`)."""

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"

_PERIOD_NS: Final = 20_000_000_000
_STALE_MAX: Final = 1_000
"""How many pods that are gone are kept among the others before these are put in order anew."""

_TERMINATED: Final = "*"
"""The key under which ended pods are looked at; no node is called so."""


class PodGarbageCollector:
    """Deletes pods that would stay for ever."""

    name = "pod-garbage-collector-controller"
    kinds: Sequence[GroupKind] = (POD, NODE)
    pod_changes = (
        PodChange.METADATA
        | PodChange.SPEC
        | PodChange.TERMINAL
        | PodChange.ADDED
        | PodChange.DELETED
    )

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        # Terminated pods and when they were created; the same with the oldest first, where what is
        # not so any more has its place until it comes up.
        self._terminated: dict[NamespacedName, int] = {}
        self._oldest: list[tuple[int, NamespacedName]] = []
        self._gone_since_ns: dict[str, int] = {}
        self._terminated_due_ns = 0

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Look at a node that is gone, at a pod whose node is, at ended and unbound pods."""
        if type(new) is Pod:
            return self._observe_pod(old, new)
        if type(old) is Pod:
            self._terminated.pop(old.key, None)
            return ()
        node = new if new is not None else old
        assert node is not None, "neither an old nor a new object"
        if new is not None:
            self._gone_since_ns.pop(node.name, None)
            is_news = _is_out_of_service(new) and not _is_out_of_service(old)
            return (node.name,) if is_news else ()
        return (node.name,) if self._lister.pods_on(node.name) else ()

    def _observe_pod(self, old: KubernetesObject | None, pod: Pod) -> tuple[NamespacedName, ...]:
        keys: tuple[NamespacedName, ...] = ()
        node = pod.spec.node_name
        came = node and (type(old) is not Pod or old.spec.node_name != node)
        if came and self._lister.get(NODE, node) is None:
            keys = (node,)
        elif pod.metadata.deletion_timestamp is not None and (
            not node or self._is_out_of_service(node)
        ):
            keys = (pod.key,)
        if pod.is_terminal and self._record_terminated(pod):
            keys += (_TERMINATED,)
        return keys

    def _record_terminated(self, pod: Pod) -> bool:
        """Note a pod that has ended; return whether that is news, and one too many."""
        key, created_ns = pod.key, _created_ns(pod)
        known_ns = self._terminated.get(key)
        if known_ns == created_ns:
            return False
        self._terminated[key] = created_ns
        heappush(self._oldest, (created_ns, key))
        if len(self._oldest) > 2 * len(self._terminated) + _STALE_MAX:
            self._rebuild_heap()
        return known_ns is None and len(self._terminated) > TERMINATED_PODS_MAX

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Delete what is due."""
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

    def _sync_out_of_service(self, node: str, now_ns: int) -> list[ControllerAction]:
        """End what is deleted on a node that is out of service.

        Upstream: gcTerminating
        """
        actions: list[ControllerAction] = []
        for _, pod in sorted(self._lister.pods_on(node).items()):
            if pod.is_terminating:
                actions.extend(self._fail_and_delete(pod, now_ns, is_orphan=False))
        return actions

    def _sync_node(self, node: str, now_ns: int) -> list[ControllerAction]:
        """End the pods of a node that is gone for good.

        Upstream: gcOrphaned
        """
        pods = self._lister.pods_on(node)
        if not pods or self._lister.get(NODE, node) is not None:
            self._gone_since_ns.pop(node, None)
            return []
        due_ns = self._gone_since_ns.setdefault(node, now_ns) + QUARANTINE_NS
        if due_ns > now_ns:
            return [SyncAt(due_ns, SyncDue(self.name, node))]
        del self._gone_since_ns[node]
        actions: list[ControllerAction] = []
        for _, pod in sorted(pods.items()):
            actions.extend(self._fail_and_delete(pod, now_ns, is_orphan=True))
        return actions

    def _sync_terminated(self, now_ns: int) -> list[ControllerAction]:
        """Delete the oldest ended pods beyond the threshold.

        Upstream: gcTerminated
        """
        surplus = len(self._terminated) - TERMINATED_PODS_MAX
        if surplus <= 0:
            self._terminated_due_ns = 0
            return []
        if not self._terminated_due_ns:
            self._terminated_due_ns = now_ns + _PERIOD_NS
        if now_ns < self._terminated_due_ns:
            return [SyncAt(self._terminated_due_ns, SyncDue(self.name, _TERMINATED))]
        self._terminated_due_ns = 0
        return [
            deletion_by(self.name, pod, grace_seconds=0) for pod in self._oldest_terminated(surplus)
        ]

    def _oldest_terminated(self, count: int) -> list[Pod]:
        """Return the ended pods that were created first; they stay until they are gone."""
        found: dict[tuple[int, NamespacedName], None] = {}
        while len(found) < count:
            entry = heappop(self._oldest)
            if self._terminated.get(entry[1]) == entry[0]:
                found[entry] = None  # once, though a pod of its name may have been there before
        for entry in found:
            heappush(self._oldest, entry)
        return [cast(Pod, self._lister.get(POD, key)) for _, key in found]

    def _rebuild_heap(self) -> None:
        self._oldest = [(created_ns, key) for key, created_ns in self._terminated.items()]
        heapify(self._oldest)

    def _fail_and_delete(self, pod: Pod, now_ns: int, *, is_orphan: bool) -> list[ControllerAction]:
        """Mark a pod as failed, so that whoever counts it can, and delete it without grace."""
        actions: list[ControllerAction] = []
        if not pod.is_terminal:
            failed = patched(pod, status={"phase": "Failed"})
            if is_orphan:
                failed = with_disruption_target(
                    failed, "DeletionByPodGC", "PodGC: node no longer exists", now_ns
                )
            actions.append(UpdateObject(failed, "status", self.name))
        return [*actions, deletion_by(self.name, pod, grace_seconds=0)]

    def state(self) -> dict[str, Any]:
        """Return since when nodes are gone, and when ended pods are looked at."""
        return {
            "gone_since_ns": dict(self._gone_since_ns),
            "ended": list(self._terminated),
            "ended_due_ns": self._terminated_due_ns,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what another one did."""
        self._gone_since_ns = dict(state["gone_since_ns"])
        pods = [cast(Pod, self._lister.get(POD, key)) for key in state["ended"]]
        self._terminated = {pod.key: _created_ns(pod) for pod in pods}
        self._rebuild_heap()
        self._terminated_due_ns = int(state["ended_due_ns"])


def _created_ns(pod: Pod) -> int:
    return timestamp_ns(pod.metadata.creation_timestamp) or 0


def _is_out_of_service(node: KubernetesObject | None) -> bool:
    """Whether somebody has given a node up that is not ready."""
    if not isinstance(node, Node) or all(each.key != OUT_OF_SERVICE for each in node.spec.taints):
        return False
    return all(each.type != "Ready" or each.status != "True" for each in node.status.conditions)
