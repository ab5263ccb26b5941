"""Chromium for the tests of the web page, and the clusters that they share."""

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright
from tests.ui.served import up

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTH, HEIGHT = 1280, 800
TIMEOUT_MS = 120_000
"""Long enough for a machine with other load."""

_left_out: list[pytest.Item] = []


def pytest_collection_modifyitems(config, items):
    """Leave out what needs Chromium where there is none."""
    if CHROMIUM is not None:
        return
    _left_out.extend(item for item in items if "browser" in item.fixturenames)
    items[:] = [item for item in items if item not in _left_out]
    config.hook.pytest_deselected(items=_left_out)


def pytest_terminal_summary(terminalreporter):
    """Print what was left out."""
    if _left_out:
        terminalreporter.write_line(
            f"Left out: {len(_left_out)} tests of the web page in a browser, because there is no "
            "chromium on PATH (apt-get install chromium)."
        )


@pytest.fixture(scope="module")
def browser():
    """Chromium for one module: its event loop counts as running as long as it is open.

    A process that goes on with tests of other modules could call `asyncio.run` in none of them.
    """
    with sync_playwright() as playwright:
        # Chromium has no sandbox for root, and tests show their own pages only.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """What pages have attempted and reported.

    Attributes
    ----------
    errors : list of str
        Messages of the console, and uncaught exceptions.
    foreign : list of str
        Addresses off loopback that were requested.
    """

    def __init__(self):
        self.errors = []
        self.foreign = []
        self._blocked = []

    def block(self, page, pattern):
        """Let requests of a page fail; the console's report of them is no error of the test."""
        self._blocked.append(pattern.removeprefix("**"))
        page.route(pattern, lambda route: route.abort())

    def guard(self, route):
        if urlsplit(route.request.url).hostname in {"127.0.0.1", "localhost", None}:
            route.continue_()
        else:
            self.foreign.append(route.request.url)
            route.abort()

    def follow(self, page):
        page.on("console", self._report)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _report(self, message):
        url = message.location.get("url", "")
        if message.type == "error" and not any(url.endswith(end) for end in self._blocked):
            self.errors.append(f"{message.text} {url}")


@pytest.fixture
def new_context(browser):
    """Open new profiles of the browser whose errors and requests are not followed."""
    opened = []

    def open_context(**options):
        context = browser.new_context(**options)
        context.set_default_timeout(TIMEOUT_MS)
        opened.append(context)
        return context

    yield open_context
    for context in opened:
        context.close()


@pytest.fixture
def watched():
    return Watched()


@pytest.fixture
def context(browser, watched, request):
    """A new profile of the browser; fails the test on errors and on requests off loopback."""
    if "own_demo" in request.fixturenames:
        request.getfixturevalue("own_demo")  # so that it ends after the browser's pages
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    context.set_default_timeout(TIMEOUT_MS)
    context.route("**/*", watched.guard)
    yield context
    context.close()
    assert not watched.foreign
    assert not watched.errors


@pytest.fixture
def page(context, watched):
    page = context.new_page()
    watched.follow(page)
    return page


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The example cluster, for tests that do not change it."""
    with up(tmp_path_factory.mktemp("demo"), "--demo") as running:
        yield running


@pytest.fixture
def own_demo(tmp_path):
    """An example cluster of its own for each test."""
    with up(tmp_path, "--demo") as running:
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Keep a picture of a page whose test failed, if PODWRIGHT_SCREENSHOTS names a folder."""
    report = yield
    folder = os.environ.get("PODWRIGHT_SCREENSHOTS")
    if folder and report.failed and call.when == "call" and "page" in item.funcargs:
        item.funcargs["page"].screenshot(path=Path(folder) / f"{item.name}.png")
    return report
