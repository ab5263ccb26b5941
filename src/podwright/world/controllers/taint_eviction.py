"""Pods leave nodes with NoExecute taints that they do not tolerate, or not for long.

A pod that tolerates all of them for some time is deleted when the shortest of these times is
over, counted from when the first of them was seen.

Upstream: pkg/controller/tainteviction/taint_eviction.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from podwright.objects import KubernetesObject, NamespacedName, Node, Pod, Taint, tolerates
from podwright.world.controllers.contract import (
    ControllerAction,
    GroupKind,
    SyncAt,
    SyncDue,
    UpdateObject,
)
from podwright.world.controllers.documents import condition_of, deletion_by, event_by
from podwright.world.controllers.node_lifecycle import NODE
from podwright.world.controllers.view import View
from podwright.world.eviction import with_disruption_target

POD: Final[GroupKind] = ("", "Pod")
_SECOND_NS: Final = 1_000_000_000


class TaintEvictionController:
    """Deletes pods from tainted nodes."""

    name = "taint-eviction-controller"
    kinds: Sequence[GroupKind] = (NODE, POD)

    def __init__(self, view: View) -> None:
        self._view = view
        self._taints: dict[str, tuple[Taint, ...]] = {}
        # By the key of a pod: its uid, and when it was first seen to have to leave.
        self._leaving: dict[NamespacedName, tuple[str, int]] = {}

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Look at the pods of a node whose taints changed, and at a pod that came to one."""
        if isinstance(new, Pod) or isinstance(old, Pod):
            return self._observe_pod(old, new)
        node = new if new is not None else old
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
        return sorted(self._view.pods_on(node.name))

    def _observe_pod(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        if new is None:
            if old is not None and self._leaving:
                self._leaving.pop(old.key, None)
            return ()
        assert isinstance(new, Pod), f"not a pod: {new.key}"
        if not self._taints or new.spec.node_name not in self._taints:
            return ()
        if (
            isinstance(old, Pod)
            and old.spec.node_name == new.spec.node_name
            and old.spec.tolerations == new.spec.tolerations
        ):
            return ()
        return (new.key,)

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Delete a pod, say when, or let it stay.

        Upstream: processPodOnNode
        """
        pod = self._view.get(POD, key)
        if not isinstance(pod, Pod) or pod.is_terminating:
            self._leaving.pop(key, None)
            return []
        stays_ns = self._stays_ns(pod)
        if stays_ns is None:
            if self._leaving.pop(key, None) is None:
                return []
            note = f"Cancelling deletion of Pod {key}"
            return [event_by(self.name, pod, "TaintManagerEviction", note)]
        uid, since_ns = self._leaving.get(key, (pod.uid, now_ns))
        if uid != pod.uid:
            since_ns = now_ns
        self._leaving[key] = (pod.uid, since_ns)
        if stays_ns and since_ns + stays_ns > now_ns:
            return [SyncAt(since_ns + stays_ns, SyncDue(self.name, key))]
        del self._leaving[key]
        return self._evicted(pod, now_ns)

    def _stays_ns(self, pod: Pod) -> int | None:
        """Return how long a pod may stay on its node, None for as long as it likes.

        Upstream: getMinTolerationTime
        """
        times: list[int] = []
        for taint in self._taints.get(pod.spec.node_name, ()):
            used = [each for each in pod.spec.tolerations if tolerates(each, taint)]
            if not used:
                return 0
            # Upstream: the first toleration of a taint is the one that is used.
            seconds = used[0].toleration_seconds
            if seconds is not None:
                times.append(max(seconds, 0))
        return min(times) * _SECOND_NS if times else None

    def _evicted(self, pod: Pod, now_ns: int) -> list[ControllerAction]:
        note = f"Marking for deletion Pod {pod.key}"
        actions: list[ControllerAction] = [event_by(self.name, pod, "TaintManagerEviction", note)]
        known = condition_of(pod, "DisruptionTarget")
        if known is None or known.reason != "DeletionByTaintManager":
            target = with_disruption_target(
                pod,
                "DeletionByTaintManager",
                "Taint manager: deleting due to NoExecute taint",
                now_ns,
            )
            actions.append(UpdateObject(target, "status", self.name))
        return [*actions, deletion_by(self.name, pod)]

    def state(self) -> dict[str, Any]:
        """Return who has to leave, and since when."""
        return {"leaving": {key: list(entry) for key, entry in self._leaving.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what another one did."""
        self._leaving = {key: (uid, since_ns) for key, (uid, since_ns) in state["leaving"].items()}
