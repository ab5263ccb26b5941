"""When the queue of a scheduler is flushed in virtual time."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import SECOND_NS
from podwright.scheduler.machine import FlushBackoff, Machine

_UNSCHEDULABLE_NS: Final = 30 * SECOND_NS
_FLUSH_BACKOFF: Final = FlushBackoff()


def next_flush_ns(machine: Machine, now_ns: int, *, is_over: bool) -> int | None:
    """Return the first whole second at which a flush of the queue would move a pod.

    Parameters
    ----------
    machine : Machine
    now_ns : int
        The present time; the result is not before it.
    is_over : bool
        Whether nothing else is left: then flushes of unschedulable pods alone do not count.

    Returns
    -------
    int, optional
        None for never.
    """
    due_ns = machine.next_flush_ns
    # While an extender is called, a flush would only be held back.
    if due_ns is None or machine.defers(_FLUSH_BACKOFF):
        return None
    # Flushes of unschedulable pods alone would continue a run without end time forever.
    if is_over and not machine.queue.metrics().pending_pods.get("backoff"):
        return None
    # Upstream's flush loops run every second, and every thirty seconds.
    whole_ns = -(-due_ns // SECOND_NS) * SECOND_NS
    return max(whole_ns, now_ns)


def is_unschedulable_due(machine: Machine, now_ns: int, start_ns: int) -> bool:
    """Return whether a flush at this time also moves unschedulable pods."""
    due_ns = machine.next_flush_ns
    # It is later than its time if the start is between two whole seconds, or if an extender was
    # called then.
    is_late = due_ns is not None and due_ns <= now_ns
    return is_late or (now_ns - start_ns) % _UNSCHEDULABLE_NS == 0
