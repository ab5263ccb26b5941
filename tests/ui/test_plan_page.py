"""The plan view: questions about the future of the cluster, and their answers."""

import pytest
from tests.ui.requests import request

pytestmark = pytest.mark.ui

DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/planned"


def test_a_plan_is_answered_shown_and_applied(page, own_demo):
    page.goto(f"{own_demo.page}/?view=plan")
    plan = page.locator("pw-plan")
    plan.get_by_label("At most").fill("3")
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_text("3 more pods fit").wait_for()
    plan.get_by_text("gets pods").wait_for()
    plan.get_by_role("button", name="Apply: create Deployment planned with 3 pods").click()
    plan.get_by_text("Deployment default/planned is created.").wait_for()
    assert request(own_demo, "GET", DEPLOYMENT)["spec"]["replicas"] == 3
    plan.get_by_role("button", name="Drain nodes").click()
    plan.get_by_label("Nodes to drain").fill("node-a")
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_text("1 node can be drained, in 1 step").wait_for()
    page.reload()
    plan.get_by_text("1 node can be drained, in 1 step").wait_for()
    plan.get_by_role("button", name="Apply: drain 1 node in 1 step").click()
    plan.get_by_text("The nodes are drained.").wait_for()
    assert request(own_demo, "GET", "/api/v1/nodes/node-a")["spec"]["unschedulable"]


def test_losses_and_room_are_tables(page, demo):
    page.goto(f"{demo.page}/?view=plan")
    plan = page.locator("pw-plan")
    plan.get_by_role("button", name="Loss of nodes").click()
    plan.get_by_label("Of each").select_option("zone")
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_text("After the loss of each zone").wait_for()
    plan.get_by_role("cell", name="zone-a").wait_for()
    plan.get_by_role("button", name="Room of each workload").click()
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_text("More pods that fit, of each workload alone").wait_for()


def test_a_question_is_cancelled_and_asked_again(page, demo):
    page.route("**/podwright/v1/drain-plan", lambda _: None)  # no reply
    page.goto(f"{demo.page}/?view=plan")
    plan = page.locator("pw-plan")
    plan.get_by_role("button", name="Drain nodes").click()
    plan.get_by_label("Nodes to drain").fill("node-a")
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_role("progressbar").wait_for()
    plan.get_by_role("button", name="Cancel").click()
    plan.get_by_role("progressbar").wait_for(state="hidden")
    plan.get_by_role("alert").wait_for(state="hidden")
    page.unroute("**/podwright/v1/drain-plan")
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_text("1 node can be drained, in 1 step").wait_for()


TYPES = """types:
- {name: large, price: 2, allocatable: {cpu: "64", memory: 256Gi}}
"""


def test_nodes_are_bought_and_an_autoscaler_is_tried(page, own_demo, watched):
    page.goto(f"{own_demo.page}/?view=plan")
    plan = page.locator("pw-plan")
    plan.get_by_role("button", name="Autoscaling").click()
    groups = TYPES.replace("types", "groups").replace("price: 2", "maxSize: 3, price: 2")
    groups = groups.replace("allocatable", "template: {allocatable").replace("Gi}", "Gi}}")
    plan.get_by_label("Node groups").fill(groups)
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_text("The groups get 1 new node").wait_for()
    plan.get_by_role("cell", name="chosen by the expander").first.wait_for()
    plan.get_by_role("button", name="Nodes to buy").click()
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_text("types: Required value: name at least one type").wait_for()
    assert ["422" in each for each in watched.errors] == [True]
    watched.errors.clear()
    plan.get_by_label("Types of nodes").fill(TYPES)
    plan.get_by_role("button", name="Answer").click()
    plan.get_by_text("1 large for 2").wait_for()
    plan.get_by_role("button", name="Apply: add 1 node").click()
    plan.get_by_text("1 node is added.").wait_for()
    names = [
        each["metadata"]["name"] for each in request(own_demo, "GET", "/api/v1/nodes")["items"]
    ]
    assert "large-new-0" in names
