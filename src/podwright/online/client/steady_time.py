"""The time of day for what must not go back: decisions, simulated clusters and records."""

from __future__ import annotations

import time
from collections.abc import Callable


class SteadyTime:
    """Returns the nanoseconds since 1970, which never go back.

    After the clock of the machine is set back, the time passes at half the pace until the clock has
    caught up: waits are longer, but end.

    Parameters
    ----------
    least_ns : int, optional
        A time that has passed already, such as that of the last line of a record.
    read_ns, read_monotonic_ns : callable, optional
        The clock of the machine, and one that is never set.
    """

    def __init__(
        self,
        least_ns: int = 0,
        *,
        read_ns: Callable[[], int] = time.time_ns,
        read_monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._read_ns = read_ns
        self._read_monotonic_ns = read_monotonic_ns
        self._last_ns = least_ns
        self._read_at_ns = read_monotonic_ns()

    def __call__(self) -> int:
        """Return the time."""
        before_ns, self._read_at_ns = self._read_at_ns, self._read_monotonic_ns()
        passed_ns = self._read_at_ns - before_ns
        self._last_ns = max(self._last_ns + passed_ns // 2, self._read_ns())
        return self._last_ns
