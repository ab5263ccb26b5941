"""The page of the sync that fills the cluster."""

from __future__ import annotations

from nicegui import ui

from podwright.online.ui.server_requests import RejectedRequest, ServerRequests

_SYNC = "/podwright/v1/sync"
_LOOK_SECONDS = 2.0
_NOT_FOUND = 404
_HOW = (
    (
        "No sync fills this cluster. A sync mirrors the nodes, volumes and pods of another cluster"
        " and only reads from it; new pods are scheduled here. Once it runs, this page shows how"
        " far behind it is and which pods are on different nodes.",
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
