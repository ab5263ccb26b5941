"""The metrics of the queue, as plain dictionaries that a driver can expose.

The names are upstream's, without the `scheduler_` prefix.
"""

from __future__ import annotations

from collections import Counter


class QueueMetrics:
    """The counters and gauges of the queue."""

    def __init__(self) -> None:
        self.queue_incoming_pods_total: Counter[tuple[str, str]] = Counter()
        """By (queue, event)."""
        self.unschedulable_pods: Counter[tuple[str, str]] = Counter()
        """By (plugin, profile): the waiting pods that the plugin rejected."""
        self.queueing_hint_executions_total: Counter[tuple[str, str, str]] = Counter()
        """By (plugin, event, hint); the driver measures the durations."""
        self.pending_pods: dict[str, int] = {}
        """By queue: active, backoff, unschedulable, gated."""
        self.inflight_events: dict[str, int] = {}
        """By event label, and `PodPopped` for the pods themselves."""
