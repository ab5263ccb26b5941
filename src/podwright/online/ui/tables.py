"""A small table of texts, with kubectl's columns."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui


def add_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], links: Sequence[str] = ()
) -> None:
    """Add a table.

    Parameters
    ----------
    columns : sequence of str
        The titles.
    rows : sequence of sequences of str
        The texts of the cells.
    links : sequence of str
        The address of each row's first cell, if there are any.
    """
    with ui.element("table").classes("pw-table"):
        with ui.element("thead"), ui.element("tr"):
            for title in columns:
                with ui.element("th").props('scope="col"'):
                    ui.label(title)
        with ui.element("tbody"):
            for index, row in enumerate(rows):
                with ui.element("tr"):
                    for place, cell in enumerate(row):
                        with ui.element("td"):
                            if links and not place:
                                ui.link(cell, links[index])
                            else:
                                ui.label(cell)
