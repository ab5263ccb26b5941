"""What the page of the configuration shows: plugins with their settings, and a comparison."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

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


def show_comparison(found: Any) -> None:
    """Add the result of a comparison.

    Parameters
    ----------
    found : object
        The reply of `/configuration/diff`.
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
