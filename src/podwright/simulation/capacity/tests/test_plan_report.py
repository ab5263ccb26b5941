"""Reports: findings first, text escaped, nothing loaded from elsewhere."""

from __future__ import annotations

import podwright as pw
from podwright.scheduler.assembly import Scheduler
from podwright.simulation.capacity import capacity_report, drain_report, purchase_report
from podwright.simulation.capacity.counting import capacity_in
from podwright.simulation.capacity.tests.test_counting import owned, workload
from podwright.simulation.capacity.tests.test_drains import budget, nodes
from podwright.testing import make_node, make_pod


def test_a_report_of_capacity_begins_with_its_findings():
    objects = [make_node("n0", cpu="4", zone="<a>"), owned("x", "n0", "2")]
    question = pw.CapacityQuestion(
        pods=(make_pod("web", cpu="1"),), headroom=True, loss=("node", "zone")
    )
    text = capacity_report(pw.capacity(objects, question), question).html()
    assert text.index("2 of web fit on 1 node.") < text.index("<dl") < text.index("<table")
    assert "1 pod pending after the loss of node n0: default/" in text
    assert "&lt;a&gt;" in text
    assert "<a>" not in text
    assert "http" not in text
    assert "<script" not in text


def test_a_report_says_that_losses_leave_no_pod_pending():
    objects = [*nodes(2), owned("x", "n0", "1")]
    question = pw.CapacityQuestion(loss=("node",))
    text = capacity_report(pw.capacity(objects, question), question).html()
    assert "No pod is pending after any of 2 losses." in text


def test_a_report_of_a_drain_plan_says_what_blocks():
    objects = [*nodes(2, "2"), workload(cpu="2", replicas=2)]
    text = drain_report(pw.drain_plan(objects, ["n0"])).html()
    assert "1 node can be drained in 1 step." in text
    assert "no node: 0/2 nodes are available" in text
    assert "it fits after this: add a node like n1" in text
    objects = [*nodes(1), workload(replicas=1), budget("web", {"app": "web"}, minAvailable=1)]
    text = drain_report(pw.drain_plan(objects, ["n0"])).html()
    assert "Node n0 cannot be drained: default/web-" in text
    assert "Cannot evict pod" in text
    assert "budget default/web never allows an eviction" in text


def test_a_report_of_a_drain_plan_says_why_a_budget_lacks_healthy_pods():
    """A pod that was evicted first finds no node; pods that were pending before are not named."""
    objects = [
        *nodes(2, "2"),
        workload(cpu="1", replicas=4),
        make_pod("before", cpu="9"),
        budget("web", {"app": "web"}, maxUnavailable=1),
    ]
    plan = pw.drain_plan(objects, ["n0"])
    (blocked,) = plan.blocked
    (unfit,) = blocked.unfit
    assert unfit.pod.startswith("default/web-")
    assert unfit.message.startswith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were")
    assert "add a node like n1" in unfit.remedies
    text = drain_report(plan).html()
    assert "1 more healthy pod of budget default/web: it has 3 of 4" in text
    assert f"Node n0: {unfit.pod} finds no node: 0/2 nodes are available" in text
    assert "it fits after this: add a node like n1" in text


def test_a_report_of_a_purchase_has_the_price_and_the_bound():
    types = [pw.NodeType(name="small", price=2, allocatable={"cpu": "2"})]
    found = pw.buy_nodes([make_pod("web", cpu="1"), make_pod("large", cpu="5")], types)
    text = purchase_report(found, types).html()
    assert "1 node for 2: 1 of 2 pending pods have a node then." in text
    large = "default/large has no node even then, nor on one more of each type: 0/2 nodes are"
    assert large in text


def test_a_report_of_a_drain_plan_names_pods_that_no_controller_creates_again():
    objects = [*nodes(1), make_pod("alone", cpu="1", node="n0")]
    report = drain_report(pw.drain_plan(objects, ["n0"]))
    (finding,) = (each for each in report.findings if "recreates" in each.text)
    assert finding.text == "Pods that no controller recreates:"
    assert finding.details == ("default/alone",)


def test_a_report_has_ten_losses_at_most():
    objects = [*nodes(12), *(owned(f"x{i}", f"n{i}", "4") for i in range(12))]
    seen: list[tuple[int, int]] = []
    question = pw.CapacityQuestion(loss=("node",))
    scheduler = Scheduler()
    scheduler.add(*objects)
    found = capacity_in(scheduler, objects, question, lambda *part: seen.append(part))
    report = capacity_report(found, question)
    assert len([each for each in report.findings if "after the loss" in each.text]) == 10
    assert seen == [(part, 12) for part in range(1, 13)]
