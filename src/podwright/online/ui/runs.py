"""The page of runs: list, show, download, delete."""

from __future__ import annotations

from html import escape
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from podwright.online.ui.dialogs import add_button, confirm, form, notify_done, notify_error
from podwright.online.ui.manifests import text_of
from podwright.online.ui.pass_through import PREFIX
from podwright.online.ui.server_requests import RejectedRequest, ServerRequests, may_send

_RUNS: Final = "/podwright/v1/runs"


async def add_runs(requests: ServerRequests) -> None:
    """Add the content of the page.

    Parameters
    ----------
    requests : ServerRequests
    """
    with ui.element("main").classes("pw-body"):
        ui.label("Runs").classes("pw-title")
        page = _Runs(requests, ui.column().classes("pw-section"))
    page.may_delete = await may_send(requests, "DELETE", f"{_RUNS}/run")
    await page.load()


class _Runs:
    def __init__(self, requests: ServerRequests, content: Any) -> None:
        self._requests = requests
        self._content = content
        self.may_delete = False

    async def load(self) -> None:
        """List the runs."""
        try:
            runs = (await self._requests.send("GET", _RUNS))["runs"]
        except RejectedRequest as error:
            self._content.clear()
            with self._content:
                ui.label(str(error)).classes("pw-problem")
            return
        self._content.clear()
        with self._content:
            if not runs:
                ui.label(
                    "The folder has no runs. “podwright simulate … --out FOLDER/NAME” writes one."
                ).classes("pw-muted")
                return
            self._add_table(runs)

    def _add_table(self, runs: list[Any]) -> None:
        # Those in which a run has something.
        columns = [key for key in runs[0] if key != "id" and any(run[key] for run in runs)]
        with ui.element("table").classes("pw-table"):
            with ui.element("thead"), ui.element("tr"):
                for title in ("Name", *map(_title, columns), ""):
                    with ui.element("th").props('scope="col"'):
                        ui.label(title)
            with ui.element("tbody"):
                for run in runs:
                    with ui.element("tr"):
                        self._add_row(run, columns)

    def _add_row(self, run: Any, columns: list[str]) -> None:
        name = str(run["id"])
        with ui.element("td"):
            ui.label(name).classes("pw-name")
        for column in columns:
            with ui.element("td"):
                ui.label(_cell(run[column]))

        async def show() -> None:
            await self._show(name)

        async def delete() -> None:
            await self._delete(name)

        with ui.element("td"), ui.row().classes("pw-row-actions"):
            if not run.get("problem"):
                ui.link("Open", f"/run?run={quote(name, safe='')}")
                ui.link("Compare", f"/run?run={quote(name, safe='')}&view=compare")
            add_button("Results", show)
            path = f"{PREFIX}{_RUNS}/{quote(name, safe='')}/download"
            ui.link("Download", path).props(f'download="{quote(name)}.tar"')
            if self.may_delete:
                add_button("Delete…", delete)

    async def _show(self, name: str) -> None:
        try:
            found = await self._requests.send("GET", f"{_RUNS}/{quote(name, safe='')}")
        except RejectedRequest as error:
            notify_error(str(error))
            return
        with form(f"Run {name}") as (dialog, actions):
            content = ui.element("div").classes("pw-scroll").props("tabindex=0")
            with content:
                element = f'<pw-results run="{escape(name)}"></pw-results>'
                ui.html(element, sanitize=False)
                with ui.element("details").classes("pw-plugin"):
                    with ui.element("summary"):
                        ui.label("Inputs and files")
                    ui.label(text_of(found | {"summary": None})).classes("pw-code")
        with actions:
            ui.space()
            add_button("Close", dialog.close)

    async def _delete(self, name: str) -> None:
        lines = ["The folder of the run is deleted."]
        if not await confirm(f"Delete the run {name}?", lines, "Delete"):
            return
        try:
            await self._requests.send("DELETE", f"{_RUNS}/{quote(name, safe='')}")
        except RejectedRequest as error:
            notify_error(str(error))
            return
        notify_done(f"Deleted the run {name}.")
        await self.load()


def _title(key: str) -> str:
    """Return the title of a column from a key in camel case."""
    return "".join(
        f" {letter.lower()}" if letter.isupper() else letter for letter in key
    ).capitalize()


def _cell(value: Any) -> str:
    """Return a value as text; times without the zeros of their fraction."""
    text = "" if value is None else f"{value:,g}" if isinstance(value, float) else str(value)
    if "." not in text or not text.endswith("Z"):
        return text
    return text.rstrip("Z").rstrip("0").rstrip(".") + "Z"
