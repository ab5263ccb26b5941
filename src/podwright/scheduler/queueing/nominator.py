"""Nominations: which pods are nominated to which node.

Preemption nominates a pod to the node on which it deletes victims, and filters count the pod
there. A nomination exists here before the API shows it, so an update of the pod without a
nominated node must not remove it.

Upstream: pkg/scheduler/backend/queue/nominator.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from podwright.apimachinery.objects import Pod


class NominationMirror(Protocol):
    """A receiver of all nominations; `columns.Cluster` is one."""

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Add the nomination of a pod to a node."""

    def clear_nomination(self, pod: Pod) -> None:
        """Remove the nomination of a pod."""


class Nominator:
    """Nominations by node and by pod.

    Parameters
    ----------
    lookup : callable or None
        Returns the newest version of a pod by `namespace/name`, None if it was deleted. A pod that
        was deleted or is bound is not nominated. Without `lookup`, every pod can be nominated.
    mirror : NominationMirror or None
        Receives every nomination and its removal.
    """

    def __init__(
        self,
        lookup: Callable[[str], Pod | None] | None = None,
        mirror: NominationMirror | None = None,
    ) -> None:
        self._lookup = lookup
        self._mirror = mirror
        self._pods_by_node: dict[str, dict[str, Pod]] = {}
        self._node_by_uid: dict[str, str] = {}

    def node_of(self, uid: str) -> str | None:
        """Return the node the pod is nominated to, or None."""
        return self._node_by_uid.get(uid)

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """Return the pods nominated to the node, in the order of nomination."""
        return tuple(self._pods_by_node.get(node_name, {}).values())

    def nodes(self) -> dict[str, tuple[Pod, ...]]:
        """Return every node that has a nominated pod, with those pods."""
        return {name: tuple(pods.values()) for name, pods in self._pods_by_node.items()}

    def add(self, pod: Pod, node_name: str | None = None) -> None:
        """Nominate the pod to the node; replaces an earlier nomination.

        Parameters
        ----------
        pod : Pod
            The pod to nominate.
        node_name : str or None
            "" clears the nomination; None takes the node from the pod's status.
        """
        uid = pod.metadata.uid
        # Before the checks below: a pod that may not be nominated loses its old nomination too.
        self.remove(uid)
        if node_name is None:
            node_name = pod.status.nominated_node_name
        if not node_name:
            return
        # A pod that was deleted or bound in the meantime would keep the room of its node forever.
        current = pod if self._lookup is None else self._lookup(pod.key)
        if current is None or current.spec.node_name:
            return
        self._node_by_uid[uid] = node_name
        self._pods_by_node.setdefault(node_name, {})[uid] = pod
        if self._mirror is not None:
            self._mirror.nominate(pod, node_name)

    def update(self, old: Pod, new: Pod) -> None:
        """Update a pod to a newer version.

        A nomination that the API has never shown stays. If the old or the new object has a
        nominated node, the nomination follows the new object.
        """
        # An update can arrive before the status shows the nomination: the node stays reserved.
        node_name = None
        if not old.status.nominated_node_name and not new.status.nominated_node_name:
            node_name = self._node_by_uid.get(old.metadata.uid)
        self.remove(old.metadata.uid)
        self.add(new, node_name)

    def remove(self, uid: str) -> None:
        """Remove the pod's nomination, if any."""
        node_name = self._node_by_uid.pop(uid, None)
        if node_name is None:
            return
        pods = self._pods_by_node[node_name]
        pod = pods.pop(uid)
        if self._mirror is not None:
            self._mirror.clear_nomination(pod)
        if not pods:
            del self._pods_by_node[node_name]

    def restore(self, pod: Pod, node_name: str) -> None:
        """Restore one nomination, in order; the mirror is not called."""
        self._node_by_uid[pod.metadata.uid] = node_name
        self._pods_by_node.setdefault(node_name, {})[pod.metadata.uid] = pod

    def validate(self) -> None:
        """Assert that the two mappings agree."""
        forward = {uid: node for node, pods in self._pods_by_node.items() for uid in pods}
        assert forward == self._node_by_uid, (forward, self._node_by_uid)
        assert all(self._pods_by_node.values()), "a node without nominated pods is kept"
