"""Amounts of resources in refusals, and reasons without a rule of their own."""

from __future__ import annotations

import pytest

from podwright.scheduler.advice import pod_edits
from podwright.scheduler.advice.amounts import quantity_text
from podwright.scheduler.advice.fixes import Fixes
from podwright.scheduler.advice.rejections import _amounts
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import DEFAULT_GATES
from podwright.scheduler.framework import Code, Status
from podwright.testing import make_node, make_pod


@pytest.mark.parametrize(
    ("reason", "plans"),
    [
        ("node(s) didn't satisfy plugin(s) [NodePorts] simultaneously", None),
        ("node(s) of an unknown kind", []),
        ("", []),
    ],
)
def test_a_reason_without_a_rule_has_no_plan_unless_another_reason_covers_it(reason, plans):
    status = Status(Code.UNSCHEDULABLE, (reason,), plugin="NodeResourcesFit")
    pod = make_pod("p", cpu="1")
    scheduler = Scheduler()
    scheduler.add(pod)
    fixes = Fixes(scheduler.explain(pod.key), scheduler.cluster, DEFAULT_GATES)
    assert fixes._options(reason, status, make_node("n")) == plans


def test_amounts_are_python_integers_which_every_format_can_write():
    scheduler = Scheduler()
    scheduler.add(make_node("n", cpu="2", memory="4Gi"), make_pod("p", node="n", cpu="1500m"))
    cluster = scheduler.cluster
    status = Status(
        Code.UNSCHEDULABLE,
        ("Insufficient cpu", "Too many pods", "Insufficient example.com/x", "cpu"),
        plugin="NodeResourcesFit",
    )
    found = list(_amounts({"cpu": 700}, cluster, 0, status))
    assert found == [("Insufficient cpu", 700, 500, 2000)]
    assert [type(each) for each in found[0]] == [str, int, int, int]
    other = Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), plugin="TaintToleration")
    assert list(_amounts({"cpu": 700}, cluster, 0, other)) == []
    assert list(_amounts({"cpu": 700}, cluster, None, status)) == []


@pytest.mark.parametrize(
    ("cpu", "free", "text"),
    [
        ("1", 100, "reduce the cpu request from 1 to 100m"),
        ("1", 99, None),
        ("1", 5000, "reduce the cpu request from 1 to 999m"),
        ("2m", 5, "reduce the cpu request from 2m to 1m"),
        ("1m", 5, None),
        ("0", 5, None),
        ("0", 0, None),
    ],
)
def test_a_request_is_reduced_to_a_tenth_at_most_and_never_to_zero(cpu, free, text):
    found = pod_edits.shrink(make_pod("p", cpu=cpu), "cpu", free)
    assert (found and found.text) == text


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 999, "999m"),
        ("cpu", 1_000, "1"),
        ("memory", (1 << 20) - 1, "1048575"),
        ("memory", 1 << 20, "1Mi"),
        ("memory", (2 << 20) - 1, "1Mi"),
        ("memory", (1 << 30) - 1, "1023Mi"),
        ("memory", 1 << 30, "1Gi"),
        ("memory", (1 << 30) + (1 << 20), "1025Mi"),
        ("ephemeral-storage", 3 << 30, "3Gi"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("example.com/gpu", 1 << 30, str(1 << 30)),
        ("pods", 3, "3"),
    ],
)
def test_an_amount_is_written_as_a_quantity_rounded_down(resource, amount, text):
    assert quantity_text(resource, amount) == text
