"""Totals that follow placed pods are those of a new runner, whatever is scored beside requests."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, with_node_name
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import PluginRunner
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
