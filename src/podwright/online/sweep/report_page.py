"""A page with the plots of a sweep and the numbers behind them: one HTML file without scripts."""

from __future__ import annotations

import csv
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import StringIO
from math import isfinite
from typing import TYPE_CHECKING, Final

from podwright._html import page, whole_table
from podwright._plots import picture
from podwright._version import __version__
from podwright.online.sweep.summary import SweepFigure, SweepSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sweep_page(summary: SweepSummary, title: str, names: Sequence[str] = ()) -> bytes:
    """Return a page about a sweep; the same results give the same bytes.

    Parameters
    ----------
    summary : SweepSummary
        The figures of the sweep.
    title : str
        The heading.
    names : sequence of str
        The figures that are plotted; by default those that differ.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    """
    shown = [each for each in summary.figures if each.name in names] or summary.differing()
    failed = [(*each.run[1:], each.error) for each in summary.failed]
    findings = [
        f"{len(summary.results)} runs, {len(failed)} of them failed, {summary.missing} are missing",
        f"podwright {__version__}",
        *summary.warnings,
    ]
    if not shown:
        findings.append("No figure differs between the configurations.")
    parts = [
        inline(summary.plot(*names)) if shown else "",
        table_of("Figures", shown),
        table_of("Other figures", [each for each in summary.figures if each not in shown]),
        whole_table("Failed runs", ("Input", "Configuration", "Seed", "Error"), failed),
        all_values(summary),
    ]
    return page(title, findings, parts).encode()


def inline(figure: Figure) -> str:
    """Return `figure`, Matplotlib's, as an SVG element."""
    text = picture(figure).decode()
    return f"<figure>{text[text.index('<svg') :]}</figure>"


FIGURE_HEADS: Final = (
    "Input", "Figure", "Configuration", "Runs", "Mean", "±95%", "Change", "±95%",
)  # fmt: skip
"""The heads of `figure_cells`."""


def table_of(title: str, figures: Sequence[SweepFigure]) -> str:
    """Return `figures` as a table of HTML below `title`; "" without figures."""
    return whole_table(title, FIGURE_HEADS, [figure_cells(each) for each in figures])


def figure_cells(figure: SweepFigure) -> list[str]:
    """Return `figure` as the cells of a table."""
    cells = [figure.input, figure.name, figure.configuration, str(figure.runs)]
    cells += [_text(figure.value.mean, figure.unit), _text(figure.value.margin, figure.unit)]
    if figure.change is None:
        return [*cells, "", ""]
    sign = "+" if figure.change.mean > 0 else ""
    change = sign + _text(figure.change.mean, figure.unit)
    return [*cells, change, _text(figure.change.margin, figure.unit)]


def _text(value: float, unit: str) -> str:
    if not isfinite(value):
        return ""
    if unit == "share":
        return f"{100 * value:.2f}%"
    return f"{value:,.4g}s" if unit == "s" else f"{value:,.4g}"


def all_values(summary: SweepSummary) -> str:
    """Return the values of all runs of `summary` as CSV, closed, and as a link that saves them."""
    table = StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["input", "configuration", "seed", "figure", "unit", "value"])
    for each in summary.results:
        writer.writerows((*each.run[1:], *figure) for figure in each.figures)
    text = table.getvalue()
    link = f"data:text/csv;base64,{b64encode(text.encode()).decode()}"
    return (
        f'<p><a download="values.csv" href="{link}">All values as CSV</a></p>'
        f"<details><summary>All values</summary><pre>{escape(text)}</pre></details>"
    )
