"""A pod in the queue: the object, its place in the queue, and its history.

Notes
-----
Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podwright.apimachinery.objects import Pod
from podwright.scheduler.queueing.places import QueueName


class QueuedPod:
    """A pending pod and its history in the queue.

    Only the queue changes it. The caller of `pop` returns it with `park` or ends its attempt with
    `done`. The counters are those of upstream's QueuedPodInfo.

    Parameters
    ----------
    pod : Pod
        The newest version that the queue has received.
    entered_index : int
        The number of earlier entries; it breaks ties.
    now_ns : int
        The time of entry.
    key : str
        Its `namespace/name`, if the caller has it.
    """

    __slots__ = (
        "attempts",
        "backoff_end_ns",
        "consecutive_errors",
        "entered_index",
        "gating_plugin",
        "gating_reasons",
        "initial_attempt_ns",
        "key",
        "pending_plugins",
        "place",
        "pod",
        "priority",
        "sort_key",
        "timestamp_ns",
        "uid",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, pod: Pod, entered_index: int, now_ns: int, key: str = "") -> None:
        self.pod = pod
        self.key = key or pod.key
        self.uid = pod.metadata.uid
        self.priority = pod.spec.priority or 0
        self.entered_index = entered_index
        self.place = QueueName.NOWHERE
        self.sort_key: Any = None
        """The key in its heap; None if it is in none."""
        self.timestamp_ns = now_ns
        self.initial_attempt_ns: int | None = None
        self.attempts = 0
        self.unschedulable_count = 0
        self.consecutive_errors = 0
        self.backoff_end_ns: int | None = None
        """Cached; None if it has to be computed from the counters."""
        self.unschedulable_plugins: frozenset[str] = frozenset()
        self.pending_plugins: frozenset[str] = frozenset()
        self.gating_plugin = ""
        self.gating_reasons: tuple[str, ...] = ()
        self.was_flushed = False

    def __repr__(self) -> str:
        return f"QueuedPod({self.key!r}, {self.place.value}, attempts={self.attempts})"

    @property
    def is_gated(self) -> bool:
        """Whether a PreEnqueue plugin gates the pod."""
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins whose hints decide when the pod is requeued."""
        pending = self.pending_plugins
        return self.unschedulable_plugins | pending if pending else self.unschedulable_plugins

    def replace_pod(self, pod: Pod) -> None:
        """Replace the object with `pod`, a newer version."""
        self.pod = pod
        self.priority = pod.spec.priority or 0


# The order of pods in the active queue.

SortKey = Callable[[QueuedPod], Any]
"""Returns a pod's sort key: comparable with `<`, hashable, and unique per pod."""


def priority_sort_key(queued: QueuedPod) -> int:
    """Order by priority, highest first, then by timestamp, then by order of entry.

    One number for the three, because a heap of numbers is several times as fast as one of
    tuples: 64 bits of time and 48 of entries below the priority.
    """
    return (-queued.priority << 112) + (queued.timestamp_ns << 48) + queued.entered_index
