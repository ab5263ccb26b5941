"""What the page of the configuration shows: plugins with their settings, and a comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from podwright.online.ui.dialogs import add_button
from podwright.online.ui.manifests import text_of
from podwright.online.ui.tables import add_table

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
    ui.label("Comparison on the present pods").classes("pw-title")
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
