"""What the figures of runs, sweeps, studies and tunings share: colors, axes, files.

Matplotlib (`pip install 'podwright[plots]'`) is used without a display and without its global
state. The colors are those of Okabe and Ito, which color-blind readers tell apart; lines also have
dashes of their own, and points markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS: Final = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2")
_DASHES: Final = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_MARKERS: Final = "osD^vPX"


def line_style(index: int) -> dict[str, Any]:
    """Return the color and the dashes of a line by its number."""
    place = index % len(_COLORS)
    return {"color": _COLORS[place], "linestyle": _DASHES[place]}


def new_figure(width: float, height: float, rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    """Return a figure of so many inches, and its panels row by row.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.size": 9}):
        figure = Figure(figsize=(width, height), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
    for panel in panels.flat:
        panel.tick_params(labelsize=8)
        panel.grid(visible=True, linewidth=0.4, alpha=0.5)
        panel.set_axisbelow(True)
    return figure, list(panels.flat)


def picture(figure: Figure, file_format: str = "svg") -> bytes:
    """Return a figure as the content of a file; the same figure gives the same bytes.

    Parameters
    ----------
    file_format : str
        `svg`, `png` or `pdf`.
    """
    from matplotlib import rc_context

    # Without a date and with fixed ids.
    dates = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    written = BytesIO()
    with rc_context({"svg.hashsalt": "podwright"}):
        figure.savefig(written, format=file_format, dpi=150, metadata=dates[file_format])
    return written.getvalue()


class Points(NamedTuple):
    """Means with their intervals, drawn in one color and with one marker.

    Attributes
    ----------
    label : str
        For the legend.
    means, margins : dict of str to float
        By the name of the row; a mean of one run has no margin.
    """

    label: str
    means: dict[str, float]
    margins: dict[str, float]


def draw_intervals(panel: Axes, rows: Sequence[str], groups: Sequence[Points]) -> None:
    """Draw means with 95 % confidence intervals: a row for each name, the first on top."""
    for index, group in enumerate(groups):
        shift = (index - (len(groups) - 1) / 2) * 0.5 / max(len(groups), 1)
        names = [name for name in rows if name in group.means]
        panel.errorbar(
            [group.means[name] for name in names],
            [rows.index(name) + shift for name in names],
            xerr=[group.margins.get(name, 0.0) for name in names],
            fmt=_MARKERS[index % len(_MARKERS)],
            color=_COLORS[index % len(_COLORS)],
            markersize=4,
            capsize=2,
            linewidth=1,
            label=group.label,
        )
    panel.set_yticks(range(len(rows)), rows)
    panel.set_ylim(len(rows) - 0.5, -0.5)
