"""Taint eviction: pods are deleted from nodes with NoExecute taints that they do not tolerate.

A pod that tolerates all taints for a limited time is deleted when the shortest of these times
expires. The time of deletion is computed once: tolerated taints that are added later, and changed
tolerations, do not move it. If a later taint is not tolerated at all, the pod is deleted
immediately; if the pod comes to tolerate all taints without limit, the deletion is canceled.
When a node is removed, scheduled deletions of its pods still happen.

A pod that is being deleted already is evicted like any other one: it gets the condition
DisruptionTarget.

Upstream: pkg/controller/tainteviction/taint_eviction.go
"""

from __future__ import annotations

from typing import Final

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    SECOND_NS,
    NamespacedName,
    Node,
    Pod,
    Taint,
    condition_of,
    tolerates,
)
from podwright.cluster.api import RecordEvent, with_disruption_target
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    ControllerAction,
    Keys,
    PodChange,
    Version,
)
from podwright.cluster.controllers.kinds import NODE
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD

_NOT_TOLERATED: Final = -1
_EVICTED: Final = 0
"""In place of the time of an eviction: it has happened."""


class TaintEvictionController(Controller):
    """Deletes pods from tainted nodes."""

    name = "taint-eviction-controller"
    kinds = (NODE, POD)
    pod_changes = PodChange.SPEC | PodChange.ADDED | PodChange.DELETED
    _scheduled: Saved[dict[NamespacedName, tuple[str, int, int]]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._taints: dict[str, tuple[Taint, ...]] = {}
        self.pending_work = self._taints
        # By the key of a pod: its uid, the time of the decision, and the time of the eviction.
        self._scheduled = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the pods of a node whose taints changed, and a pod bound to a tainted node."""
        if isinstance(new, Pod) or isinstance(old, Pod):
            return self._observe_pod(old, new)
        node = self.latest_of(old, new)
        assert isinstance(node, Node), f"not a node: {node}"
        taints: tuple[Taint, ...] = ()
        if new is not None:
            taints = tuple(each for each in node.spec.taints if each.effect == "NoExecute")
        if taints == self._taints.get(node.name, ()):
            return ()
        if taints:
            self._taints[node.name] = taints
        else:
            del self._taints[node.name]
        if new is None:
            return ()
        return [self._forget_eviction(key) for key in sorted(self._lister.pods_on(node.name))]

    def _observe_pod(self, old: Version, new: Version) -> Keys:
        if new is None:
            return (old.key,) if old is not None and old.key in self._scheduled else ()
        assert isinstance(new, Pod), f"not a pod: {new.key}"
        if not self._taints or new.spec.node_name not in self._taints:
            return ()
        if (
            isinstance(old, Pod)
            and old.spec.node_name == new.spec.node_name
            and old.spec.tolerations == new.spec.tolerations
        ):
            return ()
        return (self._forget_eviction(new.key),)

    def _forget_eviction(self, key: NamespacedName) -> NamespacedName:
        """Let a pod be evicted again, if it tolerates the taints without limit or not at all.

        Upstream: processPodOnNode, which cancels the work of such a pod, also when it is done
        """
        pod, (*_, due_ns) = self._lister.get(POD, key), self._scheduled.get(key, (-1,))
        if due_ns == _EVICTED and isinstance(pod, Pod):
            toleration_ns = self._min_toleration_ns(pod)
            if toleration_ns is None or toleration_ns < 0:
                del self._scheduled[key]
        return key

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Delete a pod, schedule its deletion, or cancel it.

        Upstream: processPodOnNode
        """
        pod = self._lister.get(POD, key)
        scheduled = self._scheduled.pop(key, None)
        is_evicted = scheduled is not None and scheduled[2] == _EVICTED
        if not isinstance(pod, Pod):
            return [] if scheduled is None or is_evicted else [_cancel_event(self.name, key)]
        if scheduled is not None and scheduled[0] != pod.uid:
            scheduled = None
        elif scheduled is not None and is_evicted:
            self._scheduled[key] = scheduled
            return []
        if scheduled is not None and scheduled[2] <= now_ns:
            return self._evict(pod, now_ns)
        toleration_ns = self._min_toleration_ns(pod)
        if (
            toleration_ns is not None
            and toleration_ns >= 0
            and scheduled is not None
            and scheduled[1] < now_ns
        ):
            self._scheduled[key] = scheduled
            # This may be the sync that an earlier deletion had scheduled, in place of this one.
            return [self.sync_at(key, scheduled[2])]
        actions = [] if scheduled is None else [_cancel_event(self.name, key)]
        if toleration_ns is None:
            return actions
        if toleration_ns <= 0:
            return actions + self._evict(pod, now_ns)
        self._scheduled[key] = (pod.uid, now_ns, now_ns + toleration_ns)
        return [*actions, self.sync_at(key, now_ns + toleration_ns)]

    def _min_toleration_ns(self, pod: Pod) -> int | None:
        """Return how long a pod tolerates its node's taints, None for no limit.

        The result is negative if the pod does not tolerate all taints.

        Upstream: getMinTolerationTime
        """
        times: list[int] = []
        for taint in self._taints.get(pod.spec.node_name, ()):
            used = [each for each in pod.spec.tolerations if tolerates(each, taint)]
            if not used:
                return _NOT_TOLERATED
            # Upstream: only the first toleration that matches a taint applies.
            seconds = used[0].toleration_seconds
            if seconds is not None:
                times.append(max(seconds, 0))
        return min(times) * SECOND_NS if times else None

    def _evict(self, pod: Pod, now_ns: int) -> Actions:
        self._scheduled[pod.key] = (pod.uid, now_ns, _EVICTED)
        note = f"Marking for deletion Pod {pod.key}"
        actions: Actions = [self.event(pod, "TaintManagerEviction", note)]
        known = condition_of(pod, "DisruptionTarget")
        if known is None or known.reason != "DeletionByTaintManager":
            target = with_disruption_target(
                pod,
                "DeletionByTaintManager",
                "Taint manager: deleting due to NoExecute taint",
                now_ns,
            )
            actions.append(self.update(target, "status"))
        return [*actions, self.delete(pod)]


def _cancel_event(source: str, key: NamespacedName) -> ControllerAction:
    """Return the cancellation Event, without a uid because the pod may no longer exist.

    Upstream: emitCancelPodDeletionEvent
    """
    note = f"Cancelling deletion of Pod {key}"
    return RecordEvent(*POD, key, "", "Normal", "TaintManagerEviction", note, source)
