"""The order of the queue by a QueueSort plugin, whatever the plugin does wrong.

A pod whose key is invalid is gated with an Event, like a pod on which a PreEnqueue plugin fails.
A key may also become invalid after the pod has entered the queue: such a pod comes last.
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import Plugin, Status, described, raised
from podwright.scheduler.queueing import QueuedPod

_LAST = (1, 0)


class SortOrder:
    """Keys of one QueueSort plugin.

    Parameters
    ----------
    plugin : Plugin
        With `queue_sort_key`.
    """

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin
        self._first: object = None
        """The first key that could be used; others have to be comparable with it."""

    def __call__(self, queued: QueuedPod) -> tuple[object, int]:
        """Return the sort key of a pod; an exception of the plugin is not raised."""
        return self.key_of(queued.pod, queued.timestamp_ns), queued.entered_index

    def key_of(self, pod: Pod, timestamp_ns: int) -> tuple[int, object]:
        """Return the sort key of a pod without the order of entry."""
        key: object = None
        try:
            key = self.plugin.queue_sort_key(pod, timestamp_ns)
            is_good = self._is_good(key)
        except Exception:  # noqa: BLE001 - a user's plugin may raise anything
            is_good = False
        return (0, key) if is_good else _LAST

    def check(self, pod: Pod, timestamp_ns: int) -> Status:
        """Check the key that the plugin returns for a pod; an ERROR if it is invalid."""
        try:
            key: object = self.plugin.queue_sort_key(pod, timestamp_ns)
        except Exception as error:  # noqa: BLE001 - a user's plugin may raise anything
            return Status.error(f"{raised(error)} (pod {pod.key})")
        if self._is_good(key):
            return Status.OK
        return Status.error(f"returned {described(key)}, which cannot be sorted (pod {pod.key})")

    def _is_good(self, key: object) -> bool:
        first = key if self._first is None else self._first
        try:
            hash(key)
            # What is not equal to itself (not a number) has no place in any order.
            is_good = bool(key == key) and not key < key and _is_like(key, first)  # type: ignore[operator]  # noqa: PLR0124
        except Exception:  # noqa: BLE001 - the key is a user's object
            return False
        if is_good and self._first is None:
            self._first = key
        return is_good


def _is_like(key: object, first: object) -> bool:
    """Report whether two keys can be compared at every depth, and not only where they differ."""
    if isinstance(key, tuple) and isinstance(first, tuple):
        return all(_is_like(one, other) for one, other in zip(key, first, strict=False))
    if isinstance(key, int | float) and isinstance(first, int | float):
        return key == key  # noqa: PLR0124 - not a number
    return type(key) is type(first)
