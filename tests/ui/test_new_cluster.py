"""A manifest that is pasted and a file that is dropped become a cluster of their own."""

import re

import pytest
from tests.ui.requests import request
from tests.ui.test_page_process import is_listening, status_of
from tests.waiting import until

pytestmark = pytest.mark.ui

POD = """
apiVersion: v1
kind: Pod
metadata: {name: pasted}
spec: {containers: [{name: main, image: app, resources: {requests: {cpu: "1"}}}]}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: own}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}, capacity: {cpu: "4", memory: 8Gi}}
"""
DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name));
  const options = { dataTransfer: files, bubbles: true, composed: true, cancelable: true };
  for (const type of text === null ? ["dragover", "dragleave"] : ["dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(type, options));
}"""


def test_a_pasted_manifest_is_opened_in_a_new_cluster(page, own_demo):
    page.goto(own_demo.page)
    page.get_by_role("button", name="New cluster").click()
    dialog = page.get_by_role("dialog", name="New cluster")
    assert dialog.get_by_role("button", name="Open").is_disabled()
    dialog.get_by_label("Manifests").fill("---".join([POD.replace("Pod", "Pot")] * 20))
    dialog.get_by_role("button", name="Open").click()
    problem = dialog.get_by_role("alert").get_by_text("Pot")
    problem.wait_for()
    assert re.search(r"document 1 .*\nand \d+ more lines$", problem.inner_text(), re.DOTALL)
    dialog.get_by_label("Manifests").fill(POD)
    dialog.get_by_role("button", name="Open").click()
    page.wait_for_url(lambda url: not url.startswith(own_demo.page))
    new = page.url.rstrip("/")
    page.locator("pw-nodes").get_by_text("3 nodes").wait_for()
    page.locator("pw-nodes").get_by_role("link", name="pasted").wait_for()
    assert request(own_demo, "GET", "/api/v1/nodes")["items"][0]["metadata"]["name"] == "node-a"
    page.goto("about:blank")
    own_demo.stop()
    until(lambda: not is_listening(new.partition("?")[0]))


def test_a_dropped_file_is_opened_as_it_is(page, own_demo):
    page.goto(own_demo.page)
    page.locator("pw-pending").get_by_role("link", name="default/training").wait_for()
    dialog = page.get_by_role("dialog", name="New cluster")
    page.evaluate(DROP, ["passes over the page", None])
    assert not dialog.is_visible()
    page.evaluate(DROP, ["имя.yaml", POD.replace("Pod", "Pot")])
    dialog.get_by_role("button", name="Open").click()
    dialog.get_by_role("alert").get_by_text("Pot").wait_for()
    page.evaluate(DROP, [".a dump.yaml", f"{NODE}---{POD}"])
    dialog.get_by_text(".a dump.yaml").wait_for()
    assert not dialog.get_by_role("alert").is_visible()
    assert dialog.get_by_label("Equal nodes to create").input_value() == "0"
    dialog.get_by_role("button", name="Open").click()
    page.wait_for_url(lambda url: not url.startswith(own_demo.page))
    page.locator("pw-nodes .card", has_text="own").get_by_role("link", name="pasted").wait_for()


def test_a_file_that_has_changed_is_chosen_again(page, own_demo, tmp_path):
    file = tmp_path / "dump.yaml"
    file.write_text(POD.replace("Pod", "Pot"))
    page.goto(own_demo.page)
    page.get_by_role("button", name="New cluster").click()
    dialog = page.get_by_role("dialog", name="New cluster")
    dialog.locator("input[type=file]").set_input_files(file)
    dialog.get_by_role("button", name="Open").click()
    dialog.get_by_role("alert").get_by_text("Pot").wait_for()
    file.write_text(f"{NODE}---{POD}")
    dialog.get_by_role("button", name="Open").click()
    dialog.get_by_role("alert").get_by_text("dump.yaml has changed or is gone").wait_for()
    dialog.locator("input[type=file]").set_input_files(file)
    dialog.get_by_role("button", name="Open").click()
    page.wait_for_url(lambda url: not url.startswith(own_demo.page))


@pytest.mark.parametrize(
    "query", ["name=..", "name=.output", "name=a.yaml&nodes=-1", "", "name=a&nodes=99999"]
)
def test_another_name_or_number_is_refused(demo, query):
    own = {"x_podwright_page": "1", "origin": demo.page}
    status, text = status_of(demo, f"/clusters?{query}", "POST", POD.encode(), **own)
    assert (status, "Enter the name of a file" in text) == (200, True)


def test_only_the_page_itself_starts_clusters(demo):
    assert status_of(demo, "/clusters?name=a.yaml", "POST", POD.encode())[0] == 403
    assert (
        status_of(demo, "/clusters?name=a.yaml", "POST", POD.encode(), origin=demo.page)[0] == 403
    )
