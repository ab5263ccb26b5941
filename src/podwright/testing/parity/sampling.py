"""Node order and sampling: the nodes that are evaluated in clusters of 100 and more."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import decode_pod
from podwright.scheduler.framework import PluginRunner, TieRule, nodes_to_find
from podwright.testing.parity.comparison import Case, Check, equal, only
from podwright.testing.parity.setup import cluster_of, profiles_of


def check_sampling(case: Case) -> Check:
    """Compare the order of nodes, and per step the start, the end and the result of the search."""
    # 0 selects upstream's adaptive rule; podwright evaluates all nodes if unset.
    percentage = case.get("percentage_of_nodes_to_score") or 0
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": percentage,
    }
    (profile,) = profiles_of(config, tie_rule=TieRule.HEAP).values()
    cluster = cluster_of(case["objects"])
    runner = PluginRunner(profile, cluster)
    names = cluster.nodes.names
    order = [names[slot] for slot in cluster.nodes.visiting_order()]
    yield from only("", case["expect"], ("node_order", "steps"))
    yield equal("node_order", case["expect"]["node_order"], order)
    for number, (step, expect) in enumerate(
        zip(case["steps"], case["expect"]["steps"], strict=True)
    ):
        pod = decode_pod(step["pod"])
        ranking = runner.ranking_of(pod)
        totals = ranking.sweep_filters(cluster)
        search = runner.node_search.run(totals, ranking.outcome)
        found = [names[slot] for slot in search.examined if totals[slot] >= 0]
        runner.decide(pod, cycle_number=number)
        actual: dict[str, Any] = {
            "start": search.start,
            "nodes_to_find": nodes_to_find(len(order), percentage),
            "feasible": found,
            "failed": len(search.examined) - len(found),
            "next_start": runner.node_search.next_start,
        }
        for field in sorted(expect.keys() | actual.keys()):
            yield equal(field, expect.get(field), actual.get(field))
