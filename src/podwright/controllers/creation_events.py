"""Events about pods that got their names from the store.

A controller that creates a pod does not know its name yet. It remembers how many it asked for,
and when they have appeared, at its next look, it says what they are called.
"""

from __future__ import annotations

from typing import Any

from podwright.api import RecordEvent
from podwright.controllers.interface import ControllerAction
from podwright.objects import KubernetesObject, NamespacedName, Pod
from podwright.store import kind_of


class CreationEvents:
    """How many pods owners wait for, and which have come."""

    def __init__(self) -> None:
        self._expected: dict[NamespacedName, int] = {}
        self._created: dict[NamespacedName, list[str]] = {}

    def expect(self, owner: NamespacedName, count: int) -> None:
        """Wait for pods."""
        self._expected[owner] = count

    def observe(self, owner: NamespacedName, pod: Pod) -> None:
        """Take note of a pod that appeared, if it is one that is waited for."""
        expected = self._expected.get(owner, 0)
        if expected:
            self._expected[owner] = expected - 1
            created = self._created.get(owner)
            if created is None:
                created = self._created[owner] = []
            created.append(pod.metadata.name)

    def events(self, owner: KubernetesObject, source: str) -> list[ControllerAction]:
        """Return the Events about what created since the last look, and wait no longer.

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
        """Forget an owner that is gone."""
        self._expected.pop(owner, None)
        self._created.pop(owner, None)

    def state(self) -> dict[str, Any]:
        """Write it down."""
        return {
            "awaited": dict(self._expected),
            "came": {key: list(names) for key, names in self._created.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what was written down."""
        self._expected = dict(state["awaited"])
        self._created = {key: list(names) for key, names in state["came"].items()}
