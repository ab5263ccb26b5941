"""Totals that follow placed pods are those of a new runner, whatever is scored beside requests."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, with_node_name
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework import (
    Cycle,
    NodeView,
    Normalization,
    Plugin,
    PluginRunner,
    Profile,
)
from podwright.scheduler.preemption.tests.situations import profile
from podwright.testing import make_node, make_pod

SELECTS = {"labelSelector": {"matchLabels": {"app": "a"}}}


def spread(when: str) -> dict[str, Any]:
    one = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": when}
    return {"topologySpreadConstraints": [one | SELECTS]}


PREFERS = {
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 50,
                    "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname"} | SELECTS,
                }
            ]
        }
    }
}
PORT = {"containers": [{"name": "c", "image": "i", "ports": [{"hostPort": 80}],
                        "resources": {"requests": {"cpu": "100m"}}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "huge"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param(spread("ScheduleAnyway"), False, id="preferred zones"),
        pytest.param(spread("DoNotSchedule"), False, id="required zones"),
        pytest.param(PREFERS, False, id="other pods"),
        pytest.param(PORT, False, id="ports"),
        pytest.param({}, True, id="a pod with a huge request comes meanwhile"),
        pytest.param(PREFERS, True, id="and other pods"),
    ],
)
def test_totals_are_the_same_after_each_placement(spec: dict[str, Any], huge: bool) -> None:
    cluster = Cluster()
    for number in range(9):
        cluster.put(make_node(f"n{number}", cpu=str(4 + number % 4), zone="abc"[number % 3]))
    kept = PluginRunner(profile(), cluster)

    def pod(name: str) -> Pod:
        if spec is PORT:
            return make_pod(name, labels={"app": "a"}, spec=spec)
        return make_pod(name, labels={"app": "a"}, spec=spec, cpu="500m", memory="1Gi")

    for number in range(18):
        one = pod(f"p{number}")
        found = kept.decide(one, cycle_number=number)
        expected = PluginRunner(profile(), cluster).decide(one, cycle_number=number)
        assert (found.node, found.total, found.tie_count, found.feasible_count) == (
            expected.node, expected.total, expected.tie_count, expected.feasible_count
        )  # fmt: skip
        cluster.put(with_node_name(one, found.node))
        if number % 3 == 2:
            # This node may become the best one again.
            cluster.remove(f"default/p{number - 1}")
        if huge and number == 3:
            cluster.put(make_pod("huge", cpu="9000000000000000", memory="8Ei", node="n0"))


@pytest.mark.parametrize("is_known", [False, True])
def test_scores_of_requests_are_not_kept_where_sums_may_overflow(is_known: bool) -> None:
    cluster = Cluster()
    for number in range(3):
        cluster.put(make_node(f"n{number}"))
    runner = PluginRunner(profile(), cluster)
    if is_known:
        for number in range(3):
            runner.decide(make_pod("p", cpu="1"), cycle_number=number)
        assert not runner.ranking.sweeping_scores
    cluster.put(make_pod("huge", cpu="9000000000000000", memory="8Ei", node="n0"))
    for number in range(3):
        runner.decide(make_pod("p", cpu="1"), cycle_number=number)
        sweeping = {plugin.name for plugin, _ in runner.ranking.sweeping_scores}
        assert sweeping == {"NodeResourcesFit", "NodeResourcesBalancedAllocation"}


class Labelled(Plugin):
    """Scores a node by its label; the scores are scaled to the greatest one."""

    name = "Labelled"
    score_reads = Reads.NODE
    normalization = Normalization.DEFAULT

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return int(node.labels["rate"])


@pytest.mark.parametrize(
    ("put", "is_settled"),
    [
        pytest.param([], True, id="one score for all nodes needs no scaling"),
        pytest.param([("n1", "4")], True, id="a node is put again as it is"),
        pytest.param([("n1", "4"), ("n2", "4")], True, id="two are"),
        pytest.param([("n3", "4")], True, id="a new one has the same score"),
        pytest.param([("n1", "5")], False, id="one has a higher score"),
        pytest.param([("n1", "3")], False, id="one has a lower score"),
        pytest.param([("n3", "0")], False, id="a new one has another score"),
        pytest.param([("n1", "4"), ("n2", "5")], False, id="one of two has another score"),
    ],
)
def test_totals_are_settled_while_a_scaled_score_is_the_same_for_all_nodes(
    put: list[tuple[str, str]], is_settled: bool
) -> None:
    cluster, plugin = Cluster(), Labelled()
    for name in ("n0", "n1", "n2"):
        cluster.put(make_node(name, labels={"rate": "4"}))
    runner = PluginRunner(Profile(scheduler_name="s", score=((plugin, 1),)), cluster)
    for number in range(3):
        runner.decide(make_pod("p"), cycle_number=number)
    assert runner.ranking.is_settled
    for name, rate in put:
        cluster.put(make_node(name, labels={"rate": rate}))
    decision = runner.decide(make_pod("p"), cycle_number=4)
    assert runner.ranking.is_settled is is_settled
    rates = [*({"n0": "4", "n1": "4", "n2": "4"} | dict(put)).values()]
    assert (decision.total, decision.tie_count) == (100, rates.count(max(rates)))
