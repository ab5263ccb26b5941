"""HTML of results for notebooks: short tables in which all text is escaped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Final

ROWS_SHOWN: Final = 10
"""The rows of a table that are shown; a line below it has the number of the others."""

_LEFT: Final = ' style="text-align:left"'


def section(title: str, *parts: str) -> str:
    """Return a title and what belongs to it, which is HTML already."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def paragraphs(texts: Iterable[str]) -> str:
    """Return each text that is not empty as a paragraph."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


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
