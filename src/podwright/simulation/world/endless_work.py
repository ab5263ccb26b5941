"""Work without end at one virtual time: endless events, and retries that make no progress."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import PodwrightError
from podwright.scheduler.machine import Machine

AT_ONCE_MAX: Final = 10_000_000
"""The number of events at one virtual time after which a run fails as endless."""

UNPRODUCTIVE_CYCLES_MIN: Final = 100
UNPRODUCTIVE_CYCLES_PER_POD: Final = 10
"""The number of unproductive cycles in a row, in total and for each pod in the queue, after which
pods are no longer retried before their backoff ends, and a run without an end time may end."""


class WorldError(PodwrightError):
    """A world that cannot continue; the text says why."""


def check_time_advances(count_at_once: int, now_ns: int) -> None:
    """Fail if too many events have occurred at one time.

    Raises
    ------
    WorldError
        Their number exceeds the limit.
    """
    if count_at_once > AT_ONCE_MAX:
        raise WorldError(
            f"{AT_ONCE_MAX:,} events occurred at {now_ns} ns without advancing time: does a pod"
            " end immediately, and its controller create another one?"
        )


def is_retry_loop(machine: Machine, unproductive_cycles: int) -> bool:
    """Tell whether the queue would return pods before their backoff ends, without progress.

    The queue returns pods in backoff when it has no others. If each cycle moves the pods of
    the other cycles back to the queue, as when a gang that does not fit is rejected at Permit,
    this never ends where cycles take no time. Such pods then wait until their backoff ends.
    """
    return has_many_unproductive_cycles(
        machine, unproductive_cycles
    ) and not machine.queue.metrics().pending_pods.get("active")


def has_many_unproductive_cycles(machine: Machine, unproductive_cycles: int) -> bool:
    """Tell whether so many cycles in a row were unproductive that no progress can be expected."""
    return unproductive_cycles >= UNPRODUCTIVE_CYCLES_MIN and (
        unproductive_cycles >= UNPRODUCTIVE_CYCLES_PER_POD * len(machine.queue)
    )
