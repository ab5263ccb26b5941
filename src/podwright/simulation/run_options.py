"""The options of a run, and the values of its durations and times."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from podwright.config import (
    parse_duration,
)
from podwright.framework import CallExtender
from podwright.machine import SchedulerOptions
from podwright.objects import FieldError, invalid, timestamp_ns
from podwright.simulation.clock import FIRST_NS, LAST_NS, POSSIBLE_YEARS, START_NS


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
    sample_ns : int
        The minimum time between two samples in tables.
    checkpoint_events : int, optional
        How many events of the scheduler there are between checkpoints; without it, 25,000,
        or if that is more, ten for each object that the scheduler knows or three for each at all.
    """

    scheduler: SchedulerOptions
    until_ns: int | None = None
    call_extender: CallExtender | None = None
    sample_ns: int
    checkpoint_events: int | None = None


def moment_ns(what: str, text: str, start_ns: int, errors: list[FieldError]) -> int:
    """Read a time or a duration since the start; an invalid one is added to the errors."""
    found = timestamp_ns(text)
    if found is None:
        try:
            found = start_ns + parse_duration(text)
        except ValueError:
            detail = "a duration such as 24h is expected, or a time such as 2026-01-02T00:00:00Z"
            errors.append(option_error(what, invalid(text, detail)))
            return start_ns
    if found < start_ns:
        errors.append(option_error(what, invalid(text, "must not be before the start")))
    return _in_range(what, text, found, errors)


def time_ns(what: str, text: str, errors: list[FieldError]) -> int:
    """Read a time; an invalid one is added to the errors."""
    found = timestamp_ns(text)
    if found is None:
        detail = "a time is expected, such as 2026-01-01T00:00:00Z"
        errors.append(option_error(what, invalid(text, detail)))
        return START_NS
    return _in_range(what, text, found, errors)


def check_seed(what: str, seed: int, errors: list[FieldError]) -> None:
    """Add an error if a log cannot store the seed."""
    if not -(2**63) <= seed < 2**63:
        errors.append(option_error(what, invalid(seed, "a number of at most 64 bits is expected")))


def _in_range(what: str, text: str, found_ns: int, errors: list[FieldError]) -> int:
    if FIRST_NS <= found_ns < LAST_NS:
        return found_ns
    errors.append(option_error(what, invalid(text, f"{POSSIBLE_YEARS} can be simulated")))
    return START_NS


def duration_ns(what: str, text: str, errors: list[FieldError]) -> int:
    """Read a positive duration; an invalid one is added to the errors."""
    try:
        found = parse_duration(text)
    except ValueError:
        found = 0
    if found <= 0:
        errors.append(option_error(what, invalid(text, "a duration is expected, such as 1m")))
    return found


def option_error(source: str, message: str) -> FieldError:
    """Return an error of an option."""
    return FieldError(source=source, path="", message=message)
