"""The plugins that generate and score placements of pod groups."""

from __future__ import annotations

import numpy as np
import pytest

from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import NodeResourcesFitArgs, ResourceSpec, ScoringStrategy
from podwright.scheduler.framework import Members, Placement, Status
from podwright.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podwright.scheduler.plugins.pod_group_pods_count import PodGroupPodsCount
from podwright.scheduler.plugins.topology_placement_generator import TopologyPlacementGenerator
from podwright.testing import make_node, make_pod

GPU = "example.com/gpu"


def cluster_of(*objects) -> Cluster:
    cluster = Cluster()
    for each in objects:
        cluster.put(each)
    return cluster


def placement(*slots: int, pods=()) -> Placement:
    return Placement("x", np.array(slots, dtype=np.int32), tuple(pods))


def fit(*resources: tuple[str, int], kind: str = "LeastAllocated") -> NodeResourcesFit:
    specs = tuple(ResourceSpec(name=name, weight=weight) for name, weight in resources)
    strategy = ScoringStrategy(type=kind, resources=specs)
    return NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=strategy))


@pytest.mark.parametrize(
    ("resources", "pods", "score"),
    [
        pytest.param([("cpu", 1)], [("2", {})], 50, id="with what the nodes have"),
        pytest.param([("cpu", 1)], [("2", {}), ("1", {})], 66, id="of all pods"),
        pytest.param([("cpu", 1)], [("9", {})], 100, id="at most all"),
        pytest.param([("cpu", 1), (GPU, 3)], [("2", {})], 50, id="requested scalars only"),
        pytest.param(
            [("cpu", 1), (GPU, 3)], [("2", {GPU: "1"})], (50 + 3 * 75) // 4,
            id="weighted, of the nodes that have it",
        ),
        pytest.param([("pods", 1)], [("2", {})], 0, id="nothing that counts"),
    ],
)  # fmt: skip
def test_nodes_are_scored_together_by_how_full_they_are(resources, pods, score):
    """Upstream: noderesources/resource_allocation.go, scorePlacement"""
    cluster = cluster_of(
        make_node("a", cpu="4", resources={GPU: "4"}), make_node("b", cpu="2"),
        make_node("other", cpu="90", resources={GPU: "90"}),
        make_pod("here", node="a", cpu="1", resources={GPU: "2"}),
        make_pod("there", node="other", cpu="70"),
    )  # fmt: skip
    made = [make_pod(f"p{n}", cpu=cpu, resources=more) for n, (cpu, more) in enumerate(pods)]
    found = fit(*resources).score_placement(cluster, "d/g", placement(0, 1, pods=made))
    assert found == score


def test_pods_without_requests_count_as_small_ones():
    cluster = cluster_of(make_node("a", cpu="1"))
    found = fit(("cpu", 1)).score_placement(cluster, "d/g", placement(0, pods=[make_pod("p")]))
    assert found == 10


class Handle:
    def __init__(self, *scheduled: str) -> None:
        self.scheduled = scheduled

    def members(self, plugin, group):
        assert (plugin, group) == ("GangScheduling", "d/g")
        found = Members()
        found.scheduled |= {*self.scheduled}
        return found


def test_members_with_a_node_count_in_every_placement():
    plugin = PodGroupPodsCount()
    plugin.handle = Handle("u1", "u2")  # type: ignore[assignment]
    pods = [make_pod(name) for name in "abc"]
    assert plugin.score_placement(Cluster(), "d/g", placement(0, pods=pods)) == 5


def test_scores_are_per_cent_of_the_greatest():
    assert PodGroupPodsCount().normalize_placement_scores([3, 4, 1]) == [75, 100, 25]
    with pytest.raises(ValueError, match="no pods from pod group are assigned"):
        PodGroupPodsCount().normalize_placement_scores([0, 0])


def test_a_group_that_is_gone_has_no_placements():
    status = TopologyPlacementGenerator().generate_placements(Cluster(), "d/g")
    assert isinstance(status, Status)
    assert status.message == 'podgroup.scheduling.k8s.io "g" not found'
