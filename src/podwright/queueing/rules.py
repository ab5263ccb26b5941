"""What the machine and `BlockingQueue` need of a queue, whatever its rules.

Which class stands behind it is the configuration's `rules`: `SchedulingQueue` here, or
`podwright.classic.ClassicQueue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from podwright.framework import ClusterEvent
from podwright.objects import Pod
from podwright.queueing.metrics import QueueMetrics
from podwright.queueing.nominator import Nominator
from podwright.queueing.pod import QueuedPod, QueueName
from podwright.queueing.story import Touch

__all__ = ["PodQueue"]


class PodQueue(Protocol):
    """A queue of pending pods; `SchedulingQueue` documents each door."""

    @property
    def nominator(self) -> Nominator:
        """Which pods are promised to which node."""

    @property
    def has_next(self) -> bool:
        """Whether `pop` would return a pod."""

    @property
    def scheduling_cycle(self) -> int:
        """How many pods were popped."""

    def __len__(self) -> int: ...

    def add(self, pod: Pod, now_ns: int, *, key: str = "") -> QueueName:
        """Take in a new pending pod; `key` is its name, if the caller has it."""

    def update(self, old: Pod | None, new: Pod, now_ns: int) -> QueueName:
        """Take over a newer version of a pending pod."""

    def delete(self, pod: Pod, now_ns: int, *, key: str = "") -> None:
        """Forget a waiting pod; `key` is its name, if the caller has it."""

    def pop(self, now_ns: int) -> QueuedPod | None:
        """Take the next pod to try."""

    def pop_pod(self, name: str, now_ns: int) -> QueuedPod | None:
        """Take one pod by name."""

    def done(self, queued: QueuedPod, now_ns: int) -> None:
        """End an attempt whose pod does not come back."""

    def park(
        self,
        queued: QueuedPod,
        now_ns: int,
        *,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
        pod: Pod | None = None,
        always_backoff: bool = False,
    ) -> QueueName:
        """Take a pod back after a failed attempt."""

    def move(
        self,
        event: ClusterEvent,
        now_ns: int,
        *,
        old: object | None = None,
        new: object | None = None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> list[str]:
        """Tell the queue of a change in the cluster."""

    def flush_backoff(self, now_ns: int) -> list[str]:
        """Move pods whose backoff is over to active."""

    def flush_unschedulable(self, now_ns: int) -> list[str]:
        """Move pods that have waited too long for an event."""

    def activate(self, pods: Iterable[Pod], now_ns: int) -> list[str]:
        """Move the pods to active at once."""

    def nominate(self, pod: Pod, node_name: str | None = None) -> None:
        """Promise the node to the pod."""

    def next_due_ns(self) -> int | None:
        """Return when the next flush would move a pod."""

    def get(self, name: str) -> QueuedPod | None:
        """Return the waiting pod of that name."""

    def in_flight(self) -> list[QueuedPod]:
        """Return the popped pods."""

    def pods_in(self, place: QueueName) -> list[QueuedPod]:
        """Return the pods in one place, in order."""

    def backoff_end_ns(self, queued: QueuedPod) -> int:
        """Return when the pod's backoff ends; -1 if it has none."""

    def metrics(self) -> QueueMetrics:
        """Return the counters."""

    def story(self, name: str) -> list[Touch]:
        """Return what touched a pod."""

    def validate(self) -> None:
        """Assert every invariant."""
