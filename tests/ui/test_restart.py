"""The server is killed and started again while its page is open."""

import pytest
from tests.ui.served import served, up

pytestmark = pytest.mark.ui

REASON = "does not answer"


def test_the_page_says_that_the_server_is_gone_and_goes_on(browser, tmp_path):
    folder = tmp_path / "cluster"
    with up(folder, "--demo", "--db", "cluster.db") as first:
        port = first.server.rpartition(":")[2]
        kubeconfig = str(folder / "podwright.kubeconfig")
        with (
            served(tmp_path / "page", "page", "--kubeconfig", kubeconfig, "--port", "0") as shown,
            browser.new_context() as context,
        ):
            page = context.new_page()
            resources = context.new_page()
            page.goto(shown.page)
            page.get_by_text("node-a").first.wait_for()
            resources.goto(f"{shown.page}/resources")
            resources.get_by_text("training").wait_for()
            first.kill()
            resources.get_by_text(REASON).wait_for()
            page.get_by_text("does not answer").or_(page.get_by_text("ended")).first.wait_for()
            with up(folder, "--db", "cluster.db", port=port):
                resources.get_by_text(REASON).wait_for(state="hidden", timeout=60_000)
                page.get_by_text("node-a").first.wait_for()
                page.get_by_text(REASON).wait_for(state="hidden", timeout=60_000)


def test_a_page_goes_on_when_its_own_process_starts_again(browser, tmp_path):
    with up(tmp_path, "--demo", "--db", "cluster.db") as first, browser.new_context() as context:
        port, page_port = (each.rpartition(":")[2] for each in (first.server, first.page))
        page = context.new_page()
        page.goto(f"{first.page}/resources?kind=nodes")
        page.get_by_text("node-a").wait_for()
        first.kill()
        page.get_by_text("The process of this page does not answer.").wait_for()
        with up(tmp_path, "--db", "cluster.db", port=port, page_port=page_port):
            page.get_by_text("does not answer").wait_for(state="hidden", timeout=60_000)
            page.get_by_text("node-a").wait_for()
