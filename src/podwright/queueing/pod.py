"""A pod in the queue: the object, where it waits, and what happened to it so far."""

from __future__ import annotations

import enum
from typing import Any

from podwright.objects import Pod

__all__ = ["QueueName", "QueuedPod"]


class QueueName(enum.Enum):
    """Where a pod waits; a pod the queue knows is in exactly one of these places."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error_backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in_flight"
    NOWHERE = "nowhere"

    def __init__(self, text: str) -> None:
        # The same as `value`, which is looked up in Python.
        self.text = text

    # Members are compared by identity; the hash of their name is computed in Python.
    __hash__ = object.__hash__


class QueuedPod:
    """A pending pod and its history in the queue.

    Only the queue changes one; `pop` lends it to the caller, who gives it back with `park`
    or ends it with `done`. The counters are those that `pop` of FORMATS section 10 shows.

    Parameters
    ----------
    pod : Pod
        The newest version the queue has seen.
    entered_index : int
        How many pods entered before; the last word between equals.
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
        """In the heap that it waits in; None if it waits in none."""
        self.timestamp_ns = now_ns
        self.initial_attempt_ns: int | None = None
        self.attempts = 0
        self.unschedulable_count = 0
        self.consecutive_errors = 0
        self.backoff_end_ns: int | None = None
        """Cached; None: to be computed from the counters."""
        self.unschedulable_plugins: frozenset[str] = frozenset()
        self.pending_plugins: frozenset[str] = frozenset()
        self.gating_plugin = ""
        self.gating_reasons: tuple[str, ...] = ()
        self.was_flushed = False

    def __repr__(self) -> str:
        return f"QueuedPod({self.key!r}, {self.place.value}, attempts={self.attempts})"

    @property
    def is_gated(self) -> bool:
        """Whether a PreEnqueue plugin holds the pod."""
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins whose hints decide when the pod is tried again."""
        pending = self.pending_plugins
        return self.unschedulable_plugins | pending if pending else self.unschedulable_plugins

    def renew(self, pod: Pod) -> None:
        """Take over a newer version of the object."""
        self.pod = pod
        self.priority = pod.spec.priority or 0
