"""Each view says that it loads, that it has nothing, why it failed, and that the server is gone."""

import pytest
from playwright.sync_api import Route
from tests.ui.served import up

pytestmark = pytest.mark.ui

VIEWS = {
    "pending": ("/", "pw-pending", "**/queue/groups?*"),
    "pod": ("/?pod=default/training", "pw-pod", "**/api/v1/namespaces/default/pods?*"),
    "scores": ("/?pod=default/training", "pw-matrix:not([hidden])", "**view=matrix*"),
    "compare": ("/?view=compare&change=NodeResourcesFit:9", "pw-compare", "**/what-if"),
    "plan": ("/?view=plan&plan=question%3Dheadroom%26asked%3D1", "pw-plan", "**/capacity"),
    "usage": ("/?view=usage", "pw-usage", "**/timeline"),
    "queue": ("/queue", "pw-queue", "**/queue/groups?*"),
    "resources": ("/resources?kind=pods", "pw-resources", "**/api/v1/pods?*"),
    "object": ("/resources?kind=pods&object=default/training", "pw-object", "**/events?*"),
    "runs": ("/runs", "pw-runs", "**/server/podwright/v1/runs"),
}
"""The address of each view, its element, and the requests without which it shows nothing."""
WORK = {"compare", "plan"}
"""Views that show how far work is, in place of a text."""


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A cluster without nodes and pods."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "runs").mkdir()
    with up(folder / "cluster", "--runs", str(folder / "runs")) as served:
        yield served


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_says_that_it_loads_and_why_it_failed(new_context, demo, empty, view):
    served = empty if view == "runs" else demo  # which has no folder of runs
    path, element, pattern = VIEWS[view]
    page = new_context(viewport={"width": 1280, "height": 800}).new_page()
    held: list[Route] = []
    fails: list[bool] = []
    page.route(pattern, lambda route: route.abort() if fails else held.append(route))
    page.goto(served.page + path)
    shown = page.locator(element)
    if view in WORK:
        shown.get_by_role("progressbar").wait_for()
    else:
        shown.get_by_text("Loading…").first.wait_for()
    fails.append(True)
    for route in held:
        route.abort()
    shown.get_by_text("The process of this page does not answer").first.wait_for()


EMPTY = {
    "/": [
        ("pw-pending", "No pod waits for a node."),
        ("pw-nodes", "There are no nodes."),
        ("pw-pod", "Select a pod or a node"),
    ],
    "/?view=compare&change=NodeResourcesFit:9": [
        ("pw-comparison", "All 0 pods have the same place.")
    ],
    "/?view=usage": [("pw-usage", "Nothing is requested.")],
    "/queue": [("pw-queue", "No pod waits.")],
    "/resources?kind=pods": [("pw-resources", "There are no objects of kind Pod.")],
    "/runs": [("pw-runs", "The folder has no runs.")],
    "/sync": [("body", "No sync is connected to this cluster")],
}


@pytest.mark.parametrize("path", EMPTY)
def test_a_view_of_nothing_says_so(page, empty, path):
    page.goto(empty.page + path)
    for element, text in EMPTY[path]:
        page.locator(element).get_by_text(text, exact=False).first.wait_for()


def test_views_keep_what_they_have_while_the_server_is_gone(new_context, own_demo):
    page = new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(own_demo.page)
    page.locator("pw-pending").get_by_role("link", name="default/training").wait_for()
    page.locator("pw-nodes").get_by_role("link", name="database-0").wait_for()
    own_demo.process.kill()
    page.get_by_role("status").get_by_text("Not connected").wait_for()
    page.locator("pw-time").get_by_text("OFFLINE").wait_for()
    page.locator("pw-pending").get_by_role("link", name="default/training").wait_for()
    page.locator("pw-nodes").get_by_role("link", name="database-0").wait_for()
    assert page.locator("pw-pod").get_by_role("button", name="Apply").count() == 0


CONTENT = {
    "/queue": ("pw-queue", "default/training"),
    "/resources?kind=pods": ("pw-resources", "database-0"),
    "/resources?kind=pods&object=default/training": ("pw-object", "training"),
    "/?view=usage": ("pw-usage", "Requested share"),
    "/?view=plan": ("pw-plan", "The scheduler answers in a copy"),
    "/configuration": ("body", "NodeResourcesFit"),
}


def test_each_page_says_that_the_server_is_gone_and_keeps_its_content(new_context, own_demo):
    context = new_context(viewport={"width": 1280, "height": 800})
    pages = {}
    for path, (element, text) in CONTENT.items():
        pages[path] = context.new_page()
        pages[path].goto(own_demo.page + path)
        pages[path].locator(element).get_by_text(text).first.wait_for()
    own_demo.process.kill()
    for path, page in pages.items():
        element, text = CONTENT[path]
        page.locator("pw-time").get_by_text("OFFLINE").wait_for()
        page.locator(element).get_by_text(text).first.wait_for()
