"""Drains: a node is cordoned, and its pods are evicted as their disruption budgets allow.

The behavior is that of `kubectl drain --ignore-daemonsets --delete-emptydir-data --force`: pods of
daemon sets and mirror pods are skipped, and all other pods that exist when the drain starts are
evicted. Evictions that a budget rejects are retried every 5 s. A retry is skipped while neither
pods nor budgets have changed, so that a blocked drain does not keep a simulation running. Pods
that are added later are not evicted.

Upstream: staging/src/k8s.io/kubectl/pkg/drain/drain.go, filters.go
"""

from __future__ import annotations

from typing import Final

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import NamespacedName, Node, Pod
from podwright.cluster.api import EvictPod, patched
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    DrainNode,
    Keys,
    NodeEvent,
    Version,
)
from podwright.cluster.controllers.kinds import NODE, PDB
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD

MIRROR: Final = "kubernetes.io/config.mirror"

_RETRY_NS: Final = 5_000_000_000


class DrainController(Controller):
    """Drains nodes."""

    name = "drain"
    kinds = (POD, PDB)
    _draining: Saved[dict[str, dict[NamespacedName, str] | None]]
    _tried_ns: Saved[dict[str, int]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        # The uids of the pods to evict, by node and pod key; None before the first sync.
        self._draining = {}
        self._tried_ns = {}
        self._derive()

    def _derive(self) -> None:
        self.pending_work = self.draining_nodes = self._draining

    def on_node_event(self, event: NodeEvent, now_ns: int) -> Keys:
        """Start to drain a node, or start again."""
        if not isinstance(event, DrainNode):
            return ()
        self._draining[event.node] = None
        return (event.node,)

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the nodes whose drains wait for the pod or the budget that changed."""
        if not self._draining:
            return ()
        pod = self.latest_of(old, new)
        if not isinstance(pod, Pod):
            return sorted(self._draining)
        remaining = self._draining.get(pod.spec.node_name)
        return (pod.spec.node_name,) if remaining and pod.key in remaining else ()

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Evict the pods that budgets allow, and retry the others later."""
        node = self._lister.get(NODE, key)
        if not isinstance(node, Node) or key not in self._draining:
            self._forget(key)
            return []
        actions: Actions = []
        remaining = self._draining[key]
        if remaining is None:
            remaining = self._draining[key] = self._pods_to_evict(key)
            if not node.spec.unschedulable:
                cordoned = patched(node, spec={"unschedulable": True})
                actions.append(self.update(cordoned))
        else:
            waits_ns = _RETRY_NS - (now_ns - self._tried_ns[key]) % _RETRY_NS
            is_time = waits_ns == _RETRY_NS and now_ns > self._tried_ns[key]
            if self._has_blocked_pods(remaining) and not is_time:
                return [self.sync_at(key, now_ns + waits_ns)]
        self._tried_ns[key] = now_ns
        actions.extend(self._evictions(remaining))
        if not remaining:
            self._forget(key)
        return actions

    def _forget(self, node: str) -> None:
        self._draining.pop(node, None)
        self._tried_ns.pop(node, None)

    def _has_blocked_pods(self, remaining: dict[NamespacedName, str]) -> bool:
        """Whether a pod still has to be evicted."""
        pods = ((self._lister.get(POD, key), uid) for key, uid in remaining.items())
        return any(
            isinstance(pod, Pod) and pod.uid == uid and not pod.is_terminating for pod, uid in pods
        )

    def _pods_to_evict(self, node: str) -> dict[NamespacedName, str]:
        pods = sorted(self._lister.pods_on(node).items())
        return {key: pod.uid for key, pod in pods if not self._is_skipped(pod)}

    def _is_skipped(self, pod: Pod) -> bool:
        owner = pod.metadata.controller
        is_daemon = owner is not None and owner.kind == "DaemonSet" and not pod.is_terminal
        return is_daemon or MIRROR in pod.metadata.annotations

    def _evictions(self, remaining: dict[NamespacedName, str]) -> Actions:
        actions: Actions = []
        for key, uid in list(remaining.items()):
            pod = self._lister.get(POD, key)
            if not isinstance(pod, Pod) or pod.uid != uid:
                del remaining[key]
            elif not pod.is_terminating:
                actions.append(EvictPod(key, uid, self.name))
        return actions
