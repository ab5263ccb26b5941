"""The options of a run, and the values of its durations and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import msgspec

from podwright.apimachinery.objects import (
    Duration,
    FieldError,
    Time,
    collecting,
    read_duration,
    read_time,
)
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import Autoscaling
from podwright.simulation.recording import seed_problem
from podwright.simulation.world.clock import START_NS
from podwright.simulation.world.observers import Observer
from podwright.simulation.world.timing.model import Timing


@runtime_checkable
class PathLike(Protocol):
    """`os.PathLike`, which this room may not import."""

    def __fspath__(self) -> str | bytes:
        """Return the path."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a run besides its inputs; see `World`.

    Attributes
    ----------
    scheduler : SchedulerOptions
    until_ns : int, optional
        The end time; without it, the run ends when no event is left.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration.
    sample_ns : int
        The minimum time between two samples in tables.
    checkpoint_events : int, optional
        How many events of the scheduler there are between checkpoints; without it, 25,000,
        or if that is more, ten for each object that the scheduler knows or three for each at all.
    has_timeline : bool
        Whether the folder of the run gets a timeline.
    read_ns : callable, optional
        The reading of the clock that measures the calls of plugins; they are not measured without
        it.
    autoscaling : Autoscaling, optional
        The node groups of an autoscaler that takes part.
    observers : tuple of Observer
        Receive what happens in the run; their state is not in checkpoints.
    timing : Timing, optional
        What takes virtual time.
    """

    scheduler: SchedulerOptions
    until_ns: int | None = None
    call_extender: CallExtender | None = None
    sample_ns: int
    checkpoint_events: int | None = None
    has_timeline: bool = False
    read_ns: Callable[[], int] | None = None
    autoscaling: Autoscaling | None = None
    observers: tuple[Observer, ...] = ()
    timing: Timing | None = None


def moment_ns(what: str, value: Time, start_ns: int, errors: list[FieldError]) -> int:
    """Read `value`, a time at or after `start_ns`; an error about `what` is added to `errors`."""
    return collecting(
        errors, start_ns, read_time, value, what, start_ns=start_ns, first_ns=start_ns
    )


def time_ns(what: str, value: Time, errors: list[FieldError]) -> int:
    """Read `value`, a time that is not relative; an error about `what` is added to `errors`."""
    return collecting(errors, START_NS, read_time, value, what, start_ns=None)


def duration_ns(what: str, value: Duration, errors: list[FieldError]) -> int:
    """Read `value`, a positive duration; an error about `what` is added to `errors`."""
    return collecting(errors, 0, read_duration, value, what)


def check_seed(what: str, seed: int, errors: list[FieldError]) -> None:
    """Add an error about `what`, the argument, to `errors` if a log cannot store `seed`."""
    if problem := seed_problem(seed):
        errors.append(option_error(what, problem))


def option_error(source: str, message: str) -> FieldError:
    """Return an error of an option."""
    return FieldError(source=source, message=message)
