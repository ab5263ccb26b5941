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
