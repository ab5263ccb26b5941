"""`podwright report`: one file that a browser opens without a server."""

import subprocess

import pytest
from tests.ui.installed import installed_command

pytestmark = pytest.mark.ui

OBJECTS = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: large}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "8"}}}]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    (folder / "objects.yaml").write_text(OBJECTS)
    for arguments in (
        ["simulate", "objects.yaml", "--until", "1m", "--out", "run"],
        ["report", "run", "--out", "report.html"],
        ["report", "run", "--out", "again.html"],
    ):
        done = subprocess.run(
            [installed_command(), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr
    return folder


def test_the_same_run_makes_the_same_report(folder):
    assert (folder / "report.html").read_bytes() == (folder / "again.html").read_bytes()


def test_a_report_opens_from_a_file_without_a_network(folder, context, page):
    context.set_offline(True)
    page.goto((folder / "report.html").as_uri())
    page.locator("pw-results").get_by_text("1 pod is pending at the end").wait_for()
    page.get_by_role("link", name="Nodes", exact=True).click()
    inspector = page.locator("pw-pod")
    inspector.get_by_role("heading", name="default/large").wait_for()
    inspector.get_by_text("0/1 nodes are available: 1 Insufficient cpu").first.wait_for()
    assert inspector.get_by_role("button", name="Apply").count() == 0
    page.locator("pw-nodes").get_by_role("link", name="web").click()
    inspector.get_by_role("heading", name="default/web").wait_for()
    inspector.get_by_text("Feasible nodes").wait_for()
    page.locator("pw-matrix:not([hidden])").get_by_role("link", name="n1").wait_for()
    assert page.url.endswith("#pod=default/web")
    page.reload()
    inspector.get_by_role("heading", name="default/web").wait_for()


def test_the_report_of_a_plan_fits_a_narrow_window(folder, page):
    arguments = ["capacity", "--loss", "node", "objects.yaml", "--exit-zero", "--report", "l.html"]
    subprocess.run([installed_command(), *arguments], cwd=folder, check=True, capture_output=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((folder / "l.html").as_uri())
    page.get_by_text("Pending pods after the loss of").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
