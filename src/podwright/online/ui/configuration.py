"""The page of the configuration: show, change, check, compare on the present pods, apply."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from podwright.online.ui.access import may_send
from podwright.online.ui.configuration_views import (
    ComparisonProgress,
    show_comparison,
    show_plugins,
)
from podwright.online.ui.dialogs import add_button, notify_done, notify_error
from podwright.online.ui.editor import YamlEditor
from podwright.online.ui.manifests import (
    Document,
    InvalidText,
    LineError,
    errors_in,
    read_documents,
    text_of,
)
from podwright.online.ui.server_requests import Cause, RejectedRequest, ServerRequests

_ROOT: Final = "/podwright/v1"
_CONFIGURATION: Final = f"{_ROOT}/configuration"


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
                page.compares = add_button("Compare", page.compare)
                if may_apply:
                    add_button("Apply", page.apply, is_primary=True)
            page.progress = ComparisonProgress(page.cancel)
        with ui.column().classes("pw-half pw-scroll"):
            page.comparison = ui.column().classes("pw-section")
            page.plugins = ui.column().classes("pw-section")
    ui.context.client.on_delete(page.cancel)  # the server ends a comparison without a reader
    page.show_warnings(found["warnings"])
    with page.plugins:
        show_plugins(plugins)


class _Configuration:
    editor: YamlEditor
    reschedule: Any
    comparison: Any
    plugins: Any
    compares: Any
    progress: ComparisonProgress

    def __init__(self, requests: ServerRequests, scheduler: str, found: Any) -> None:
        self._requests = requests
        self._scheduler = scheduler
        self._running: asyncio.Task[Any] | None = None
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

    async def check(self) -> bool:
        """Check the text, and mark its errors; return whether it is valid."""
        document = self._document()
        if document is None:
            return False
        path = f"{_CONFIGURATION}/check{self._query}"
        found = await self._send("POST", path, document, document.value)
        if found is None:
            return False
        causes = [Cause(_text(each), each.get("field") or "") for each in found["errors"]]
        if causes:
            self.editor.show(errors_in(document, causes))
            return False
        self.show_warnings(found["warnings"])
        notify_done("The configuration is valid. Nothing has been changed.")
        return True

    async def compare(self) -> None:
        """Compare where the present pods are placed."""
        document = self._document()
        if document is None:
            return
        body = {
            "configuration": document.value,
            "reschedule": bool(self.reschedule.value),
            "schedulerName": self._scheduler,
            "progress": True,
        }
        self.compares.disable()
        self.progress.begin()
        self._running = asyncio.create_task(self._compared(body))
        try:
            found = await self._running
        except RejectedRequest as error:
            self._show_rejection(error, document, prefix="configuration")
            return
        except asyncio.CancelledError:
            return
        finally:
            self.progress.hide()
            self.compares.enable()
        self.editor.show([])
        self.comparison.clear()
        with self.comparison:
            show_comparison(found)

    async def _compared(self, body: dict[str, Any]) -> Any:
        """Return the comparison; its progress is shown."""
        began, found = time.monotonic(), None
        async for line in self._requests.lines(f"{_ROOT}/what-if", body):
            found = line
            if "total" in line:
                self.progress.show(line["done"], line["total"], time.monotonic() - began)
        if found is None or "summary" not in found:
            raise RejectedRequest((Cause("The reply broke off."),))
        return found

    def cancel(self) -> None:
        """End the comparison that runs."""
        if self._running is not None:
            self._running.cancel()

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
        self.comparison.clear()
        notify_done("The scheduler runs with this configuration.")
        try:
            plugins = await self._requests.send("GET", f"{_ROOT}/plugins{self._query}")
        except RejectedRequest as error:
            notify_error(str(error))
            return
        self.plugins.clear()
        with self.plugins:
            show_plugins(plugins["plugins"])

    def _document(self) -> Document | None:
        try:
            documents = read_documents(self.editor.text)
        except InvalidText as error:
            self.editor.show([error.error])
            return None
        if len(documents) > 1:
            message = "There can be one configuration."
            self.editor.show([LineError(documents[1].line, message)])
            return None
        return documents[0]

    async def _send(self, method: str, path: str, document: Document, body: Any) -> Any:
        try:
            return await self._requests.send(method, path, body)
        except RejectedRequest as error:
            self._show_rejection(error, document)
            return None

    def _show_rejection(
        self, error: RejectedRequest, document: Document, *, prefix: str = ""
    ) -> None:
        """Show the reasons at their lines; `prefix` precedes their fields."""
        causes = [
            Cause(each.message, each.field.removeprefix(f"{prefix}.")) for each in error.causes
        ]
        self.editor.show(errors_in(document, causes))


def _text(problem: dict[str, str]) -> str:
    field = problem.get("field")
    return f"{field}: {problem['detail']}" if field else problem["detail"]


def _query(scheduler: str) -> str:
    return f"?schedulerName={quote(scheduler, safe='')}" if scheduler else ""
