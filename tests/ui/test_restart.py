"""The server is killed and started again while its page is open."""

import pytest
from tests.ui.served import served, up

pytestmark = pytest.mark.ui

REASON = "does not answer"


def test_the_page_says_that_the_server_is_gone_and_goes_on(new_context, tmp_path):
    folder = tmp_path / "cluster"
    context = new_context()
    with up(folder, "--demo", "--db", "cluster.db") as first:
        port = first.server.rpartition(":")[2]
        kubeconfig = str(folder / "podwright.kubeconfig")
        arguments = ("page", "--kubeconfig", kubeconfig, "--port", "0")
        with served(tmp_path / "page", *arguments) as shown:
            page = context.new_page()
            resources = context.new_page()
            page.goto(shown.page)
            page.get_by_text("node-a").first.wait_for()
            resources.goto(f"{shown.page}/resources")
            resources.get_by_text("training").wait_for()
            first.kill()
            resources.get_by_text(REASON).first.wait_for()
            page.get_by_text(REASON).or_(page.get_by_text("ended")).first.wait_for()
            with up(folder, "--db", "cluster.db", port=port):
                # Several elements may have met the error: the first that shows it, until none does.
                resources.get_by_text(REASON).first.wait_for(state="hidden")
                page.get_by_text("node-a").first.wait_for()
                page.get_by_text(REASON).first.wait_for(state="hidden")
                context.close()


def test_an_inspector_whose_explanation_failed_explains_when_the_server_answers(
    new_context, own_demo
):
    context = new_context()
    page = context.new_page()
    explanations = "**/pods/default/training/explanation**"
    reply = {"status": 502, "body": '{"message": "the server does not answer"}'}
    page.route(explanations, lambda route: route.fulfill(**reply))
    page.goto(f"{own_demo.page}/?pod=default/training")
    page.locator("pw-pod").get_by_role("alert").get_by_text(REASON).wait_for()
    page.unroute(explanations)
    page.locator("pw-pod").get_by_text("nodes are available").first.wait_for()
    context.close()


def test_a_page_goes_on_when_its_own_process_starts_again(new_context, tmp_path):
    context = new_context()
    with up(tmp_path, "--demo", "--db", "cluster.db") as first:
        port, page_port = (each.rpartition(":")[2] for each in (first.server, first.page))
        page = context.new_page()
        page.goto(f"{first.page}/resources?kind=nodes")
        page.get_by_text("node-a").wait_for()
        first.kill()
        page.get_by_text("The process of this page does not answer.").first.wait_for()
        with up(tmp_path, "--db", "cluster.db", port=port, page_port=page_port):
            page.get_by_text("does not answer").first.wait_for(state="hidden")
            page.get_by_text("node-a").wait_for()
            context.close()
