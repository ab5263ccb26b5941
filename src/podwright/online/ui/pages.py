"""The pages and their addresses, that of the sync which fills the cluster included."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Final

from nicegui import ui

from podwright.online.ui.bundle import imported
from podwright.online.ui.configuration import add_configuration
from podwright.online.ui.resources import add_resources
from podwright.online.ui.server_requests import RejectedRequest, ServerRequests
from podwright.online.ui.upstream import Upstream

SERVER_SECONDS_MAX: Final = 60.0
"""How long a page waits for the server. After NiceGUI's 3 s a busy one was an error 500."""


def add_pages(upstream: Upstream, compared: Upstream | None = None) -> None:
    """Add all pages to NiceGUI.

    Parameters
    ----------
    upstream : Upstream
        The server that the pages show.
    compared : Upstream, optional
        The one with which the page Cluster compares it.
    """

    def cluster() -> None:
        add_frame(upstream.server, "Cluster", elements=("pw-screen",), starts=("data/early_state",))
        if compared is not None:
            address = escape(compared.server)
            ui.add_head_html(f'<meta name="pw-compared" content="{address}">')

    def queue() -> None:
        add_frame(upstream.server, "Queue", elements=("pw-queue",), starts=("data/early_state",))

    requests = ServerRequests(upstream)

    def resources() -> None:
        add_frame(
            upstream.server, "Resources", elements=("pw-resources",), starts=("elements/pw-time",)
        )
        add_resources(requests)

    async def configuration(schedulerName: str = "") -> None:  # noqa: N803 - of the address
        add_frame(
            upstream.server,
            "Configuration",
            starts=("elements/pw-time", "elements/pw-comparison"),
        )
        await add_configuration(requests, schedulerName)

    async def runs() -> None:
        add_frame(upstream.server, "Runs", starts=("elements/pw-time", "elements/pw-runs"))
        # Without a folder the element would get a reply that browsers report as an error.
        try:
            await requests.send("GET", "/podwright/v1/runs")
            problem = ""
        except RejectedRequest as error:
            problem = escape(str(error))
        ui.html(f'<pw-runs problem="{problem}"></pw-runs>', sanitize=False)

    def run() -> None:
        add_frame(upstream.server, "Runs", elements=("pw-run",))

    async def sync() -> None:
        add_frame(upstream.server, "Sync", starts=("elements/pw-sync", "elements/pw-time"))
        await add_sync(requests)

    ui.page("/")(cluster)
    ui.page("/queue")(queue)
    ui.page("/configuration", response_timeout=SERVER_SECONDS_MAX)(configuration)
    ui.page("/run")(run)
    ui.page("/runs", response_timeout=SERVER_SECONDS_MAX)(runs)
    ui.page("/sync", response_timeout=SERVER_SECONDS_MAX)(sync)
    ui.page("/resources")(resources)


# What all pages have: the top bar, the style, and the modules of the elements.


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
        The paths below `pictures` of modules that run before there are elements.
    """
    ui.page_title(f"{title} · podwright")
    entries = (*starts, *(f"elements/{name}" for name in ("pw-bar", *elements)))
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


# ------------------------------------------------------------------------------------------- sync

_SYNC = "/podwright/v1/sync"
_LOOK_SECONDS = 2.0
_NOT_FOUND = 404
_HOW = (
    (
        "No sync is connected to this cluster. A sync mirrors the nodes, volumes and pods of"
        " another cluster and only reads from it; new pods are scheduled here. Once it runs, this"
        " page shows how far behind it is and which pods are on different nodes.",
        "",
    ),
    (
        "To start one, name the context of the other cluster, and the kubeconfig that podwright up"
        " wrote for this one:",
        "podwright sync --context CONTEXT --to podwright.kubeconfig",
    ),
    ("Or start the server with it:", "podwright up --sync cluster:CONTEXT"),
)
"""How a sync is started: texts, each with its command."""


async def add_sync(requests: ServerRequests) -> None:
    """Add the content of the page: the element if a sync has reported, else what to do.

    The element reads the reports by itself. Until there is one this process asks, since a browser
    reports each reply of status 404 as an error.

    Parameters
    ----------
    requests : ServerRequests
    """
    content = ui.element("div").style("width: 100%")

    async def look() -> bool:
        try:
            await requests.send("GET", _SYNC)
        except RejectedRequest as error:
            problem.set_text("" if error.status == _NOT_FOUND else str(error))
            return False
        timer.deactivate()
        content.clear()
        with content:
            ui.html("<pw-sync></pw-sync>", sanitize=False)
        return True

    with content, ui.element("main").classes("pw-body"):
        ui.label("Sync").classes("pw-title")
        for text, command in _HOW:
            ui.label(text).classes("pw-muted")
            if command:
                ui.label(command).classes("pw-code").style("max-width: 720px")
        problem = ui.label("").classes("pw-muted")
    timer = ui.timer(_LOOK_SECONDS, look, immediate=False)
    await look()
