"""Prints durations in tables.

Ages and durations are printed as kubectl prints ages, with two or three significant figures
(`5m30s`, `3h`, `2d4h`). Times in a run stay exact, since they are given to `--at` again.
"""

from __future__ import annotations

from podwright.apimachinery.schema import human_duration
from podwright.scheduler.config import format_duration

_SHORTEST_HUMAN_NS = 10_000_000_000


def duration_text(duration_ns: int) -> str:
    """Return a duration as kubectl prints ages; below 10 s to the millisecond.

    Examples
    --------
    >>> duration_text(330 * 10**9), duration_text(1_250_000_000), duration_text(187_200 * 10**9)
    ('5m30s', '1.25s', '2d4h')
    """
    if duration_ns >= _SHORTEST_HUMAN_NS:
        return human_duration(duration_ns)
    return format_duration(duration_ns // 1_000_000 * 1_000_000)
