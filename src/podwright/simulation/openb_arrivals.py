"""The pods of the openb trace as what arrives when.

A pod of the trace is created at its `creation_time`. What ends it can be had in two ways:

- at its time (`at_deletion_time`): a pod that runs has succeeded at the second that is its
  `deletion_time`, however long it had waited. The load over time is the trace's own; a pod
  that waits longer runs for less. This is the default.
- after its run time (`after_run_time`): a pod runs for `deletion_time - scheduled_time` from
  the moment it is bound. The work is the trace's own; what waits longer ends later. A pod that
  the trace's scheduler never placed runs for as long as it was there.

Either is said to the world's stages by annotations (see `annotation_stages`), so nothing else
has to know the trace. A pod that has not been placed at its `gone_ns` was given up in the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from podwright.config import format_duration
from podwright.objects import (
    CREATION_TIME,
    DELETION_TIME,
    FieldError,
    InputError,
    OpenbTimes,
    Pod,
    invalid,
    openb_times,
    with_fields,
)
from podwright.simulation.clock import FIRST_NS, LAST_NS, POSSIBLE_YEARS
from podwright.stages import RUN_DELAY

Ending: TypeAlias = Literal["at_deletion_time", "after_run_time"]


class Arrival(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pod, and when it comes.

    Parameters
    ----------
    due_ns : int
        When it is created.
    pod : Pod
    gone_ns : int, optional
        When the trace has seen the last of it: whoever plays the trace deletes a pod then that
        is still pending. None: it waits for as long as it takes.
    """

    due_ns: int
    pod: Pod
    gone_ns: int | None = None


def openb_arrivals(
    pods: Iterable[Pod], *, trace_start_ns: int = 0, ending: Ending = "at_deletion_time"
) -> list[Arrival]:
    """Say when pods of the trace arrive, in order; those without times are there from the start.

    Parameters
    ----------
    pods : iterable of Pod
        As the trace's table is read; others pass unchanged.
    trace_start_ns : int
        The moment that is second 0 of the trace. `default_stages` wants to know it as well.
    ending : str
        What ends a pod, see above.

    Raises
    ------
    InputError
        With every time that cannot be right.
    """
    arrivals: list[Arrival] = []
    errors: list[FieldError] = []
    for pod in pods:
        try:
            times = openb_times(pod)
        except InputError as error:
            errors += error.errors
            continue
        arrival = _arrival(pod, times, trace_start_ns, ending)
        errors += _impossible(arrival)
        arrivals.append(arrival)
    if errors:
        raise InputError(errors)
    # Pods of one second come in the order of the table: the sort is stable.
    return sorted(arrivals, key=lambda arrival: arrival.due_ns)


def _arrival(pod: Pod, times: OpenbTimes | None, start_ns: int, ending: Ending) -> Arrival:
    if times is None:
        return Arrival(due_ns=start_ns, pod=pod)
    due_ns = start_ns + times.created_ns
    if ending == "after_run_time":
        return Arrival(due_ns=due_ns, pod=_with_run_time(pod, times.run_ns))
    gone_ns = None if times.ended_ns is None else start_ns + times.ended_ns
    return Arrival(due_ns=due_ns, pod=pod, gone_ns=gone_ns)


def _impossible(arrival: Arrival) -> Iterator[FieldError]:
    """Find times outside of the years that can be simulated."""
    for due_ns, key in ((arrival.due_ns, CREATION_TIME), (arrival.gone_ns, DELETION_TIME)):
        if due_ns is not None and not FIRST_NS <= due_ns < LAST_NS:
            text = arrival.pod.metadata.annotations.get(key, "")
            yield FieldError(
                source=f"pod {arrival.pod.key}",
                path=f"metadata.annotations[{key}]",
                message=invalid(text, f"{POSSIBLE_YEARS} can be simulated"),
                value=text,
            )


def _with_run_time(pod: Pod, run_ns: int | None) -> Pod:
    """Let the pod run for so long, once; without a time, for ever."""
    annotations = {k: v for k, v in pod.metadata.annotations.items() if k != DELETION_TIME}
    if run_ns is None:
        return with_fields(pod, "metadata", annotations=annotations)
    annotations[RUN_DELAY] = format_duration(run_ns)
    return with_fields(
        with_fields(pod, "metadata", annotations=annotations), "spec", restart_policy="Never"
    )
