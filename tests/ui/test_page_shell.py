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
