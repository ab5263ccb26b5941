"""SuccessfulCreate Events about pods whose names the API server generates.

A controller that creates a pod does not know its name yet. It expects a number of pods, observes
their additions, and records the Events with their names at its next sync.
"""

from __future__ import annotations

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Pod
from podwright.cluster.api import RecordEvent
from podwright.cluster.controllers.interface import ControllerAction
from podwright.cluster.store import kind_of


class CreationEvents(Checkpointed):
    """The number of pods that each owner expects, and the pods created so far."""

    _expected: Saved[dict[NamespacedName, int]]
    _created: Saved[dict[NamespacedName, list[str]]]

    def __init__(self) -> None:
        self._expected = {}
        self._created = {}

    def expect(self, owner: NamespacedName, count: int) -> None:
        """Expect a number of new pods."""
        self._expected[owner] = count

    def observe(self, owner: NamespacedName, pod: Pod) -> None:
        """Keep the name of an added pod, if its owner expects one."""
        expected = self._expected.get(owner, 0)
        if expected:
            self._expected[owner] = expected - 1
            created = self._created.get(owner)
            if created is None:
                created = self._created[owner] = []
            created.append(pod.metadata.name)

    def events(self, owner: KubernetesObject, source: str) -> list[ControllerAction]:
        """Return the Events about the pods created since the last sync, and expect no more.

        Notes
        -----
        Upstream: controller_utils.go, createPods
        """
        key, (group, kind), uid = owner.key, kind_of(owner), owner.uid
        self._expected.pop(key, None)
        return [
            RecordEvent(
                group, kind, key, uid, "Normal", "SuccessfulCreate", f"Created pod: {name}", source
            )
            for name in self._created.pop(key, ())
        ]

    def forget(self, owner: NamespacedName) -> None:
        """Forget an owner that was removed."""
        self._expected.pop(owner, None)
        self._created.pop(owner, None)
