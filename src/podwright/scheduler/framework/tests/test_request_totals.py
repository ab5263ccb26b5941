"""The greatest total of requests, up to which totals are counted."""

import pytest

from podwright.apimachinery.schema import decode
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.preemption.tests.situations import cluster_of, node, pod, profile
from podwright.testing import make_node


@pytest.mark.parametrize(
    ("requests", "greatest"),
    [
        pytest.param({"cpu": "1", "memory": "1Gi"}, 200, id="both scores"),
        pytest.param({"example.com/gpu": "1"}, 100, id="no score of the balance"),
    ],
)
def test_each_score_that_reads_requests_adds_a_hundred(requests, greatest):
    containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
    incoming = pod("p", containers=containers)
    ranking = PluginRunner(profile(), cluster_of(node("n"))).ranking_of(incoming)
    assert ranking._requests is not None
    assert ranking._requests.greatest == greatest


def test_totals_of_new_requests_follow_pods_nodes_and_numbers():
    # Enough nodes that single changes are followed instead of all slots read again.
    cluster = cluster_of(*(node(f"n{i}", cpu="4") for i in range(100)))
    kept = PluginRunner(profile(), cluster)
    changes = [
        lambda: cluster.place(pod("a", cpu="3"), 7),
        lambda: cluster.put(node("n8", cpu="1")),
        lambda: cluster.put(node("new", cpu="64")),
        lambda: cluster.remove("default/a"),
        lambda: cluster.delete(node("n3", cpu="4")),
        lambda: [cluster.place(pod(f"many-{i}", cpu="1"), i + 10) for i in range(20)],
        # More than the journal of pods keeps.
        lambda: [cluster.place(pod(f"more-{i}", cpu="1m"), 50) for i in range(3_000)],
    ]
    for number, change in enumerate(changes):
        change()
        # No two have the same requests, so nothing but the nodes is remembered.
        requests = {"cpu": f"{1_000 + number}m", "memory": "1Gi"}
        containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
        incoming = pod("p", containers=containers)
        found = kept.decide(incoming, cycle_number=number)
        assert found == PluginRunner(profile(), cluster).decide(incoming, cycle_number=number)
        assert found.node


def test_a_spare_ranking_serves_requests_of_other_kinds_in_turn():
    with_gpus = make_node("gpu", cpu=8, resources={"example.com/gpu": 4})
    cluster = cluster_of(node("small", cpu="1"), node("large", cpu="8"), with_gpus)
    kept = PluginRunner(profile(), cluster)
    kinds = [
        {"cpu": "700m", "memory": "1Gi"},
        {"cpu": "701m", "memory": "1Gi", "example.com/gpu": "1"},
        {"cpu": "1500m"},
        {"cpu": "702m", "memory": "20Gi"},
        {},
        {"cpu": "703m", "memory": "2Gi", "example.com/gpu": "5"},
        {"memory": "3Gi"},
        {"cpu": "704m", "memory": "1Gi"},
    ]
    for number, kind in enumerate(kinds * 2):
        # No two request the same, so no ranking is kept.
        requests = kind | ({"memory": f"{number}Mi"} if number >= len(kinds) else {})
        containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
        incoming = pod("p", containers=containers)
        found = kept.decide(incoming, cycle_number=number)
        assert found == PluginRunner(profile(), cluster).decide(incoming, cycle_number=number)


def incoming_with(**requests: str):
    containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
    return pod("p", containers=containers)


@pytest.mark.parametrize(
    ("requests", "is_spare"),
    [
        pytest.param({"cpu": "700m", "memory": "1Gi"}, True, id="other amounts"),
        pytest.param({"example.com/gpu": "1"}, False, id="without a score of the balance"),
    ],
)
def test_pods_with_requests_of_their_own_use_one_spare_ranking(requests, is_spare):
    runner = PluginRunner(profile(), cluster_of(node("a"), node("b", cpu="8")))
    for number in range(3):
        runner.decide(incoming_with(cpu=f"{500 + number}m", memory="1Gi"), cycle_number=number)
    spare = runner.ranking
    runner.decide(incoming_with(**requests), cycle_number=3)
    assert (runner.ranking is spare) is is_spare


@pytest.mark.parametrize(
    "capacity",
    [
        pytest.param(107_374_182_399, id="of a usual node"),
        pytest.param(281_474_976_710_599, id="of one whose quotient no float64 holds"),
        pytest.param(28_147_497_671_065_599, id="of one whose products no float64 holds"),
    ],
)
def test_totals_are_those_of_whole_numbers(capacity):
    # The pod requests a hundredth of the memory, rounded up: 98, and not 99, are left.
    amounts = {"cpu": "32", "memory": str(capacity), "pods": "110"}
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": amounts},
        }
        for name in "ab"
    ]
    runner = PluginRunner(profile(), cluster_of(*map(decode, nodes)))
    incoming = incoming_with(cpu="960m", memory=str(capacity // 100 + 1))
    for number in range(3):
        decision = runner.decide(incoming, cycle_number=number)
        found = runner.explain(incoming, cycle_number=number, now_ns=0)
        (fit,) = [score for score in found.scores if score.plugin == "NodeResourcesFit"]
        assert fit.raw == {"a": 97, "b": 97}
        assert found.totals == {"a": decision.total, "b": decision.total}


def test_totals_of_a_limited_number_of_requests_are_kept():
    runner = PluginRunner(profile(), cluster_of(node("a", cpu="64"), node("b", cpu="64")))
    for number in range(5):
        runner.decide(incoming_with(cpu=f"{number}m"), cycle_number=number)
    assert not runner._rankings._scratch.by_recipe
    for number in range(140):
        # The totals of a new recipe are not kept.
        requests = {"cpu": f"{100 + number // 2}m", "memory": "1Gi"}
        runner.decide(incoming_with(**requests), cycle_number=number)
    assert 60 < len(runner._rankings._scratch.by_recipe) <= 64


@pytest.mark.parametrize("node_count", [1, 2, 3])
def test_a_spare_ranking_starts_over_for_each_pod(node_count):
    # As many changes of nodes as there are nodes, and no change of pods.
    cluster = cluster_of(*(node(f"n{i}", cpu="4") for i in range(node_count)))
    runner = PluginRunner(profile(), cluster)
    for number, cpu in enumerate((100, 101, 5_000, 102, 6_000, 3_999)):
        incoming = incoming_with(cpu=f"{cpu}m", memory="1Gi")
        decision = runner.decide(incoming, cycle_number=number)
        assert decision.feasible_count == (node_count if cpu < 4_000 else 0)
