"""What a benchmark is."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

PODS_PER_SECOND = "pods/s"
OPERATIONS_PER_SECOND = "operations/s"
DECISIONS_PER_SECOND = "decisions/s"
MEBIBYTES = "MiB"
SECONDS = "s"
TIMES = "times"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark.

    Parameters
    ----------
    name : str
        As the figures name it; kept over releases.
    unit : str
        Of the figure. Rates should be high, everything else low.
    measure : callable
        Sets up from scratch, runs once, and returns the figure. What it returns is not looked
        at when the case is timed from the start of its process.
    target : float, optional
        What we want to reach.
    runs : int
        Measured runs; the median is the figure.
    is_process_per_run : bool
        Each run in a fresh process and no warm-up, where memory or the start is measured.
    is_timed_from_start : bool
        The figure is the time from the start of the process to the end of `measure`.
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
        """Whether a greater figure is the better one."""
        return self.unit in (PODS_PER_SECOND, OPERATIONS_PER_SECOND, DECISIONS_PER_SECOND)
