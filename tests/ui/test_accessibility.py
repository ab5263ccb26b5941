"""The views and the dialogs have no serious violations of accessibility rules, by axe-core."""

import pytest

pytestmark = pytest.mark.ui

VIEWS = {
    "pod": ("/?pod=default/training", "pw-pod .remedies"),
    "scores": ("/?pod=default/database-0&value=filters", "pw-matrix .line"),
    "node": ("/?node=node-b&color=zone", "pw-node table"),
    "compare": ("/?view=compare&change=NodeResourcesFit:50", "pw-comparison table"),
    "plan": ("/?view=plan&plan=question%3Dloss%26asked%3D1", "pw-plan .answer li"),
    "usage": ("/?view=usage", "pw-curves canvas"),
    "queue": ("/queue", "pw-queue table"),
    "resources": ("/resources?kind=pods", "pw-resources .line"),
    "configuration": ("/configuration", ".cm-content[aria-label]"),
    "object": ("/resources?kind=pods&object=default/training", "pw-object td"),
    "runs": ("/runs", "pw-runs .error"),
    "sync": ("/sync", "text=No sync is connected to this cluster"),
}
DIALOGS = {
    "help": ("/", "Help: keyboard", "dialog[open]"),
    "new cluster": ("/", "New cluster", "dialog[open]"),
    "create": ("/resources?kind=pods", "Create…", ".q-dialog .cm-content[aria-label]"),
    "import": ("/resources?kind=pods", "Import…", ".q-dialog .q-card"),
    "reset": ("/resources?kind=pods", "Reset…", ".q-dialog .q-card"),
}
INSIDE_QUASAR = {
    "aria-command-name": ".q-btn--dense",
    "label": ".q-uploader__input",
    "nested-interactive": ".q-btn--dense",
}
"""Rules that the button of Quasar's uploader violates, with its selector; a click in it opens the
browser's own choice of files."""
TEXT_OF_BUTTON = '<span class="block">'
"""Axe takes the page behind a dialog of Quasar for what the texts of its buttons are on; the pages
have the same buttons, whose colors are compared there."""

MOVES_NO_MORE = """() => !document.querySelector('[class*="-enter-"], [class*="-leave-"]')"""
"""Vue marks what appears or disappears with such classes, from before its first frame."""


def serious_violations(page):
    # Quasar's dialogs move while they open, and axe takes colors from the place of a text.
    page.wait_for_function(MOVES_NO_MORE)
    is_dialog = page.locator(".q-dialog").count() > 0
    from axe_playwright_python.sync_playwright import Axe  # the file is collected without it

    return [
        (rule["id"], node["target"])
        for rule in Axe().run(page).response["violations"]
        if rule["impact"] in {"serious", "critical"}
        for node in rule["nodes"]
        if node["target"] != [INSIDE_QUASAR.get(rule["id"])]
        and not (is_dialog and rule["id"] == "color-contrast" and TEXT_OF_BUTTON in node["html"])
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_no_serious_violations(page, demo, view, scheme):
    path, shown = VIEWS[view]
    page.emulate_media(color_scheme=scheme)
    page.goto(demo.page + path)
    page.locator(shown).first.wait_for()
    assert serious_violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("dialog", DIALOGS)
def test_a_dialog_has_no_serious_violations(page, demo, dialog, scheme):
    path, button, shown = DIALOGS[dialog]
    page.emulate_media(color_scheme=scheme)
    page.goto(demo.page + path)
    page.get_by_role("button", name=button).click()
    page.locator(shown).first.wait_for()
    page.add_style_tag(content=".q-dialog__backdrop { display: none }")
    assert serious_violations(page) == []
