"""The shell of the page in a browser."""

import pytest

pytestmark = pytest.mark.ui


def test_the_page_opens_and_shows_the_server(page, demo):
    page.goto(demo.page)
    page.get_by_role("link", name="Cluster").wait_for()
    assert page.locator("pw-bar .server").text_content() == demo.server.removeprefix("http://")
    assert page.title() == "Cluster · podwright"


def test_the_theme_is_kept(page, demo):
    page.goto(demo.page)
    button = page.get_by_role("button", name="system")
    button.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.get_by_role("button", name="light").click()
    page.reload()
    page.get_by_role("button", name="dark").wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


NARROW = {"width": 390, "height": 844}
WIDTHS = (390, 768, 1024, 1440, 1920)
ADDRESSES = (
    "/", "/?pod=default/training", "/?node=node-b", "/?view=compare", "/?view=plan",
    "/?view=usage", "/queue", "/resources?kind=pods", "/configuration", "/runs", "/sync",
)  # fmt: skip
OUTSIDE = """(width) => {
  const found = [];
  const look = (root) => root.querySelectorAll("*").forEach((element) => {
    if (element.shadowRoot) look(element.shadowRoot);
    if (!element.matches("button, input, select, a[href], h1, h2, .track")) return;
    const { left, right, width: own } = element.getBoundingClientRect();
    let holder = element;
    // What is in a part that scrolls is reached there.
    while (holder && !["auto", "scroll"].includes(getComputedStyle(holder).overflowX))
      holder = holder.parentElement ?? holder.getRootNode().host;
    if (own && !holder && (left < -1 || right > width + 1)) found.push(element.outerHTML);
  });
  look(document);
  return found;
}"""

OVERLAPPING = """() => {
  const bar = document.querySelector("pw-bar").shadowRoot;
  const parts = [...bar.querySelectorAll("button, .server, nav"),
    ...bar.querySelector("pw-time").shadowRoot.querySelectorAll("button, select, .track, .badge")];
  const boxes = parts.map((part) => part.getBoundingClientRect()).filter(({ width }) => width);
  const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return boxes.flatMap((box, at) => boxes.slice(at + 1).filter((other) => overlap(box, other)))
    .length;
}"""


@pytest.mark.parametrize("path", ADDRESSES)
def test_a_page_fits_each_window_with_its_navigation_and_time(page, demo, path):
    page.goto(demo.page + path)
    page.locator("pw-time").get_by_text("LIVE", exact=True).wait_for()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(OUTSIDE, width) == []
        assert page.evaluate(OVERLAPPING) == 0
        page.get_by_role("link", name="Cluster", exact=True).wait_for()
        assert page.locator("pw-time .track").bounding_box()["width"] >= 40


def test_a_telephone_shows_one_part_of_the_cluster_at_a_time(page, demo):
    page.set_viewport_size(NARROW)
    page.goto(demo.page)
    page.locator("pw-pending").get_by_role("link", name="default/training").click()
    page.locator("pw-pod").get_by_role("heading", name="default/training").wait_for()
    page.locator("pw-pending").wait_for(state="hidden")
    page.get_by_role("button", name="Nodes", exact=True).click()
    page.locator("pw-nodes").get_by_role("link", name="database-0").click()
    page.locator("pw-pod").get_by_role("heading", name="default/database-0").wait_for()


def test_the_palette_goes_to_a_kind(page, demo):
    page.goto(demo.page)
    page.locator("pw-pending").get_by_role("link", name="default/training").wait_for()
    page.keyboard.press(":")
    page.get_by_label("Page or kind").wait_for()
    page.keyboard.type("deploy default")
    page.get_by_role("option", name="Deployment", exact=False).first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/resources?kind=deployments.apps&namespace=default")
    page.locator("pw-resources .line", has_text="web").wait_for()


def test_the_first_steps_are_done_one_by_one_and_can_be_left(own_demo, page):
    page.goto(own_demo.page)
    steps = page.locator("pw-steps")
    current = steps.locator("[aria-current=step]")
    current.get_by_text("Why is a pod pending?").wait_for()
    page.locator("pw-pending").get_by_role("link", name="default/training").click()
    current.get_by_text("What would fix it?").wait_for()
    page.locator("pw-pod").get_by_role("button", name="Apply", exact=True).first.click()
    current.get_by_text("Why there?").wait_for()
    page.locator("pw-nodes").get_by_role("link", name="database-0").click()
    current.get_by_text("Go back in time").wait_for()
    page.locator("pw-time .track").press("ArrowLeft")
    current.get_by_text("Change a weight").wait_for()
    page.keyboard.press("l")
    page.keyboard.press("c")
    steps.get_by_text("Create your own pods").wait_for()
    steps.get_by_role("button", name="Close").click()
    page.reload()
    page.locator("pw-pending").get_by_text("No pod waits").wait_for()
    steps.wait_for(state="hidden")
