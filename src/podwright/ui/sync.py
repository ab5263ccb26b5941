"""The page of the sync that fills the cluster."""

from __future__ import annotations

from nicegui import ui

from podwright.ui.server_requests import RejectedRequest, ServerRequests

_SYNC = "/podwright/v1/sync"
_LOOK_SECONDS = 2.0


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
            problem.set_text(str(error))
            return False
        timer.deactivate()
        content.clear()
        with content:
            ui.html("<pw-sync></pw-sync>", sanitize=False)
        return True

    with content, ui.element("main").classes("pw-body"):
        ui.label("Sync").classes("pw-title")
        ui.label(
            "No sync fills this cluster. “podwright sync --to ADDRESS” and “podwright up --sync” "
            "follow a real cluster, and report here."
        ).classes("pw-muted")
        problem = ui.label("").classes("pw-muted")
    timer = ui.timer(_LOOK_SECONDS, look, immediate=False)
    await look()
