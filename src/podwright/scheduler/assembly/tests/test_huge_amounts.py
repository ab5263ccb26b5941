"""Amounts whose scores overflow: the cycle fails, as upstream's does, and nothing else breaks.

Upstream: pkg/scheduler/framework/runtime/framework.go, `RunScorePlugins`
"""

from __future__ import annotations

import re

import pytest

import podwright as pw
from podwright.apimachinery.objects import decode_pod
from podwright.testing import make_node, make_pod

INVALID = (
    r'applying score defaultWeights on Score plugins: plugin "NodeResources\w+" returns an invalid'
    r" score -?\d+, it should in the range of \[0, 100\] after normalizing"
)


def scheduler_of(*nodes: pw.Node) -> pw.Scheduler:
    scheduler = pw.Scheduler(seed=1)
    scheduler.add(*nodes)
    return scheduler


def test_a_request_that_overflows_fails_if_there_are_nodes_to_score():
    scheduler = scheduler_of(make_node("n1"), make_node("n2"))
    assert scheduler.schedule(make_pod("before")).node
    # 12 EB and a byte are a negative number of 64 bits, which fits every node.
    huge = decode_pod(
        {
            "metadata": {"name": "huge"},
            "spec": {
                "containers": [
                    {"name": "a", "resources": {"requests": {"memory": "12E"}}},
                    {"name": "b", "resources": {"requests": {"memory": "1"}}},
                ]
            },
        }
    )
    decision = scheduler.schedule(huge)
    assert decision.node == ""
    assert re.fullmatch(INVALID, decision.message)
    assert scheduler.schedule(make_pod("after")).node


def test_a_placed_pod_whose_request_overflows_with_a_default_fails_the_next():
    """Alone, 12 EB count as no memory; with the default of the other container they are negative.

    Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/amount.go, AsScaledInt64
    """
    placed = {
        "metadata": {"name": "huge"},
        "spec": {
            "nodeName": "n1",
            "containers": [
                {"name": "a", "resources": {"requests": {"cpu": "1"}}},
                {"name": "b", "resources": {"requests": {"memory": "12E"}}},
            ],
        },
    }
    scheduler = scheduler_of(make_node("n1"), make_node("n2"))
    scheduler.add(decode_pod(placed))
    decision = scheduler.schedule(make_pod("web", cpu="1"))
    assert decision.node == ""
    assert re.fullmatch(INVALID, decision.message)


@pytest.mark.parametrize(
    ("memory", "node"),
    [
        pytest.param("1Pi", "n1", id="a huge node with more free memory"),
        pytest.param("7Ei", "n2", id="a node whose hundredfold memory overflows"),
    ],
)
def test_huge_nodes_are_scored(memory, node):
    scheduler = scheduler_of(make_node("n1", memory=memory), make_node("n2", memory="4Gi"))
    assert scheduler.schedule(make_pod("web")).node == node


IDLE_FIRST = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: memory, weight: 1}]
        requestedToCapacityRatio:
          shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]
"""


@pytest.mark.parametrize(
    ("memory", "used", "node"),
    [
        pytest.param("90P", "89999999999M", "n2", id="a full node"),
        pytest.param("150P", "149999999999M", "n1", id="an overflow, as if it were idle"),
    ],
)
def test_utilizations_of_huge_nodes_are_at_the_ends_of_the_shape(memory, used, node):
    """Upstream: pkg/scheduler/framework/plugins/helper/shape_score.go, BuildBrokenLinearFunction"""
    configuration = pw.read_configuration(IDLE_FIRST, source="test")
    scheduler = pw.Scheduler(configuration, seed=1)
    full, half = make_node("n1", memory=memory), make_node("n2", memory="4Gi")
    scheduler.add(full, half)
    scheduler.add(make_pod("all", memory=used, node="n1"))
    scheduler.add(make_pod("some", memory="2Gi", node="n2"))
    assert scheduler.schedule(make_pod("web", memory="1M")).node == node
