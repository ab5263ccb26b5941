"""The page of resources, driven as a person would."""

import json
import urllib.error

import pytest
import yaml
from tests.ui.requests import request

from podwright.online.ui.templates import template_of

pytestmark = pytest.mark.ui

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: mine
spec:
  containers:
  - name: main
    image: nginx
"""


@pytest.fixture
def resources(page, own_demo):
    page.goto(f"{own_demo.page}/resources")
    page.get_by_text("database-0").wait_for()
    return page


def write(page, text):
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def act(page, name):
    page.locator(".pw-dialog-actions").get_by_role("button", name=name, exact=True).click()


def test_objects_are_created_changed_and_deleted(resources, own_demo):
    page = resources
    page.get_by_role("button", name="Create…").click()
    write(page, POD)
    page.get_by_label("Copies").fill("3")
    act(page, "Create")
    page.get_by_text("Created 3 objects.").wait_for()
    page.get_by_text("mine-3").click()
    page.get_by_role("button", name="Edit…").click()
    line = page.locator(".cm-line", has_text="name: mine-3")
    while not page.locator(".cm-activeLine", has_text="name: mine-3").count():
        line.click()  # while the dialog opens, lines move, and the click can meet another one
    page.keyboard.press("End")
    page.keyboard.insert_text("\n  annotations: {note: changed}")
    act(page, "Save")
    page.get_by_text("The object has been changed.").wait_for()
    path = "/api/v1/namespaces/default/pods/mine-3"
    assert request(own_demo, "GET", path)["metadata"]["annotations"] == {"note": "changed"}
    page.get_by_role("button", name="Delete…").click()
    page.get_by_text("Delete 1 Pod?").wait_for()
    act(page, "Delete")
    page.locator("pw-resources .line", has_text="mine-3").wait_for(state="detached")


def test_a_change_that_another_client_has_made_too_is_a_conflict(page, own_demo):
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    page.goto(f"{own_demo.page}/resources?kind=deployments.apps&object=default/web")
    page.get_by_role("button", name="YAML…").click()
    page.locator(".cm-content[aria-label]").wait_for()
    line = page.locator(".cm-line", has_text="replicas: 3").first
    while not page.locator(".cm-activeLine", has_text="replicas: 3").count():
        line.click()
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.insert_text("2")
    labels = {"metadata": {"labels": {"by": "another"}}}
    request(own_demo, "PATCH", path, labels | {"spec": {"replicas": 1}})
    act(page, "Save")
    page.get_by_text("spec.replicas is now 1: save again to overwrite it.").wait_for()
    page.locator(".cm-line.pw-error-line", has_text="replicas: 2").wait_for()
    act(page, "Save")
    page.get_by_text("The object has been changed.").wait_for()
    found = request(own_demo, "GET", path)
    assert (found["spec"]["replicas"], found["metadata"]["labels"]["by"]) == (2, "another")


def test_errors_of_a_dry_run_are_at_their_lines(resources, own_demo):
    page = resources
    before = len(request(own_demo, "GET", "/api/v1/pods")["items"])
    page.get_by_role("button", name="Create…").click()
    write(page, POD.replace("image: nginx", "imag: nginx"))
    act(page, "Check")
    page.locator(".cm-line.pw-error-line", has_text="imag: nginx").wait_for()
    page.get_by_role("button", name="line 8").wait_for()
    write(page, POD.replace("name: mine", "name: Not_A_Name"))
    act(page, "Check")
    page.locator(".cm-line.pw-error-line", has_text="Not_A_Name").wait_for()
    write(page, "a: [")
    act(page, "Check")
    page.get_by_text("not YAML").wait_for()
    write(page, POD)
    act(page, "Check")
    page.get_by_text("The server accepts it. Nothing has been changed.").wait_for()
    assert page.locator(".pw-error-line").count() == 0
    assert len(request(own_demo, "GET", "/api/v1/pods")["items"]) == before


def test_each_state_has_an_address(page, demo):
    page.goto(f"{demo.page}/resources?kind=nodes&filter=node-b")
    page.get_by_role("row", name="node-b").wait_for()
    assert page.get_by_role("row", name="node-a").count() == 0
    page.get_by_role("link", name="Deployment").click()
    page.get_by_role("heading", name="Deployment").wait_for()
    assert "kind=deployments.apps" in page.url
    page.go_back()
    page.get_by_role("row", name="node-b").wait_for()


def test_hostile_names_are_text(page, own_demo):
    text = "<img src=x onerror=alert(1)> \u202eabc"
    namespace = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x" * 253}}
    request(own_demo, "POST", "/api/v1/namespaces/default/configmaps", namespace)
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "hostile", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": text,
        "reason": "Hostile",
        "type": "Normal",
    }
    request(own_demo, "POST", "/api/v1/namespaces/default/events", event)
    page.goto(f"{own_demo.page}/resources?kind=events&filter=hostile")
    page.get_by_text("<img src=x").wait_for()
    assert page.locator("pw-resources img").count() == 0
    page.goto(f"{own_demo.page}/resources?kind=configmaps")
    page.get_by_text("x" * 253).wait_for()


def test_the_cluster_is_exported_imported_and_reset(resources, own_demo, tmp_path):
    page = resources
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    snapshot = tmp_path / "snapshot.json"
    download.value.save_as(snapshot)
    assert len(json.loads(snapshot.read_text())["nodes"]) == 4
    request(own_demo, "DELETE", "/api/v1/namespaces/default/pods/training")
    page.get_by_text("training").wait_for(state="detached")
    page.get_by_role("button", name="Import…").click()
    with page.expect_file_chooser() as chooser:
        page.locator(".pw-upload .q-uploader__input").evaluate("element => element.click()")
    chooser.value.set_files(snapshot)
    page.get_by_text("The snapshot has been imported.").wait_for()
    page.get_by_text("training").wait_for()
    page.get_by_role("button", name="Reset…").click()
    act(page, "Reset")
    page.get_by_text("The cluster has been reset.").wait_for()


def test_everything_works_by_keyboard(resources):
    page = resources
    page.get_by_role("grid", name="Objects").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.press("Delete")
    page.get_by_text("Delete 1 Pod?").wait_for()
    page.keyboard.press("Enter")  # the focus is on Cancel
    page.get_by_text("Delete 1 Pod?").wait_for(state="detached")
    page.get_by_role("grid", name="Objects").focus()
    page.keyboard.press("n")
    page.locator(".cm-content").wait_for()


def test_fields_are_completed_from_the_server_s_openapi(page, demo):
    page.goto(f"{demo.page}/resources")
    page.get_by_text("database-0").wait_for()
    page.get_by_role("button", name="Create…").click()
    write(page, POD)
    page.keyboard.type("    resou")
    page.get_by_role("option", name="resources").click()
    page.locator(".cm-line", has_text="    resources: ").wait_for()
    page.keyboard.insert_text("\n  nodeNa")
    page.keyboard.press("Control+Space")
    page.get_by_role("option", name="nodeName").wait_for()


def test_rows_are_sorted_selected_and_described(page, demo):
    page.goto(f"{demo.page}/resources?kind=pods")
    table = page.locator("pw-resources")
    table.get_by_role("columnheader", name="Node", exact=True).wait_for()
    table.get_by_role("button", name="Name", exact=True).click()
    page.wait_for_url("**sort=Name**")
    names = table.locator(".line span:nth-child(2)")
    table.locator(".line").nth(3).wait_for()
    assert names.first.inner_text() == "database-0"
    table.get_by_role("button", name="Name ▴").click()
    page.wait_for_url("**order=down**")
    table.locator(".line", has_text="training").locator(".warn", has_text="Pending").wait_for()
    filter_ = table.get_by_label("Filter rows")
    filter_.fill("--field-selector spec.nodeName=node-b -l app!=web")
    table.get_by_text("1 object", exact=True).wait_for()
    table.locator(".line", has_text="database-0").click()
    details = table.locator("pw-object")
    details.get_by_text("Successfully assigned default/database-0 to node-b").wait_for()
    details.get_by_text("StatefulSet/database").wait_for()
    details.get_by_role("link", name="Why is it where it is?").click()
    page.locator("pw-pod").get_by_role("heading", name="default/database-0").wait_for()


def test_keys_move_through_rows_from_anywhere(page, demo):
    page.goto(f"{demo.page}/resources?kind=pods&sort=Name")
    table = page.locator("pw-resources")
    table.locator(".line", has_text="web").first.wait_for()
    page.keyboard.press("j")
    page.wait_for_url("**object=default%2Fdatabase-0")
    page.keyboard.press("/")
    page.keyboard.insert_text("j")
    assert table.get_by_label("Filter rows").input_value() == "j"
    table.get_by_label("Filter rows").fill("training")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.wait_for_url("**object=default%2Ftraining**")


WRITTEN_BY_COMPONENTS = {"Event", "CertificateSigningRequest"}


def test_the_example_of_each_kind_is_accepted(demo):
    refused = {}
    groups = request(demo, "GET", "/apis")["groups"]
    versions = [each["preferredVersion"]["groupVersion"] for each in groups]
    for version in ["v1", *versions]:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for each in request(demo, "GET", root)["resources"]:
            kind, verbs = each["kind"], set(each["verbs"])
            if "/" in each["name"] or not {"create", "list"} <= verbs:
                continue
            namespace = "default" if each["namespaced"] else ""
            place = f"/namespaces/{namespace}" if namespace else ""
            document = yaml.safe_load(template_of(version, kind, namespace))
            try:
                request(demo, "POST", f"{root}{place}/{each['name']}?dryRun=All", document)
            except urllib.error.HTTPError as error:
                refused[kind] = error.read()
    assert set(refused) <= WRITTEN_BY_COMPONENTS, refused


def test_a_wrong_kind_or_selector_leaves_a_way_on(page, demo, watched):
    page.goto(f"{demo.page}/resources?kind=unicorns")
    table = page.locator("pw-resources")
    table.get_by_text('The server has no kind "unicorns".').wait_for()
    table.get_by_role("link", name="Pod", exact=True).click()
    table.locator(".line", has_text="training").wait_for()
    table.get_by_label("Filter rows").fill("-l app===web")
    table.get_by_text("unable to parse requirement").wait_for()
    page.wait_for_timeout(300)  # the table has another height now, and is drawn again
    assert table.get_by_text("Loading…").is_hidden()
    watched.errors.clear()  # the console reports the status 400
