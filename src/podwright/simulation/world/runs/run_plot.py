"""The figure of a run: utilization and pending pods over time, and the waits of placed pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from podwright._arrays import F64Array
from podwright._plots import line_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_UNITS: Final = (
    ("days", 2 * 86_400.0, 86_400.0),
    ("hours", 7_200.0, 3_600.0),
    ("min", 120.0, 60.0),
)
"""Units of time, from how many seconds on they are used, and the seconds of one."""


def plot_run(rows: Callable[[str], Mapping[str, Sequence[Any]]], start_ns: int) -> Figure:
    """Return the figure of a run.

    Parameters
    ----------
    rows : callable
        Returns the columns of a table of the run.
    start_ns : int
        The start of the run, which is 0 on the axes of time.
    """
    figure, (use, pending, waits) = new_figure(11, 3.2, 1, 3)
    table = rows("utilization")
    seconds = _seconds(table["time"], start_ns)
    counts = rows("pending")
    pending_seconds = _seconds(counts["time"], start_ns)
    unit, divisor = _unit(max(seconds.max(initial=0), pending_seconds.max(initial=0)))
    shares = 100 * np.array(table["share"], dtype=np.float64)
    _draw_series(use, table["resource"], seconds / divisor, shares)
    use.set_xlabel(f"time since the start ({unit})")
    use.set_ylabel("requested (% of allocatable)")
    use.set_ylim(bottom=0)
    pods = np.array(counts["pods"], dtype=np.float64)
    _draw_series(pending, counts["reason"], pending_seconds / divisor, pods)
    pending.set_xlabel(f"time since the start ({unit})")
    pending.set_ylabel("pending pods by reason")
    pending.set_xlim(use.get_xlim())
    pending.set_ylim(bottom=0)
    if not pods.any():
        pending.set_yticks([])
        pending.text(0.5, 0.5, "no pod waits", transform=pending.transAxes, ha="center")
    _draw_waits(waits, rows("waits"))
    return figure


def _draw_series(panel: Axes, names: Sequence[str], times: F64Array, values: F64Array) -> None:
    """Draw a line of steps for each name."""
    labels = np.array(names, dtype=object)
    for index, name in enumerate(dict.fromkeys(names)):
        own = labels == name
        panel.step(
            times[own], values[own], where="post", label=name, linewidth=1, **line_style(index)
        )
    if len(labels):
        panel.legend(fontsize=7, frameon=False)


def _draw_waits(panel: Axes, table: Mapping[str, Sequence[Any]]) -> None:
    """Draw the distribution of the waits of placed pods."""
    placed = [
        wait
        for wait, outcome in zip(table["wait_ns"], table["outcome"], strict=True)
        if outcome == "Scheduled"
    ]
    seconds = np.sort(np.array(placed, dtype=np.float64)) / 1e9
    unit, divisor = _unit(seconds.max(initial=0))
    shares = 100 * np.arange(1, len(seconds) + 1) / max(len(seconds), 1)
    end = 1.05 * seconds.max(initial=0) / divisor or 1.0
    times, shares = np.array([0, *seconds / divisor, end]), np.array([0, *shares, *shares[-1:]])
    panel.step(times[: len(shares)], shares, where="post", linewidth=1, color="#000000")
    panel.set_xlabel(f"wait until scheduled ({unit})")
    panel.set_ylabel(f"share of {len(seconds):,} placed pods (%)")
    panel.set_xlim(0, end)
    panel.set_ylim(0, 105)


def _seconds(times: Sequence[Any], start_ns: int) -> F64Array:
    """Return times since the start."""
    return (np.array(times, dtype=np.int64) - start_ns).astype(np.float64) / 1e9


def _unit(seconds: float) -> tuple[str, float]:
    """Return the unit for times up to so many seconds, and how many seconds it has."""
    return next(((name, one) for name, least, one in _UNITS if seconds >= least), ("s", 1.0))
