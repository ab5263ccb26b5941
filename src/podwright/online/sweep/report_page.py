"""A page with the plots of a sweep and the numbers behind them: one HTML file without scripts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any

from podwright._html import facts, paragraphs, section, table
from podwright._plots import picture
from podwright._version import __version__
from podwright.online.sweep.summary import SweepFigure, SweepSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = (
    "body{font:14px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light}table{border-collapse:collapse;margin:.5rem 0 1.5rem}"
    "th,td{padding:.15rem .8rem .15rem 0;border-bottom:1px solid #ccc}"
    "svg{max-width:100%;height:auto}div>strong{font-size:1.2rem}pre{overflow-x:auto}"
)


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
    parts = [
        section(
            title,
            facts(
                {
                    "runs": len(summary.results),
                    "failed": len(summary.failed),
                    "missing": summary.missing,
                    "podwright": __version__,
                }
            ),
        )
    ]
    if shown:
        parts += [inline(summary.plot(*names)), section("Figures", table_of(shown))]
    else:
        parts.append(paragraphs(["No figure differs between the configurations."]))
    others = [each for each in summary.figures if each not in shown]
    parts.append(section("Other figures", table_of(others)))
    parts.append(section("Failed runs", _failures(summary)))
    parts.append(all_values(summary))
    return page(title, parts)


def page(title: str, parts: Iterable[str]) -> bytes:
    """Return a whole page with the heading `title`; `parts` are HTML already."""
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>\n'
    )
    return (head + "\n".join(parts) + "\n</body></html>\n").encode()


def inline(figure: Figure) -> str:
    """Return `figure`, Matplotlib's, as an SVG element."""
    text = picture(figure).decode()
    return f"<figure>{text[text.index('<svg') :]}</figure>"


def table_of(figures: Sequence[SweepFigure]) -> str:
    """Return `figures` as a table of HTML."""
    heads = ("Input", "Figure", "Configuration", "Runs", "Mean", "±95%", "Change", "±95%")
    return table(heads, [figure_cells(each) for each in figures], shown=len(figures))


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


def _failures(summary: SweepSummary) -> str:
    rows = [(*each.run[1:], each.error) for each in summary.failed]
    return table(("Input", "Configuration", "Seed", "Error"), rows, shown=len(rows))


def all_values(summary: SweepSummary) -> str:
    """Return the values of all runs of `summary` as CSV, closed, and as a link that saves them."""
    lines = ["input,configuration,seed,figure,unit,value"]
    for run, figures, _ in summary.results:
        for name, unit, value in figures:
            lines.append(",".join(map(_quoted, (*run[1:], name, unit, value))))
    text = "\n".join(lines) + "\n"
    link = f"data:text/csv;base64,{b64encode(text.encode()).decode()}"
    return (
        f'<p><a download="values.csv" href="{link}">All values as CSV</a></p>'
        f"<details><summary>All values</summary><pre>{escape(text)}</pre></details>"
    )


def _quoted(value: Any) -> str:
    text = repr(value) if isinstance(value, float) else str(value)
    return '"{}"'.format(text.replace('"', '""')) if any(c in text for c in ',"\n') else text
