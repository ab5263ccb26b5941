"""The page of the configuration: show, change, check, compare on the current pods, apply."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec
from nicegui import ui

from podwright.online.ui.dialogs import YamlEditor, add_button, notify_done, notify_error
from podwright.online.ui.manifests import (
    Document,
    InvalidText,
    LineError,
    errors_in,
    read_document,
    text_of,
)
from podwright.online.ui.server_requests import Cause, RejectedRequest, ServerRequests, may_send

_ROOT: Final = "/podwright/v1"
_CONFIGURATION: Final = f"{_ROOT}/configuration"
_COMPARE: Final = "document.querySelector('pw-comparison').compare({body})"


async def add_configuration(requests: ServerRequests, scheduler: str) -> None:
    """Add the content of the page.

    Parameters
    ----------
    requests : ServerRequests
    scheduler : str
        The schedulerName that the address has; empty for the first scheduler.
    """
    try:
        found = await requests.send("GET", _CONFIGURATION + _query(scheduler))
        schedulers = (await requests.send("GET", f"{_ROOT}/schedulers"))["schedulers"]
        plugins = (await requests.send("GET", f"{_ROOT}/plugins{_query(scheduler)}"))["plugins"]
        may_apply = await may_send(requests, "PUT", _CONFIGURATION)
    except RejectedRequest as error:
        with ui.element("main").classes("pw-body"):
            ui.label(str(error)).classes("pw-problem")
            ui.label("Reload the page to try again.").classes("pw-muted")
        return
    names = [name for each in schedulers for name in each["schedulerNames"]]
    page = _Configuration(requests, scheduler, found)
    with ui.element("main").classes("pw-halves"):
        with ui.column().classes("pw-half"):
            with ui.row().classes("pw-tools"):
                ui.label("Configuration").classes("pw-title")
                if len(names) > 1:
                    choice = ui.select(names, value=scheduler or names[0], label="Scheduler")
                    choice.props("dense outlined options-dense").on_value_change(
                        lambda event: ui.navigate.to(f"/configuration{_query(event.value)}")
                    )
                ui.space()
                add_button("As written", page.show_written)
                add_button("With defaults", page.show_effective)
            page.editor = YamlEditor(text_of(found["written"]), completes=False)
            with ui.row().classes("pw-tools"):
                page.reschedule = ui.checkbox("Schedule all pods again", value=True)
                page.reschedule.tooltip("Otherwise only pods that have no node")
                ui.space()
                add_button("Check", page.check)
                add_button("Compare", page.compare)
                if may_apply:
                    add_button("Apply", page.apply, is_primary=True)
        with ui.column().classes("pw-half pw-scroll"):
            ui.html("<pw-comparison hidden></pw-comparison>", sanitize=False).style("width: 100%")
            page.plugins = ui.column().classes("pw-section")
    page.show_warnings(found["warnings"])
    with page.plugins:
        show_plugins(plugins)


class _Configuration:
    editor: YamlEditor
    reschedule: Any
    plugins: Any

    def __init__(self, requests: ServerRequests, scheduler: str, found: Any) -> None:
        self._requests = requests
        self._scheduler = scheduler
        self._query = _query(scheduler)
        self._found = found

    def show_written(self) -> None:
        """Show the configuration as it was written."""
        self.editor.code.value = text_of(self._found["written"])
        self.editor.show([])

    def show_effective(self) -> None:
        """Show the configuration with all defaults."""
        self.editor.code.value = text_of(self._found["effective"])
        self.editor.show([])

    def show_warnings(self, warnings: list[str]) -> None:
        """List settings that have no effect."""
        self.editor.show([LineError(0, f"No effect: {warning}") for warning in warnings])

    async def check(self) -> None:
        """Check the text, and mark its errors."""
        if await self._checked() is not None:
            notify_done("The configuration is valid. Nothing has been changed.")

    async def _checked(self) -> Document | None:
        """Return the text if it is valid; else its errors are marked."""
        document = self._document()
        if document is None:
            return None
        path = f"{_CONFIGURATION}/check{self._query}"
        found = await self._send("POST", path, document, document.value)
        if found is None:
            return None
        causes = [Cause(_text(each), each.get("field") or "") for each in found["errors"]]
        if causes:
            self.editor.show(errors_in(document, causes))
            return None
        self.show_warnings(found["warnings"])
        return document

    async def compare(self) -> None:
        """Compare where the current pods are placed."""
        client: Any = ui.context.client
        document = await self._checked()
        if document is None:
            return
        body = {
            "configuration": document.value,
            "reschedule": bool(self.reschedule.value),
            "schedulerName": self._scheduler,
        }
        client.run_javascript(_COMPARE.format(body=msgspec.json.encode(body).decode()))

    async def apply(self) -> None:
        """Replace the configuration of the running scheduler."""
        document = self._document()
        if document is None:
            return
        path = _CONFIGURATION + self._query
        found = await self._send("PUT", path, document, document.value)
        if found is None:
            return
        self._found = found
        self.show_warnings(found["warnings"])
        try:
            plugins = await self._requests.send("GET", f"{_ROOT}/plugins{self._query}")
        except RejectedRequest as error:
            notify_error(str(error))
        else:
            # Before the message: what a user opens after it is not replaced.
            self.plugins.clear()
            with self.plugins:
                show_plugins(plugins["plugins"])
        notify_done("The scheduler runs with this configuration.")

    def _document(self) -> Document | None:
        try:
            return read_document(self.editor.text, "There can be one configuration.")
        except InvalidText as error:
            self.editor.show([error.error])
            return None

    async def _send(self, method: str, path: str, document: Document, body: Any) -> Any:
        try:
            return await self._requests.send(method, path, body)
        except RejectedRequest as error:
            self.editor.show(errors_in(document, error.causes))
            return None


def _text(problem: dict[str, str]) -> str:
    field = problem.get("field")
    return f"{field}: {problem['detail']}" if field else problem["detail"]


def _query(scheduler: str) -> str:
    return f"?schedulerName={quote(scheduler, safe='')}" if scheduler else ""


def show_plugins(plugins: list[Any]) -> None:
    """Add the plugins, the enabled ones first, each with its settings.

    Parameters
    ----------
    plugins : list
        The reply of `/plugins`.
    """
    ui.label("Plugins").classes("pw-title")
    for plugin in sorted(plugins, key=lambda each: not each["profiles"]):
        profiles, summary = plugin["profiles"], plugin["summary"].replace("`", "")
        weights = sorted({each["weight"] for each in profiles if each["weight"] is not None})
        notes = [] if profiles else ["not enabled"]
        notes += [f"weight {weight}" for weight in weights]
        notes += ["own plugin"] if plugin["origin"] == "own" else []
        with ui.element("details").classes("pw-plugin"):
            with ui.element("summary"):
                ui.label(plugin["name"]).classes("pw-name")
                ui.label(", ".join(notes)).classes("pw-muted")
                ui.label(summary).classes("pw-muted pw-summary")
            ui.label(summary)
            ui.label(f"Extension points: {', '.join(plugin['points'])}").classes("pw-muted")
            for each in profiles:
                ui.label(f"In the profile {each['schedulerName']}: {', '.join(each['points'])}")
                if each["args"]:
                    ui.label(text_of(each["args"])).classes("pw-code")
