"""What all pages have: the top bar, the style, and the modules of the elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape

from nicegui import ui

from podwright.online.ui.bundle import imported


def add_frame(
    server: str, title: str, elements: Sequence[str] = (), starts: Sequence[str] = ()
) -> None:
    """Add the top bar to a page, and custom elements below it.

    Parameters
    ----------
    server : str
        The address of the server, as text.
    title : str
        The title of the page, which is also the link of the bar that is marked.
    elements : sequence of str
        The names of custom elements, each in a module of its name.
    starts : sequence of str
        The names of modules that run before there are elements.
    """
    ui.page_title(f"{title} · podwright")
    entries = (*starts, "pw-bar", *elements)
    modules = _preloads(entries) + "".join(
        f'<script type="module" src="/pictures/{name}.js"></script>' for name in entries
    )
    styles = "".join(
        f'<link rel="stylesheet" href="/pictures/{name}.css">' for name in ("base", "forms")
    )
    ui.add_head_html(styles + modules)
    bar = f'<pw-bar server="{escape(server)}" current="{escape(title)}"></pw-bar>'
    views = "".join(f"<{name}></{name}>" for name in elements)
    ui.html(bar + views, sanitize=False).classes("pw-frame")


@cache
def _preloads(entries: Sequence[str]) -> str:
    """Return links that let a browser load all modules at once, before it knows their imports."""
    names = dict.fromkeys(name for entry in entries for name in imported(entry))
    return "".join(f'<link rel="modulepreload" href="/pictures/{name}.js">' for name in names)
