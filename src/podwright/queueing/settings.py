"""How long pods wait: every duration of the queue in one struct."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["SECOND_NS", "QueueSettings"]

SECOND_NS: Final = 1_000_000_000


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations and switches of the scheduling queue; the defaults are upstream's.

    Parameters
    ----------
    initial_backoff_ns : int
        Backoff after the first failure (`podInitialBackoffSeconds`).
    max_backoff_ns : int
        Longest backoff (`podMaxBackoffSeconds`); 0 switches backoff off.
    backoff_window_ns : int
        Ends of backoff are cut down to a multiple of this, and the flush of completed
        backoffs runs once per window.
    max_unschedulable_ns : int
        How long a pod may stay unschedulable before it is tried again anyway
        (`--pod-max-in-unschedulable-pods-duration`).
    unschedulable_flush_ns : int
        How often that is looked at.
    pop_from_backoff : bool
        Feature gate SchedulerPopFromBackoffQ: an idle scheduler takes pods that still back
        off. Off: ends of backoff are not cut, and PreEnqueue runs when backoff ends.
    """

    initial_backoff_ns: int = 1 * SECOND_NS
    max_backoff_ns: int = 10 * SECOND_NS
    backoff_window_ns: int = 1 * SECOND_NS
    max_unschedulable_ns: int = 300 * SECOND_NS
    unschedulable_flush_ns: int = 30 * SECOND_NS
    pop_from_backoff: bool = True
