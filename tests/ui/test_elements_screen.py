"""The screen of the cluster, driven in a browser on real servers."""

import json
import re
import urllib.request
from urllib.parse import quote

import pytest
from playwright.sync_api import Route
from tests.ui.requests import request
from tests.ui.served import up

pytestmark = pytest.mark.ui

HOSTILE = '<img src=x onerror="document.title=1"> \u202etxet'


def create(served, path, body):
    request = urllib.request.Request(
        served.server + path,
        json.dumps(body).encode(),
        {"authorization": f"Bearer {served.token}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def pod(name, **spec):
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


@pytest.mark.share
def test_the_first_minute_ends_with_the_pod_on_a_node(own_demo, page):
    page.goto(own_demo.page)
    inspector = page.locator("pw-pod")
    inspector.get_by_role("heading", name="default/training").wait_for()
    inspector.get_by_text("0/4 nodes are available: 1 node(s) had untolerated taint(s)").wait_for()
    assert "pod=default/training" in page.url
    inspector.get_by_text("Remove taint dedicated=training:NoSchedule").wait_for()
    closest = inspector.locator("section", has_text="Closest nodes")
    closest.get_by_text("toleration for taint dedicated=training:NoSchedule").wait_for()
    inspector.get_by_role("button", name="Apply").first.click()
    inspector.get_by_role("status").get_by_text("node-large").wait_for()
    page.locator("pw-nodes .card", has_text="node-large").get_by_role(
        "link", name="training"
    ).wait_for()
    page.locator("pw-pending").get_by_text("No pod waits for a node.").wait_for()


@pytest.mark.parametrize(
    ("pod", "known", "work", "found"),
    [
        ("training", "0/4 nodes are available", "Evaluating each node", "What would fix it"),
        ("database-0", "Scheduled to", "Replaying the scheduler's log", "Choice"),
    ],
)
def test_what_is_known_of_a_pod_is_shown_before_its_explanation(
    page, demo, pod, known, work, found
):
    held: list[Route] = []
    released: list[bool] = []
    page.route(
        "**/explanation?*", lambda route: route.fallback() if released else held.append(route)
    )
    page.goto(f"{demo.page}/?pod=default/{pod}")
    inspector = page.locator("pw-pod")
    inspector.get_by_text(known).first.wait_for()
    inspector.get_by_role("status").get_by_text(work).wait_for()
    if pod != "training":  # the explanation of a pending pod is not kept waiting by its attempts
        inspector.get_by_role("heading", name="Attempts").wait_for()
    assert inspector.get_by_role("heading", name=found).count() == 0
    released.append(True)
    for route in held:
        route.fallback()
    inspector.get_by_role("heading", name=found).wait_for()
    inspector.get_by_text(work).wait_for(state="hidden")
    inspector.get_by_role("heading", name="Attempts").wait_for()


def test_the_error_of_a_refused_remedy_is_shown_where_it_was_applied(own_demo, page, watched):
    page.goto(own_demo.page)
    inspector = page.locator("pw-pod")
    inspector.get_by_role("button", name="Apply").first.wait_for()
    watched.block(page, "**/api/v1/namespaces/default/pods/training")
    inspector.get_by_role("button", name="Apply").first.click()
    inspector.locator(".remedies").get_by_role("alert").wait_for()


def test_nodes_are_filtered_and_grouped_and_the_address_keeps_that(page, context, demo):
    page.goto(demo.page)
    nodes = page.locator("pw-nodes")
    nodes.get_by_text("4 nodes").wait_for()
    nodes.get_by_label("Filter by label expression").fill(
        "topology.kubernetes.io/zone in (zone-a,zone-b)"
    )
    nodes.get_by_text("of 4 nodes").wait_for()
    nodes.get_by_label("Group by label").select_option("topology.kubernetes.io/zone")
    nodes.get_by_role("heading", name="zone-b").wait_for()
    nodes.get_by_label("Color by").select_option("memory")
    nodes.get_by_role("link", name="node-b").click()
    page.locator("pw-node").get_by_role("heading", name="node-b").wait_for()
    shown = nodes.locator(".card").all_inner_texts()
    again = context.new_page()
    again.goto(page.url)
    again.locator("pw-node").get_by_role("heading", name="node-b").wait_for()
    again.locator("pw-nodes").get_by_role("heading", name="zone-b").wait_for()
    assert again.locator("pw-nodes .card").all_inner_texts() == shown
    assert again.locator("pw-nodes").get_by_label("Color by").input_value() == "memory"


def test_labels_that_another_client_changes_are_shown_at_once(own_demo, page):
    page.goto(f"{own_demo.page}/?filter=tier%3Dfast")
    nodes = page.locator("pw-nodes")
    nodes.get_by_text("No node matches").wait_for()
    page.wait_for_timeout(3_000)
    request(own_demo, "PATCH", "/api/v1/nodes/node-b", {"metadata": {"labels": {"tier": "fast"}}})
    nodes.get_by_text("1 of 4 nodes").wait_for()
    request(own_demo, "PATCH", "/api/v1/nodes/node-b", {"metadata": {"labels": {"tier": None}}})
    nodes.get_by_text("No node matches").wait_for()


def test_a_wrong_label_expression_is_marked(page, demo):
    page.goto(demo.page)
    nodes = page.locator("pw-nodes")
    nodes.get_by_label("Filter by label expression").fill("zone in (a")
    nodes.get_by_role("alert").get_by_text("a ) is missing").wait_for()
    nodes.get_by_text("4 nodes").wait_for()


def test_the_matrix_explains_a_placement(page, demo):
    page.goto(f"{demo.page}/?pod=default/database-0")
    matrix = page.locator("pw-matrix:not([hidden])")
    matrix.get_by_role("link", name="node-large").wait_for()
    matrix.get_by_label("Why not this node").fill("large")
    matrix.get_by_text("node-large was rejected by TaintToleration").wait_for()
    matrix.get_by_role("button", name="raw").click()
    assert "value=raw" in page.url
    matrix.get_by_role("button", name="Filters").click()
    matrix.get_by_title("TaintToleration: node(s) had untolerated taint(s)").wait_for()
    matrix.get_by_text(re.compile("Nothing to check for this pod:.*NodeAffinity")).wait_for()


def test_nodes_have_the_color_of_what_rejects_the_pod_and_a_legend_that_filters(page, demo):
    page.goto(f"{demo.page}/?pod=default/database-0&color=reason")
    nodes = page.locator("pw-nodes")
    nodes.get_by_text("TaintToleration: node(s) had untolerated taint(s)").first.wait_for()
    nodes.get_by_text("passes every filter").first.wait_for()
    color = nodes.get_by_label("Color")
    color.select_option("score:TaintToleration")
    page.wait_for_url("**color=score:TaintToleration**")
    nodes.get_by_text("highest 300").wait_for()
    color.select_option("zone")
    nodes.get_by_role("button", name="zone-c").click()
    nodes.get_by_text("1 of 4 nodes").wait_for()
    nodes.get_by_role("button", name="zone-c").click()
    nodes.get_by_text("4 nodes", exact=True).wait_for()


def test_what_if_shows_where_the_pod_would_be(page, demo):
    page.goto(f"{demo.page}/?pod=default/training")
    what_if = page.locator("pw-what-if")
    what_if.get_by_text("What if…").click()
    what_if.get_by_label("Toleration").fill("dedicated")
    what_if.get_by_role("button", name="Try").click()
    what_if.get_by_role("status").get_by_text("node-large").wait_for()
    what_if.get_by_label("Toleration").fill("dedicated:Never")
    what_if.get_by_role("button", name="Try").click()
    what_if.get_by_role("alert").get_by_text("Never is not one of").wait_for()


def test_a_weight_is_tried_while_its_slider_moves(page, demo):
    page.goto(f"{demo.page}/?pod=default/database-0")
    what_if = page.locator("pw-what-if")
    what_if.get_by_text("What if…").click()
    what_if.get_by_role("option", name="NodeResourcesFit (1)").wait_for(state="attached")
    what_if.get_by_label("Weight of").select_option("NodeResourcesFit")
    slider = what_if.get_by_label("New weight, as a slider")
    assert slider.input_value() == "1"
    entries = page.evaluate("history.length")
    slider.fill("9")
    what_if.get_by_role("status").get_by_text("Without it").wait_for()
    page.wait_for_url("**NodeResourcesFit%253A9**")
    assert page.evaluate("history.length") == entries
    what_if.get_by_label("New weight", exact=True).fill("4")
    assert slider.input_value() == "4"


CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins:
      filter: {disabled: [{name: TaintToleration}]}
"""


def test_another_configuration_is_tried_for_a_pod_and_has_an_address(page, context, demo):
    page.goto(f"{demo.page}/?pod=default/training")
    what_if = page.locator("pw-what-if")
    what_if.get_by_text("What if…").click()
    what_if.get_by_label("Configuration").fill("profiles: [\n")
    what_if.get_by_role("button", name="Try").click()
    what_if.get_by_role("alert").get_by_text("not YAML").wait_for()
    what_if.get_by_label("Configuration").fill(CONFIGURATION)
    what_if.get_by_role("button", name="Try").click()
    what_if.get_by_role("status").get_by_text("node-large").wait_for()
    again = context.new_page()
    again.goto(page.url)
    again.locator("pw-what-if").get_by_role("status").get_by_text("node-large").wait_for()
    assert (
        "TaintToleration" in again.locator("pw-what-if").get_by_label("Configuration").input_value()
    )
    again.locator("pw-nodes").get_by_role("link", name="database-0").click()
    again.wait_for_url(lambda url: "if=" not in url)


def test_the_matrix_has_an_address_for_its_filters_and_its_search(page, demo):
    page.goto(f"{demo.page}/?pod=default/database-0&value=filters&why=large")
    matrix = page.locator("pw-matrix:not([hidden])")
    matrix.get_by_text("node-large was rejected by TaintToleration").wait_for()
    matrix.get_by_title("TaintToleration: node(s) had untolerated taint(s)").wait_for()
    assert matrix.get_by_label("Why not this node").input_value() == "large"
    matrix.get_by_role("link", name="node-c").click()
    page.wait_for_url("**why=node-c**")
    matrix.get_by_role("button", name="raw").click()
    page.wait_for_url("**value=raw**")


def test_the_members_of_a_group_are_shown_with_their_nodes(page, own_demo):
    label = {"scheduling.x-k8s.io/pod-group": "training"}
    for name, spec in {"worker-1": {}, "worker-2": {"nodeSelector": {"none": "such"}}}.items():
        made = pod(name, **spec)
        made["metadata"]["labels"] = label
        create(own_demo, "/api/v1/namespaces/default/pods", made)
    page.goto(f"{own_demo.page}/?pod=default/worker-2")
    inspector = page.locator("pw-pod")
    inspector.get_by_role("heading", name="Pod group training").wait_for()
    inspector.get_by_text("2 members, 1 with a node").wait_for()
    inspector.get_by_role("link", name="default/worker-1").click()
    inspector.get_by_role("heading", name="default/worker-1").wait_for()


def test_a_configuration_is_compared_and_has_an_address(page, demo):
    page.goto(f"{demo.page}/?view=compare&configuration={quote(CONFIGURATION)}")
    compare = page.locator("pw-compare")
    compare.get_by_role("cell", name="no longer pending").wait_for()
    compare.get_by_label("Configuration, as YAML or JSON").fill("kind: [")
    compare.get_by_role("button", name="Compare").click()
    compare.get_by_role("alert").get_by_text("not YAML").wait_for()


def test_a_comparison_of_weights_has_an_address(page, demo):
    page.goto(f"{demo.page}/?view=compare&change=NodeResourcesFit:50")
    compare = page.locator("pw-compare")
    compare.get_by_role("heading", name="placed differently").wait_for()
    compare.get_by_role("cell", name="moved").first.wait_for()
    assert compare.get_by_label("NodeResourcesFit", exact=True).input_value() == "50"
    compare.get_by_label("NodeResourcesFit, as a slider").fill("60")
    page.wait_for_url("**change=NodeResourcesFit:60**")
    compare.get_by_text("1 pod moved by NodeResourcesFit").wait_for()
    compare.get_by_text("The weights as a configuration").click()
    compare.get_by_text("- {name: NodeResourcesFit, weight: 60}").wait_for()
    compare.get_by_label("NodeResourcesFit", exact=True).fill("1")
    compare.get_by_role("button", name="Compare").click()
    compare.get_by_role("alert").get_by_text("Change a weight").wait_for()


def test_a_comparison_is_cancelled(page, demo):
    page.route("**/podwright/v1/what-if", lambda _: None)  # no reply
    page.goto(f"{demo.page}/?view=compare&change=NodeResourcesFit:50")
    compare = page.locator("pw-compare")
    compare.get_by_role("button", name="Comparing…").wait_for()
    compare.get_by_role("progressbar", name="Pods scheduled").wait_for()
    compare.get_by_role("button", name="Cancel").click()
    compare.get_by_role("button", name="Compare", exact=True).wait_for()
    compare.get_by_role("progressbar").wait_for(state="hidden")
    compare.get_by_role("alert").wait_for(state="hidden")
    page.unroute("**/podwright/v1/what-if")
    compare.get_by_role("button", name="Compare", exact=True).click()
    compare.get_by_role("heading", name="placed differently").wait_for()


def test_the_queue_shows_why_a_pod_waits_and_moves_it(own_demo, page):
    page.goto(f"{own_demo.page}/queue")
    queue = page.locator("pw-queue")
    row = queue.locator("tr", has_text="default/training")
    row.get_by_text("Insufficient cpu").wait_for()
    row.get_by_text("taints of a node change").wait_for()
    row.get_by_text("at the latest").wait_for()
    row.get_by_role("button", name="Move").click()
    queue.locator("tr", has_text="default/training").get_by_role(
        "cell", name="2", exact=True
    ).wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**pod=default%2Ftraining")


def test_a_node_fails_and_is_restored(own_demo, page):
    page.goto(f"{own_demo.page}/?node=node-b")
    inspector = page.locator("pw-node")
    inspector.get_by_role("button", name="Fail").click()
    inspector.get_by_text("Its kubelet does not report").wait_for()
    request(own_demo, "POST", "/podwright/v1/clock/step", {"duration": "2m"})
    inspector.get_by_text("NotReady").wait_for()
    inspector.get_by_role("button", name="Restore").click()
    inspector.get_by_role("button", name="Fail").wait_for()


def test_only_what_all_selected_nodes_permit_is_offered(own_demo, page):
    page.goto(own_demo.page)
    nodes = page.locator("pw-nodes")
    nodes.get_by_label("Select node-b").check()
    nodes.get_by_role("button", name="Fail").wait_for()
    metadata = {"name": "copied", "annotations": {"podwright.dev/source-uid": "u"}}
    create(own_demo, "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    for _ in ("a node that the watch reported", "a node that was listed"):
        nodes.get_by_label("Select copied").check()
        nodes.get_by_text("2 nodes selected").wait_for()
        nodes.get_by_role("button", name="Fail").wait_for(state="detached")
        nodes.get_by_role("button", name="Cordon", exact=True).wait_for()
        nodes.get_by_label("Select copied").uncheck()
        nodes.get_by_role("button", name="Fail").wait_for()
        page.reload()
        nodes.get_by_label("Select node-b").check()


def test_a_node_shows_its_devices_and_the_claims_that_have_them(page, tmp_path):
    gpu = {"driver": "gpu.example.com", "nodeName": "node-0"}
    pool = {"name": "node-0", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{at}", "attributes": {"model": {"string": "a1"}}} for at in range(2)]
    selector = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    objects = {
        "deviceclasses": ("DeviceClass", "gpu", {"selectors": [selector]}),
        "resourceslices": ("ResourceSlice", "gpus", {**gpu, "pool": pool, "devices": devices}),
        "namespaces/default/resourceclaims": (
            "ResourceClaim",
            "one",
            {"devices": {"requests": requests}},
        ),
    }
    with up(tmp_path, "--nodes", "1") as running:
        for path, (kind, name, spec) in objects.items():
            body = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "spec": spec}
            create(running, f"/apis/resource.k8s.io/v1/{path}", body | {"metadata": {"name": name}})
        claims = [{"name": "gpu", "resourceClaimName": "one"}]
        create(running, "/api/v1/namespaces/default/pods", pod("train", resourceClaims=claims))
        page.goto(f"{running.page}/?node=node-0")
        inspector = page.locator("pw-node")
        inspector.get_by_role("heading", name="Devices (2, 1 free)").wait_for()
        row = inspector.locator("tr", has_text="default/one")
        row.get_by_text("model=a1").wait_for()
        row.get_by_role("link", name="default/train").wait_for()
        page.close()


def test_a_node_shows_which_pending_pods_would_fit(page, demo):
    page.goto(f"{demo.page}/?node=node-large")
    inspector = page.locator("pw-node")
    inspector.get_by_role("button", name="Check").click()
    row = inspector.locator("tr", has_text="default/training")
    row.get_by_text("was rejected by TaintToleration: node(s) had untolerated taint(s)").wait_for()


def test_the_clock_is_paused_and_goes_on(own_demo, page):
    page.goto(own_demo.page)
    time = page.locator("pw-time")
    time.locator(".badge.live").wait_for()
    time.get_by_role("button", name="Pause").click()
    time.locator(".badge.paused").wait_for()
    time.get_by_role("button", name="One step forward").click()
    time.get_by_role("button", name="Play").click()
    time.locator(".badge.live").wait_for()


@pytest.mark.share
def test_the_past_is_shown_and_left_again(own_demo, page, context):
    page.goto(own_demo.page)
    nodes = page.locator("pw-nodes")
    nodes.get_by_role("link", name="database-0").wait_for()
    create(own_demo, "/api/v1/namespaces/default/pods", pod("late"))
    nodes.get_by_role("link", name="late").wait_for()
    time = page.locator("pw-time")
    slider = time.get_by_role("slider")
    box = slider.bounding_box()
    slider.click(position={"x": 5, "y": box["height"] / 2})
    time.locator(".badge.past").wait_for()
    nodes.get_by_role("link", name="late").wait_for(state="detached")
    page.wait_for_url(re.compile("at="))
    assert page.locator("pw-pod").get_by_role("button", name="Apply").count() == 0
    again = context.new_page()
    again.goto(page.url)
    again.locator("pw-time .badge.past").wait_for()
    page.keyboard.press("l")
    time.locator(".badge.live").wait_for()
    nodes.get_by_role("link", name="late").wait_for()


@pytest.mark.parametrize(
    ("path", "key"),
    [("", "Search nodes"), ("queue", "Pause or play"), ("resources", "Edit the selected object")],
)
def test_each_page_has_a_help_sheet_with_its_keys(page, demo, path, key):
    page.goto(f"{demo.page}/{path}")
    page.locator("pw-time .badge.live").wait_for()
    help_sheet = page.get_by_role("dialog", name="Keyboard")
    page.get_by_role("button", name="Help: keyboard").click()
    help_sheet.get_by_text(key).wait_for()
    page.keyboard.press("Escape")
    help_sheet.wait_for(state="hidden")
    page.keyboard.press("?")
    help_sheet.wait_for()


def test_keys_lead_through_the_screen(page, demo):
    page.goto(demo.page)
    page.locator("pw-pending").get_by_role("link", name="default/training").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("node-b")
    page.locator("pw-nodes").get_by_text("1 of 4 nodes").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    page.locator("pw-node").get_by_role("heading", name="node-b").wait_for()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.locator("pw-pod").get_by_role("heading", name="default/training").wait_for()


@pytest.mark.share
def test_hostile_texts_are_shown_as_texts(own_demo, page):
    name = ".".join(["a" * 63] * 3 + ["b" * 61])
    create(own_demo, "/api/v1/namespaces/default/pods", pod(name, schedulerName=HOSTILE))
    page.goto(f"{own_demo.page}/?pod=default/{name}")
    inspector = page.locator("pw-pod")
    inspector.get_by_text(HOSTILE).first.wait_for()
    assert inspector.locator("img").count() == 0
    assert page.title() != "1"
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]


def test_many_nodes_are_a_heat_map_that_keys_select_from(page, tmp_path):
    with up(tmp_path, "--nodes", "300") as running:
        page.goto(f"{running.page}/?group=topology.kubernetes.io/zone")
        canvas = page.locator("pw-heat-map canvas")
        canvas.wait_for()
        page.locator("pw-nodes").get_by_text("300 nodes").wait_for()
        page.keyboard.press("2")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("node="))
        page.keyboard.press("Space")
        page.locator("pw-nodes").get_by_text("1 node selected").wait_for()
        page.locator("pw-nodes").get_by_role("button", name="Cordon", exact=True).click()
        page.locator("pw-node").get_by_text("SchedulingDisabled").wait_for()
        page.close()


def test_pending_pods_of_one_cause_are_a_group_that_opens(page, tmp_path):
    pods = [pod(f"pod-{at:03}") for at in range(150)] + [
        pod("held", schedulingGates=[{"name": "quota"}])
    ]
    file = tmp_path / "pods.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": pods}))
    with up(tmp_path, str(file)) as running:
        page.goto(running.page)
        pending = page.locator("pw-pending")
        pending.get_by_text("151 pods").wait_for()
        assert pending.get_by_role("link").count() == 2
        page.keyboard.press("j")  # from anywhere
        page.keyboard.press("Enter")
        pending.get_by_text("and 50 pods more").wait_for()
        pending.get_by_role("link", name="default/pod-099").wait_for()
        for key in ("j", "ArrowDown", "k", "j"):
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.wait_for_url("**pod=default/pod-001**")
        page.close()


def test_a_server_without_a_scheduler_is_shown_without_what_it_lacks(page, tmp_path):
    with up(tmp_path, "--no-scheduler", "--nodes", "2") as running:
        create(running, "/api/v1/namespaces/default/pods", pod("waits"))
        page.goto(running.page)
        page.locator("pw-pending").get_by_text("No scheduler has tried it yet").wait_for()
        page.locator("pw-pod").get_by_text("without podwright's scheduler").wait_for()
        page.locator("pw-nodes").get_by_text("2 nodes").wait_for()
        assert page.locator("pw-time").get_by_role("button", name="One step back").is_disabled()
        page.get_by_role("link", name="Compare").click()
        page.locator("pw-compare").get_by_text("without podwright's scheduler").wait_for()
        page.goto(f"{running.page}/queue")
        page.locator("pw-queue").get_by_text("without podwright's scheduler").wait_for()
        page.close()


def test_the_queues_of_all_schedulers_are_shown(page, tmp_path):
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "second"}],
    }
    (tmp_path / "second.yaml").write_text(json.dumps(config))
    (tmp_path / "first.yaml").write_text(
        json.dumps({name: value for name, value in config.items() if name != "profiles"})
    )
    files = ("--config", str(tmp_path / "first.yaml"), "--config", str(tmp_path / "second.yaml"))
    with up(tmp_path, *files) as running:
        for name, spec in {"one": {}, "two": {"schedulerName": "second"}}.items():
            create(running, "/api/v1/namespaces/default/pods", pod(name, **spec))
        page.goto(running.page)
        page.locator("pw-pending").get_by_role("link", name="default/one").wait_for()
        page.locator("pw-pending").get_by_role("link", name="default/two").wait_for()
        page.goto(f"{running.page}/queue")
        page.locator("pw-queue").get_by_role("link", name="default/two").wait_for()
        page.close()


@pytest.mark.parametrize("path", ["resources", "configuration", "runs"])
def test_pages_of_the_present_have_the_mode_and_no_past(page, demo, path):
    page.goto(f"{demo.page}/{path}")
    time = page.locator("pw-time")
    time.locator(".badge.live").wait_for()
    assert time.get_by_role("slider").get_attribute("aria-disabled") == "true"
    page.locator("pw-bar").get_by_text(demo.server.removeprefix("http://")).wait_for()
