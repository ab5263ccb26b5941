"""The Events about nodes that come and go, and the old names of their labels.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go, monitorNodeHealth and
reconcileNodeLabels
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.cluster.api import RecordEvent, patched
from podwright.cluster.controllers.actions import event_by
from podwright.cluster.controllers.interface import ControllerAction, UpdateObject
from podwright.cluster.controllers.kinds import NODE, GroupKind
from podwright.cluster.controllers.lister import Lister

_OLD_NAMES: Final = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}


class NodeRegistrationController(Checkpointed):
    """Records RegisteredNode and RemovingNode, and keeps the beta labels of nodes."""

    name = "node-registration-controller"
    kinds: Sequence[GroupKind] = (NODE,)

    _SOURCE: Final = "node-controller"
    _known_uids: Saved[dict[str, str]]

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self._known_uids = {}

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
        """Return a node that was added or removed, or whose labels changed."""
        node = new if new is not None else old
        assert node is not None, "neither an old nor a new object"
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            return ()
        return (node.name,)

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Record the Events of a node, and complete its labels."""
        node = self._lister.get(NODE, key)
        known = self._known_uids.get(key)
        actions: list[ControllerAction] = []
        if known is not None and (node is None or node.uid != known):
            note = f"Node {key} event: Removing Node {key} from Controller"
            event = RecordEvent(
                "", "Node", key, known, "Normal", "RemovingNode", note, self._SOURCE
            )
            actions.append(event)
            del self._known_uids[key]
        if node is None:
            return actions
        if key not in self._known_uids:
            note = f"Node {key} event: Registered Node {key} in Controller"
            actions.append(event_by(self._SOURCE, node, "RegisteredNode", note))
            self._known_uids[key] = node.uid
        labels = node.metadata.labels
        old_names = {
            old: labels[new]
            for new, old in _OLD_NAMES.items()
            if new in labels and labels.get(old) != labels[new]
        }
        if old_names:
            complete = patched(node, metadata={"labels": {**labels, **old_names}})
            actions.append(UpdateObject(complete, "main", self.name))
        return actions
