"""The arrivals of the pods of the openb trace, and when these pods end.

A pod of the trace is created at its `creation_time`. It ends in one of two ways:

- `at_deletion_time`, the default: a running pod succeeds at its `deletion_time`. The load over time
  is that of the trace; a pod that waits longer runs for less.
- `after_run_time`: a pod runs for `deletion_time - scheduled_time` after it is bound. The amount of
  work is that of the trace; a pod that waits longer ends later. A pod that was never scheduled in
  the trace runs for the time between its creation and its deletion.

Annotations pass the end to the stages of the world (see `built_in_stages`), so no other code
reads the trace. A pod that is still pending at its `gone_ns` was deleted in the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    CREATION_TIME,
    DELETION_TIME,
    FIRST_NS,
    LAST_NS,
    POSSIBLE_YEARS,
    FieldError,
    InputError,
    OpenbTimes,
    Pod,
    invalid,
    openb_times,
    with_fields,
)
from podwright.cluster.kubelets import RUN_DELAY
from podwright.scheduler.config import format_duration

Ending: TypeAlias = Literal["at_deletion_time", "after_run_time"]


class Arrival(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pod and the time of its creation.

    Parameters
    ----------
    due_ns : int
        The time of its creation.
    pod : Pod
    gone_ns : int, optional
        The time of its deletion in the trace. A simulation of the trace deletes the pod then if it
        is still pending. None: the pod stays pending.
    """

    due_ns: int
    pod: Pod
    gone_ns: int | None = None


def openb_arrivals(
    pods: Iterable[Pod], *, trace_start_ns: int = 0, ending: Ending = "at_deletion_time"
) -> list[Arrival]:
    """Return the arrivals of pods in order; pods without times arrive at the start.

    Parameters
    ----------
    pods : iterable of Pod
        Pods of the trace's table; other pods are not changed.
    trace_start_ns : int
        The time of second 0 of the trace, in nanoseconds since 1970, as for `default_stages`.
    ending : str
        When pods end, see above.

    Raises
    ------
    InputError
        With every invalid time.
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
    # The sort is stable: pods of one second keep the order of the table.
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
    """Yield an error for each time outside the years that can be simulated."""
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
    """Return a pod that runs once for this time; without a time, forever."""
    annotations = {k: v for k, v in pod.metadata.annotations.items() if k != DELETION_TIME}
    if run_ns is None:
        return with_fields(pod, "metadata", annotations=annotations)
    annotations[RUN_DELAY] = format_duration(run_ns)
    return with_fields(
        with_fields(pod, "metadata", annotations=annotations), "spec", restart_policy="Never"
    )
