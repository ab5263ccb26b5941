"""The pages: their addresses, what is loaded for them, and that of a sync."""

import asyncio
import re
from types import SimpleNamespace

import pytest
from nicegui import ui

from podwright.online.ui import pages
from podwright.online.ui.tests.shown import SERVER, shown

SYNC = "/podwright/v1/sync"


@pytest.fixture
def opened(monkeypatch):
    """Open a page by its address; the content of the page, and what its head has."""
    added = {}

    def keep(path, **options):
        return lambda build: added.update({path: (build, options)})

    monkeypatch.setattr(ui, "page", keep)

    def open_page(path, replies=(), compared=None, **query):
        async def run():
            page_of_nicegui = ui.page
            monkeypatch.undo()
            async with shown(replies) as page:
                monkeypatch.setattr(ui, "page", page_of_nicegui)
                pages.add_pages(page.server.upstream, compared)
                result = added[path][0](**query)
                if result is not None:
                    await result
                await page.settle()
                html = "".join(each.content for each in page.all(ui.html))
                return page, html, page.client._head_html

        return asyncio.run(run())

    return SimpleNamespace(page=open_page, added=added)


@pytest.mark.parametrize(
    ("path", "title", "element"),
    [
        ("/", "Cluster", "pw-screen"),
        ("/queue", "Queue", "pw-queue"),
        ("/resources", "Resources", "pw-resources"),
        ("/run", "Runs", "pw-run"),
        ("/runs", "Runs", "pw-runs"),
        ("/sync", "Sync", "pw-bar"),
        ("/configuration", "Configuration", "pw-bar"),
    ],
)
def test_a_page_has_the_bar_its_element_and_their_modules(opened, path, title, element):
    page, html, head = opened.page(path)
    assert page.client.title == f"{title} · podwright"
    assert f'<pw-bar server="{SERVER}" current="{title}"></pw-bar>' in html
    assert re.search(f"<{element}[ >]", html)
    assert f'<script type="module" src="/pictures/elements/{element}.js">' in head
    assert f'<link rel="modulepreload" href="/pictures/elements/{element}.js">' in head
    assert '<link rel="stylesheet" href="/pictures/forms.css">' in head
    assert '<link rel="modulepreload" href="/pictures/parts/dom.js">' in head


@pytest.mark.parametrize(
    ("path", "started"),
    [
        ("/", "data/early_state"),
        ("/queue", "data/early_state"),
        ("/resources", "elements/pw-time"),
        ("/configuration", "elements/pw-comparison"),
        ("/configuration", "elements/pw-time"),
        ("/runs", "elements/pw-time"),
        ("/sync", "elements/pw-sync"),
        ("/sync", "elements/pw-time"),
    ],
)
def test_modules_that_a_page_starts_with_are_loaded(opened, path, started):
    _, _, head = opened.page(path)
    assert f'<script type="module" src="/pictures/{started}.js">' in head


def test_pages_that_ask_the_server_wait_for_a_busy_one(opened):
    opened.page("/")
    waits = {path for path, (_, options) in opened.added.items() if options}
    assert waits == {"/configuration", "/runs", "/sync"}
    assert {opened.added[path][1]["response_timeout"] for path in waits} == {60.0}


@pytest.mark.parametrize("has_other", [True, False])
def test_the_page_of_the_cluster_knows_the_server_to_compare_with(opened, has_other):
    class Other:
        server = 'http://a"b'

    _, _, head = opened.page("/", compared=Other() if has_other else None)
    assert ('<meta name="pw-compared" content="http://a&quot;b">' in head) is has_other


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        pytest.param((200, {"runs": []}), "", id="a folder of runs"),
        pytest.param((404, {"detail": 'no "runs"'}), "no &quot;runs&quot;", id="no folder"),
    ],
)
def test_the_page_of_runs_says_why_there_are_none(opened, reply, problem):
    _, html, _ = opened.page("/runs", {"GET /podwright/v1/runs": reply})
    assert f'<pw-runs problem="{problem}"></pw-runs>' in html


def test_the_page_of_the_configuration_is_about_the_scheduler_of_its_address(opened):
    page, _, _ = opened.page("/configuration", schedulerName="second")
    assert page.server.received[0][1] == "/podwright/v1/configuration?schedulerName=second"


def test_the_page_of_resources_has_its_dialogs(opened):
    page, _, _ = opened.page("/resources")
    types = {each.type for each in page.client.layout._event_listeners.values()}
    assert {"pwCreate", "pwEdit", "pwDelete", "pwImport", "pwReset"} <= types


def test_the_page_of_a_sync_has_what_the_server_says_of_it(opened):
    page, html, _ = opened.page("/sync", {f"GET {SYNC}": (200, {})})
    assert "<pw-sync></pw-sync>" in html
    page, html, _ = opened.page("/sync")
    assert page.texts("pw-title") == ["Sync"]
    assert "<pw-sync></pw-sync>" not in html


# --------------------------------------------------------------------------- sync


def syncing(*replies):
    """Return the page of the sync; the server has one reply after the other."""

    async def run():
        async with shown({f"GET {SYNC}": replies[0]}) as page:
            await pages.add_sync(page.requests)
            for reply in replies[1:]:
                page.server.replies[f"GET {SYNC}"] = reply
                await page.all(ui.timer)[0].callback()
            page.timers = [(each.interval, each.active) for each in page.all(ui.timer)]
            assert not any(each._immediate for each in page.all(ui.timer)), "it has looked"
            return page, [each.content for each in page.all(ui.html)]

    return asyncio.run(run())


MISSING = (404, {"detail": "There is no sync."})


def test_without_a_sync_the_page_says_how_one_is_started():
    page, elements = syncing(MISSING)
    assert page.texts("pw-title") == ["Sync"]
    assert page.texts("pw-code") == [
        "podwright sync --context CONTEXT --to podwright.kubeconfig",
        "podwright up --sync cluster:CONTEXT",
    ]
    assert page.texts()[-1] == "", "that there is none is not a problem"
    assert page.timers == [(2.0, True)]
    assert not elements


@pytest.mark.parametrize(
    "replies",
    [
        pytest.param([(200, {})], id="one runs"),
        pytest.param([MISSING, (200, {})], id="one is started while the page is open"),
    ],
)
def test_the_reports_of_a_sync_are_shown(replies):
    page, elements = syncing(*replies)
    assert elements == ["<pw-sync></pw-sync>"]
    assert not page.texts()
    assert page.timers == [(2.0, False)]


def test_another_problem_is_shown_until_it_is_gone():
    page, _ = syncing((403, {"detail": "not for you"}))
    assert page.texts()[-1] == "not for you"
    page, _ = syncing((403, {"detail": "not for you"}), MISSING)
    assert page.texts()[-1] == ""
