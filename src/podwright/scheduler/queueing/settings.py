"""The settings of the queue: durations and switches."""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import SECOND_NS

__all__ = ["SECOND_NS", "QueueSettings"]


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations and switches of the scheduling queue; the defaults are upstream's.

    Parameters
    ----------
    initial_backoff_ns : int
        Backoff after the first failure (`podInitialBackoffSeconds`).
    max_backoff_ns : int
        Longest backoff (`podMaxBackoffSeconds`); 0 disables backoff.
    backoff_window_ns : int
        Ends of backoff are rounded down to a multiple of this, and the flush of completed
        backoffs runs once per window.
    max_unschedulable_ns : int
        How long a pod may stay unschedulable before it is requeued without an event
        (`--pod-max-in-unschedulable-pods-duration`).
    unschedulable_flush_ns : int
        The interval of that check.
    pop_from_backoff : bool
        Feature gate SchedulerPopFromBackoffQ: if activeQ is empty, pods are popped from backoffQ.
        If disabled, ends of backoff are not rounded, and PreEnqueue runs when backoff ends.
    """

    initial_backoff_ns: int = 1 * SECOND_NS
    max_backoff_ns: int = 10 * SECOND_NS
    backoff_window_ns: int = 1 * SECOND_NS
    max_unschedulable_ns: int = 300 * SECOND_NS
    unschedulable_flush_ns: int = 30 * SECOND_NS
    pop_from_backoff: bool = True
