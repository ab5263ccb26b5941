"""The views have no serious violations of accessibility rules, by axe-core."""

import pytest

pytestmark = pytest.mark.ui

VIEWS = {
    "pod": ("/?pod=default/training", "pw-pod .remedies"),
    "node": ("/?node=node-b&color=zone", "pw-node table"),
    "compare": ("/?view=compare&change=NodeResourcesFit:50", "pw-compare .results table"),
    "queue": ("/queue", "pw-queue table"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_no_serious_violations(page, demo, view, scheme):
    path, shown = VIEWS[view]
    page.emulate_media(color_scheme=scheme)
    page.goto(demo.page + path)
    page.locator(shown).first.wait_for()
    from axe_playwright_python.sync_playwright import Axe  # the file is collected without it

    found = Axe().run(page).response["violations"]
    serious = [
        (rule["id"], node["target"])
        for rule in found
        if rule["impact"] in {"serious", "critical"}
        for node in rule["nodes"]
    ]
    assert serious == []
