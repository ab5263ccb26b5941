"""The page of the configuration: show, change, check, compare on the current pods, apply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from podwright.online.ui.dialogs import YamlEditor, add_button, notify_done, notify_error
from podwright.online.ui.manifests import (
    Document,
    InvalidText,
    LineError,
    errors_in,
    read_documents,
    text_of,
)
from podwright.online.ui.server_requests import Cause, RejectedRequest, ServerRequests, may_send

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
        """Compare where the current pods are placed."""
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


# What the page of the configuration shows: plugins with their settings, and a comparison.

ROWS_MAX: Final = 500
"""How many pods of a comparison are listed."""

_SCORES_SHOWN: Final = 3
_CHANGES: Final = {
    "moved": "moved",
    "newlyPending": "newly pending",
    "noLongerPending": "no longer pending",
    "nominatedElsewhere": "nominated elsewhere",
    "added": "added",
    "removed": "removed",
}


class ComparisonProgress:
    """How far a comparison is, the remaining time, and a button that ends it; hidden at first.

    Parameters
    ----------
    cancel : callable
    """

    def __init__(self, cancel: Callable[[], None]) -> None:
        with ui.row().classes("pw-tools") as row:
            self._row: Any = row
            self._bar: Any = ui.linear_progress(0, show_value=False).props("aria-label=Progress")
            self._text: Any = ui.label().classes("pw-muted").props("role=status")
            ui.space()
            add_button("Cancel", cancel)
        self.hide()

    def begin(self) -> None:
        """Show that a comparison runs."""
        self._row.visible = True
        self._text.text = "Comparing…"

    def show(self, done: int, total: int, elapsed_seconds: float) -> None:
        """Show how many decisions of at most `total` are made."""
        self._bar.value = done / total
        self._text.text = progress_text(done, total, elapsed_seconds)

    def hide(self) -> None:
        """Hide it: nothing is compared."""
        self._row.visible = False
        self._bar.value, self._text.text = 0, ""


def progress_text(done: int, total: int, elapsed_seconds: float) -> str:
    """Return how many decisions of at most `total` are made, and how long the others take."""
    left = round(elapsed_seconds / max(done, 1) * (total - done))
    minutes = f"{left // 60} min " if left >= 60 else ""
    return f"{done:,} of {total:,} decisions, about {minutes}{left % 60} s left"


def show_comparison(found: Any) -> None:
    """Add the result of a comparison.

    Parameters
    ----------
    found : object
        The reply of `/what-if`.
    """
    summary = found["summary"]
    ui.label("Comparison on the current pods").classes("pw-title")
    if not summary["different"]:
        ui.label(f"All {summary['pods']:,} pods have the same nodes.").classes("pw-muted")
        return
    used = found["nodes"]["used"]
    ui.label(
        f"{summary['different']:,} of {summary['pods']:,} pods differ; "
        f"{used['before']:,} nodes were used, {used['after']:,} would be."
    )
    rows = [
        (
            each["pod"],
            _CHANGES.get(each["change"], each["change"]),
            each["before"]["node"] or "<none>",
            each["after"]["node"] or "<none>",
            _reason(each),
        )
        for each in found["pods"][:ROWS_MAX]
    ]
    links = [f"/?pod={quote(each['pod'])}" for each in found["pods"][:ROWS_MAX]]
    add_table(("Pod", "Change", "Before", "After", "Because"), rows, links)
    if len(found["pods"]) > ROWS_MAX:
        ui.label(f"The first {ROWS_MAX} are listed.").classes("pw-muted")
    ui.label("Requested share").classes("pw-title")
    shares = [
        (each["resource"], *(f"{each[side]['share']:.1%}" for side in ("before", "after")))
        for each in found["resources"]
    ]
    add_table(("Resource", "Before", "After"), shares)


def show_plugins(plugins: list[Any]) -> None:
    """Add the plugins, the enabled ones first, each with its settings.

    Parameters
    ----------
    plugins : list
        The reply of `/plugins`.
    """
    ui.label("Plugins").classes("pw-title")
    for plugin in sorted(plugins, key=lambda each: not each["profiles"]):
        profiles = plugin["profiles"]
        weights = sorted({each["weight"] for each in profiles if each["weight"] is not None})
        notes = [] if profiles else ["not enabled"]
        notes += [f"weight {weight}" for weight in weights]
        notes += [] if plugin["hasEffect"] else ["no effect here"]
        notes += ["own plugin"] if plugin["origin"] == "own" else []
        with ui.element("details").classes("pw-plugin"):
            with ui.element("summary"):
                ui.label(plugin["name"]).classes("pw-name")
                ui.label(", ".join(notes)).classes("pw-muted")
            ui.label(plugin["summary"])
            ui.label(f"Extension points: {', '.join(plugin['points'])}").classes("pw-muted")
            for each in profiles:
                ui.label(f"In the profile {each['schedulerName']}: {', '.join(each['points'])}")
                if each["args"]:
                    ui.label(text_of(each["args"])).classes("pw-code")


def _reason(pod: Any) -> str:
    reasons = pod["reasons"] or {}
    found = reasons.get("after") or reasons.get("before")
    if not found:
        return ""
    scores = [f"{each['rule']} {each['weighted']:+}" for each in found["scores"][:_SCORES_SHOWN]]
    rule = found["rule"] or ("Score" if scores else found["kind"])
    why = ", ".join(scores or found["reasons"])
    follows = " (follows other pods)" if pod["followsOther"] else ""
    return f"{rule}: {why}{follows}" if why else f"{rule}{follows}"


# A small table of texts, with kubectl's columns.


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
