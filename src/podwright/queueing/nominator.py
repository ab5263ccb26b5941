"""Which pods are promised to which node.

A pod for which room is being made is nominated to the node; filters count it there. The
nomination lives here before it reaches the API, so an update of the pod that carries none
must not erase it.

Upstream: pkg/scheduler/backend/queue/nominator.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from podwright.objects import Pod

__all__ = ["NominationMirror", "Nominator"]


class NominationMirror(Protocol):
    """Something that has to know all nominations too; `columns.Cluster` is one."""

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Note that a pod is nominated to a node."""

    def clear_nomination(self, pod: Pod) -> None:
        """Forget where a pod was nominated to."""


class Nominator:
    """Nominations by node and by pod.

    Parameters
    ----------
    lookup : callable or None
        The newest version of a pod by `namespace/name`, None if it is gone. A pod that is
        gone or already has a node is not nominated. Without it pods are taken at their word.
    mirror : NominationMirror or None
        Told of every nomination and of its end.
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
        """Nominate the pod to the node, instead of any earlier nomination.

        Parameters
        ----------
        pod : Pod
            The pod to nominate.
        node_name : str or None
            "" clears the nomination; None takes the node from the pod's status.
        """
        uid = pod.metadata.uid
        self.remove(uid)
        if node_name is None:
            node_name = pod.status.nominated_node_name
        if not node_name:
            return
        current = pod if self._lookup is None else self._lookup(pod.key)
        if current is None or current.spec.node_name:
            return
        self._node_by_uid[uid] = node_name
        self._pods_by_node.setdefault(node_name, {})[uid] = pod
        if self._mirror is not None:
            self._mirror.nominate(pod, node_name)

    def update(self, old: Pod, new: Pod) -> None:
        """Take over a newer version of a pod.

        A nomination that exists only here stays; one that the object carries, or carried,
        follows the object.
        """
        node_name = None
        if not old.status.nominated_node_name and not new.status.nominated_node_name:
            node_name = self._node_by_uid.get(old.metadata.uid)
        self.remove(old.metadata.uid)
        self.add(new, node_name)

    def remove(self, uid: str) -> None:
        """Forget the pod's nomination, if any."""
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
        """Set up one nomination as it was, in order; the mirror is not told."""
        self._node_by_uid[pod.metadata.uid] = node_name
        self._pods_by_node.setdefault(node_name, {})[pod.metadata.uid] = pod

    def validate(self) -> None:
        """Assert that both directions agree."""
        forward = {uid: node for node, pods in self._pods_by_node.items() for uid in pods}
        assert forward == self._node_by_uid, (forward, self._node_by_uid)
        assert all(self._pods_by_node.values()), "a node without nominated pods is kept"
