"""HTML of results, for notebooks and for reports: all text is escaped, nothing is referred to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Final

ROWS_SHOWN: Final = 10
"""The rows of a table that are shown; a line below it has the number of the others."""

_LEFT: Final = ' style="text-align:left"'
_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; display: block; overflow-x: auto; }
th, td { text-align: left; padding: 0.2rem 1rem 0.2rem 0; border-bottom: 1px solid #8884; }
div > strong { font-size: 1.2rem; }
figure { margin: 0; } figure svg { max-width: 100%; height: auto; } pre { overflow-x: auto; }
dl { display: grid; grid-template-columns: minmax(0, 14rem) minmax(0, 30rem); gap: 0.2rem 1rem; }
dl { margin: 0.5rem 0 1.5rem; font-size: 13px; }
dt { overflow-wrap: anywhere; } dd { margin: 0; padding-right: 6rem; white-space: nowrap; }
dd i { display: inline-block; height: 0.8em; margin-right: 0.4rem; background: #3b7dd8; }
"""


def page(title: str, findings: Iterable[str], parts: Iterable[str]) -> str:
    """Return a report that a browser opens without a server.

    Parameters
    ----------
    findings : iterable of str
        What comes first: sentences.
    parts : iterable of str
        Figures and tables, which are HTML already.
    """
    listed = "".join(f"<li>{escape(text)}</li>" for text in findings)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1><ul>{listed}</ul>"
        f"{''.join(parts)}</body></html>\n"
    )


def bars(title: str, counts: Mapping[str, float]) -> str:
    """Return a figure of horizontal bars, each with its name and its number; "" without any."""
    most = max(counts.values(), default=0) or 1
    shown = "".join(
        f"<dt>{escape(name or '<none>')}</dt>"
        f'<dd><i style="width:{100 * count / most:.1f}%"></i>{count:,}</dd>'
        for name, count in counts.items()
    )
    return section(title, f"<dl>{shown}</dl>") if counts else ""


def section(title: str, *parts: str) -> str:
    """Return a title and what belongs to it, which is HTML already."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def paragraphs(texts: Iterable[str]) -> str:
    """Return each text that is not empty as a paragraph."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def whole_table(title: str, heads: Sequence[str], rows: Collection[Sequence[object]]) -> str:
    """Return a table of all rows with a title; "" without rows."""
    return section(title, table(heads, rows, shown=len(rows))) if rows else ""


def table(
    heads: Sequence[str],
    rows: Collection[Sequence[object]],
    *,
    count: int | None = None,
    shown: int = ROWS_SHOWN,
) -> str:
    """Return a table of the first rows; "" without rows.

    Parameters
    ----------
    count : int, optional
        The number of all rows, if `rows` has the first ones only.
    shown : int
        How many rows are shown.
    """
    if not rows:
        return ""
    head = "".join(f"<th{_LEFT}>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in islice(rows, shown))
    more = (len(rows) if count is None else count) - shown
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def facts(pairs: Mapping[str, object]) -> str:
    """Return a table of names and values."""
    rows = "".join(
        f"<tr><th{_LEFT}>{escape(name)}</th>{_cells([value])}</tr>" for name, value in pairs.items()
    )
    return f"<table><tbody>{rows}</tbody></table>" if rows else ""


def _cells(values: Sequence[object]) -> str:
    texts = (f"{value:,}" if isinstance(value, int) else str(value) for value in values)
    return "".join(f"<td{_LEFT}>{escape(text)}</td>" for text in texts)
