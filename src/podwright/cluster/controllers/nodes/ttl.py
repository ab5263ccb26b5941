"""How long the kubelet of a node may cache secrets and ConfigMaps: longer in larger clusters.

The annotation of each node follows the number of nodes. As upstream, a node gets a new value when
it changes; the bounds of two steps overlap, so that the value does not alternate.

Upstream: pkg/controller/ttl/ttl_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import KubernetesObject, NamespacedName
from podwright.cluster.api import patched
from podwright.cluster.controllers.interface import ControllerAction, UpdateObject
from podwright.cluster.controllers.kinds import NODE, GroupKind
from podwright.cluster.controllers.lister import Lister

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"

_STEPS: Final = (
    (0, 100, 0),
    (90, 500, 15),
    (450, 1_000, 30),
    (900, 2_000, 60),
    (1_800, 1 << 31, 300),
)
"""The fewest and the most nodes of each step, and the seconds."""


class NodeTTLController(Checkpointed):
    """Writes the annotation of nodes."""

    name = "ttl-controller"
    kinds: Sequence[GroupKind] = (NODE,)
    _step: Saved[int]

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self._count = 0
        self._step = 0

    def observe(
        self, old: KubernetesObject | None, new: KubernetesObject | None
    ) -> Iterable[NamespacedName]:
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

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Write the annotation if it is another one."""
        node = self._lister.get(NODE, key)
        seconds = str(_STEPS[self._step][2])
        if node is None or node.metadata.annotations.get(ANNOTATION) == seconds:
            return []
        annotations = {**node.metadata.annotations, ANNOTATION: seconds}
        return [
            UpdateObject(patched(node, metadata={"annotations": annotations}), "main", self.name)
        ]
