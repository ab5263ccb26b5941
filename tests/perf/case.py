"""The definition of a benchmark."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

PODS_PER_SECOND = "pods/s"
OPERATIONS_PER_SECOND = "operations/s"
DECISIONS_PER_SECOND = "decisions/s"
EXPLANATIONS_PER_SECOND = "explanations/s"
MEBIBYTES = "MiB"
SECONDS = "s"
MILLISECONDS = "ms"
TIMES = "times"
SHARE = "cores"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark.

    Parameters
    ----------
    name : str
        The name in the figures; it does not change between releases.
    unit : str
        The unit of the figure. Higher is better for rates, lower for everything else.
    measure : callable
        Sets up from scratch, runs once, and returns the figure. The result is ignored if the
        case is timed from the start of its process.
    target : float, optional
        The goal.
    runs : int
        The number of measured runs; the median is the figure.
    is_process_per_run : bool
        Whether each run has a new process and no warm-up, to measure memory or the start.
    is_timed_from_start : bool
        Whether the figure is the time from the start of the process to the end of `measure`.
    """

    name: str
    unit: str
    measure: Callable[[], float]
    target: float | None = None
    runs: int = 5
    is_process_per_run: bool = False
    is_timed_from_start: bool = False

    @property
    def is_more_better(self) -> bool:
        """Whether a larger figure is better."""
        return self.unit.endswith("/s")
