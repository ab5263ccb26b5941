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
    table, counts = rows("utilization"), rows("pending")
    seconds = [
        (np.array(each["time"], dtype=np.int64) - start_ns).astype(np.float64) / 1e9
        for each in (table, counts)
    ]
    unit, divisor = _unit(max(each.max(initial=0) for each in seconds))
    shares = 100 * np.array(table["share"], dtype=np.float64)
    pods = np.array(counts["pods"], dtype=np.float64)
    for panel, names, times, values, label in (
        (use, table["resource"], seconds[0], shares, "requested (% of allocatable)"),
        (pending, counts["reason"], seconds[1], pods, "pending pods by reason"),
    ):
        _draw_series(panel, names, times / divisor, values)
        panel.set_xlabel(f"time since the start ({unit})")
        panel.set_ylabel(label)
        panel.set_xlim(use.get_xlim())
        panel.set_ylim(bottom=0)
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
        style = line_style(index)
        panel.step(times[own], values[own], where="post", label=name, linewidth=1, **style)
    if len(labels):
        panel.legend(fontsize=7, frameon=False)


def _draw_waits(panel: Axes, table: Mapping[str, Sequence[Any]]) -> None:
    """Draw the distribution of the waits of placed pods."""
    is_placed = np.array(table["outcome"], dtype=object) == "Scheduled"
    seconds = np.sort(np.array(table["wait_ns"], dtype=np.float64)[is_placed]) / 1e9
    unit, divisor = _unit(seconds.max(initial=0))
    shares = 100 * np.arange(1, len(seconds) + 1) / max(len(seconds), 1)
    end = 1.05 * seconds.max(initial=0) / divisor or 1.0
    times, shares = np.array([0, *seconds / divisor, end]), np.array([0, *shares, *shares[-1:]])
    panel.step(times[: len(shares)], shares, where="post", linewidth=1, color="#000000")
    panel.set_xlabel(f"wait until scheduled ({unit})")
    panel.set_ylabel(f"share of {len(seconds):,} placed pods (%)")
    panel.set_xlim(0, end)
    panel.set_ylim(0, 105)


def _unit(seconds: float) -> tuple[str, float]:
    """Return the unit for times up to so many seconds, and how many seconds it has."""
    return next(((name, one) for name, least, one in _UNITS if seconds >= least), ("s", 1.0))
