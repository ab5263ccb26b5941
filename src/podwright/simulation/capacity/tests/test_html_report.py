"""Reports: findings first, text escaped, nothing loaded from elsewhere."""

from __future__ import annotations

import podwright as pw
from podwright.simulation.capacity import capacity_html, drain_plan_html
from podwright.simulation.capacity.tests.test_counting import owned, workload
from podwright.simulation.capacity.tests.test_drains import budget, nodes
from podwright.testing import make_node, make_pod


def test_a_report_of_capacity_begins_with_its_findings():
    objects = [make_node("n0", cpu="4", zone="<a>"), owned("x", "n0", "2")]
    question = pw.CapacityQuestion(
        pods=(make_pod("web", cpu="1"),), headroom=True, loss=("node", "zone")
    )
    text = capacity_html(pw.capacity(objects, question))
    assert text.index("2 pods of web fit on 1 nodes.") < text.index("<dl") < text.index("<table")
    assert "After the loss of node n0, 1 pods are pending." in text
    assert "&lt;a&gt;" in text
    assert "<a>" not in text
    assert "http" not in text
    assert "<script" not in text


def test_a_report_says_that_losses_leave_no_pod_pending():
    objects = [*nodes(2), owned("x", "n0", "1")]
    text = capacity_html(pw.capacity(objects, pw.CapacityQuestion(loss=("node",))))
    assert "No pod is pending after any of 2 losses." in text


def test_a_report_of_a_drain_plan_says_what_blocks():
    objects = [*nodes(2, "2"), workload(cpu="2", replicas=2)]
    text = drain_plan_html(pw.drain_plan(objects, ["n0"]))
    assert "1 nodes can be drained in 1 steps." in text
    assert "finds no node: 0/2 nodes are available" in text
    assert "It fits after this: uncordon node n0" in text
    objects = [*nodes(1), workload(replicas=1), budget("web", {"app": "web"}, minAvailable=1)]
    text = drain_plan_html(pw.drain_plan(objects, ["n0"]))
    assert "Node n0 cannot be drained: Cannot evict pod" in text
    assert "budget default/web never allows an eviction" in text
