"""The table of how long the calls of plugins took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000))


def times_table(
    timings: Sequence[Mapping[str, Any]], *, is_wide: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads and the rows of a table; the plugins that took longest are first.

    Parameters
    ----------
    timings : sequence of mapping
        Documents of `PluginTiming`.
    is_wide : bool
        Whether there is a column of profiles.
    """
    heads = "PLUGIN", "POINT", "CALLS", "ERRORS", "TOTAL", "MEAN", "LONGEST", "LONGEST-POD"
    rows = [
        (
            *((row["profile"],) if is_wide else ()),
            row["plugin"],
            row["point"],
            str(row["callCount"]),
            str(row["statuses"].get("Error", 0)),
            _duration(row["totalNs"]),
            _duration(row["totalNs"] // row["callCount"]),
            _duration(row["longestNs"]),
            row["longestPod"],
        )
        for row in sorted(timings, key=lambda row: -row["totalNs"])
    ]
    return ("PROFILE", *heads) if is_wide else heads, rows


def _duration(duration_ns: int) -> str:
    """Return a duration with three significant digits, such as 12.3ms."""
    for unit, unit_ns in _UNITS:
        if duration_ns >= unit_ns:
            return f"{duration_ns / unit_ns:.3g}{unit}"
    return f"{duration_ns}ns"
