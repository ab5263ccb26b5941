"""What controllers have in common whose whole state the objects show."""

from __future__ import annotations

from typing import Any


class StatelessController:
    """A controller of which checkpoints save nothing: it observes all objects again."""

    def state(self) -> dict[str, Any]:
        """Return nothing: the objects show the whole state."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore nothing."""
