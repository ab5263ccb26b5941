"""The Events about nodes that come and go, and the old names of their labels.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go, monitorNodeHealth and
reconcileNodeLabels; pkg/controller/ttl/ttl_controller.go.
"""

from __future__ import annotations

from typing import Final

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import NamespacedName
from podwright.cluster.api import RecordEvent, patched
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import NODE
from podwright.cluster.controllers.lister import Lister

_OLD_NAMES: Final = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}


class NodeRegistrationController(Controller):
    """Records RegisteredNode and RemovingNode, and keeps the beta labels of nodes."""

    name = "node-registration-controller"
    kinds = (NODE,)

    event_source = "node-controller"
    _known_uids: Saved[dict[str, str]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._known_uids = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a node that was added or removed, or whose labels changed."""
        node = self.latest_of(old, new)
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            return ()
        return (node.name,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Record the Events of a node, and complete its labels."""
        node = self._lister.get(NODE, key)
        known = self._known_uids.get(key)
        actions: Actions = []
        if known is not None and (node is None or node.uid != known):
            note = f"Node {key} event: Removing Node {key} from Controller"
            event = RecordEvent(
                "", "Node", key, known, "Normal", "RemovingNode", note, self.event_source
            )
            actions.append(event)
            del self._known_uids[key]
        if node is None:
            return actions
        if key not in self._known_uids:
            note = f"Node {key} event: Registered Node {key} in Controller"
            actions.append(self.event(node, "RegisteredNode", note))
            self._known_uids[key] = node.uid
        labels = node.metadata.labels
        old_names = {
            old: labels[new]
            for new, old in _OLD_NAMES.items()
            if new in labels and labels.get(old) != labels[new]
        }
        if old_names:
            complete = patched(node, metadata={"labels": {**labels, **old_names}})
            actions.append(self.update(complete))
        return actions


# How long the kubelet of a node may cache secrets and ConfigMaps: longer in larger clusters.
#
# The annotation of each node follows the number of nodes. As upstream, a node gets a new value
# when it changes; the bounds of two steps overlap, so that the value does not alternate.

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"

_STEPS: Final = (
    (0, 100, 0),
    (90, 500, 15),
    (450, 1_000, 30),
    (900, 2_000, 60),
    (1_800, 1 << 31, 300),
)
"""The fewest and the most nodes of each step, and the seconds."""


class NodeTTLController(Controller):
    """Writes the annotation of nodes."""

    name = "ttl-controller"
    kinds = (NODE,)
    _step: Saved[int]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._count = 0
        self._step = 0

    def observe(self, old: Version, new: Version) -> Keys:
        """Count a node, and return it if it exists."""
        if new is None:
            self._count -= 1
            if self._count < _STEPS[self._step][0]:
                self._step -= 1
            return ()
        if old is None:
            self._count += 1
            if self._count > _STEPS[self._step][1]:
                self._step += 1
        return (new.name,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Write the annotation if it is another one."""
        node = self._lister.get(NODE, key)
        seconds = str(_STEPS[self._step][2])
        if node is None or node.metadata.annotations.get(ANNOTATION) == seconds:
            return []
        annotations = {**node.metadata.annotations, ANNOTATION: seconds}
        return [self.update(patched(node, metadata={"annotations": annotations}))]
