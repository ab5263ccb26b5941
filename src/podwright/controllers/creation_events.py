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
        self._awaited: dict[NamespacedName, int] = {}
        self._came: dict[NamespacedName, list[str]] = {}

    def expect(self, owner: NamespacedName, count: int) -> None:
        """Wait for pods."""
        self._awaited[owner] = count

    def saw(self, owner: NamespacedName, pod: Pod) -> None:
        """Take note of a pod that appeared, if it is one that is waited for."""
        awaited = self._awaited.get(owner, 0)
        if awaited:
            self._awaited[owner] = awaited - 1
            came = self._came.get(owner)
            if came is None:
                came = self._came[owner] = []
            came.append(pod.metadata.name)

    def events(self, owner: KubernetesObject, source: str) -> list[ControllerAction]:
        """Return the Events about what came since the last look, and wait no longer.

        Notes
        -----
        Upstream: controller_utils.go, createPods
        """
        key, (group, kind), uid = owner.key, kind_of(owner), owner.uid
        self._awaited.pop(key, None)
        return [
            RecordEvent(
                group, kind, key, uid, "Normal", "SuccessfulCreate", f"Created pod: {name}", source
            )
            for name in self._came.pop(key, ())
        ]

    def forget(self, owner: NamespacedName) -> None:
        """Forget an owner that is gone."""
        self._awaited.pop(owner, None)
        self._came.pop(owner, None)

    def state(self) -> dict[str, Any]:
        """Write it down."""
        return {
            "awaited": dict(self._awaited),
            "came": {key: list(names) for key, names in self._came.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what was written down."""
        self._awaited = dict(state["awaited"])
        self._came = {key: list(names) for key, names in state["came"].items()}
