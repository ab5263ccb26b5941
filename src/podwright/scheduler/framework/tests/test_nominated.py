"""Nominated pods count on their node, and the first filter that rejects is named.

Upstream: pkg/scheduler/framework/runtime/framework.go, RunFilterPluginsWithNominatedPods
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.scheduler.columns import Reads
from podwright.scheduler.framework import Cycle, NodeView, Plugin, PluginRunner, Status
from podwright.scheduler.preemption.tests.situations import cluster_of, pod, profile
from podwright.testing import make_node

TAINTED = {"taints": ["k=v:NoSchedule"]}
LAST = {"labels": {"last": ""}}


class Last(Plugin):
    """Rejects the nodes of its label, after all other filters."""

    name = "Last"
    filter_reads = Reads.NODE

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("last") if "last" in node.labels else Status.OK


@pytest.mark.parametrize(
    ("given", "nominated_priority", "message"),
    [
        pytest.param({}, 5, "1 Insufficient cpu.", id="there is no room beside it"),
        pytest.param({}, 4, "", id="one of lower priority does not count"),
        pytest.param(
            TAINTED,
            5,
            "1 node(s) had untolerated taint(s).",
            id="a filter before the sums rejects the node, too",
        ),
        pytest.param(LAST, 5, "1 Insufficient cpu.", id="a filter after the sums does, too"),
        pytest.param(
            TAINTED | LAST,
            5,
            "1 node(s) had untolerated taint(s).",
            id="filters before and after the sums reject it",
        ),
        pytest.param(LAST, 4, "1 last.", id="a filter after the sums alone"),
    ],
)
def test_a_node_with_a_nominated_pod(
    given: dict[str, Any], nominated_priority: int, message: str
) -> None:
    cluster = cluster_of(make_node("n", cpu="2", **given))
    cluster.nominate(pod("first", "2", priority=nominated_priority), "n")
    decision = PluginRunner(profile([Last]), cluster).decide(
        pod("p", "1", priority=5), cycle_number=1
    )
    assert decision.message == (f"0/1 nodes are available: {message}" if message else "")
    assert decision.node == ("" if message else "n")


def test_a_pod_does_not_count_on_the_node_to_which_it_is_nominated_itself() -> None:
    cluster = cluster_of(make_node("n", cpu="2"))
    nominated = pod("p", "2", priority=5)
    cluster.nominate(nominated, "n")
    runner = PluginRunner(profile(), cluster)
    assert runner.decide(nominated, cycle_number=1).node == "n"
    # Another one that was created with its name is another pod.
    again = msgspec.structs.replace(
        nominated, metadata=msgspec.structs.replace(nominated.metadata, uid="again")
    )
    assert runner.decide(again, cycle_number=2).node == ""
