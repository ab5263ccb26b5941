"""Filters and scores without their PreFilter or PreScore, in plugins that do not need it.

Upstream: pkg/scheduler/framework/plugins/*/, Filter and Score, which compute what they do not find
in the CycleState: `getPreFilterState`, `getPreScoreState`
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.scheduler.columns.tests.storage_objects import claim, csi_node, using, volume
from podwright.scheduler.framework import Code, Plugin, Status
from podwright.scheduler.framework.status import MissingStateError
from podwright.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from podwright.scheduler.plugins.node_affinity import NodeAffinity
from podwright.scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from podwright.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podwright.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from podwright.scheduler.plugins.pod_topology_spread import PodTopologySpread
from podwright.scheduler.plugins.taint_toleration import TaintToleration
from podwright.scheduler.plugins.tests.one_node_at_a_time import (
    cycle_of,
    filtered,
    node,
    pod,
    scored,
)
from podwright.scheduler.plugins.volume_restrictions import VolumeRestrictions
from podwright.scheduler.plugins.volume_zone import VolumeZone

ZONE = "topology.kubernetes.io/zone"
TAINT = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
CLUSTER = (
    node("a", labels={ZONE: "a", "disk": "ssd"}),
    node("b", labels={ZONE: "b"}, spec=TAINT),
    node("c", status={"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "110"}}),
    claim("c", bound_to="v"),
    volume("v", labels={ZONE: "a"}, csi={"driver": "csi.x", "volumeHandle": "h"}, claim="c"),
    csi_node("a", csi_x=0),
)
USING = pod(volumes=using("c"))
GONE = pod(volumes=using("gone"))
PLAIN = pod()
SELECTING = pod(
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 5,
                    "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
                }
            ],
        }
    }
)


@pytest.mark.parametrize(
    ("plugin", "incoming", "rejected"),
    [
        pytest.param(VolumeZone(), USING, {"b"}, id="zones of volumes"),
        pytest.param(VolumeZone(), GONE, {"a", "b", "c"}, id="a claim that is gone"),
        pytest.param(NodeVolumeLimits(), USING, {"a"}, id="numbers of volumes"),
        pytest.param(NodeVolumeLimits(), GONE, {"a", "b", "c"}, id="volumes that are unknown"),
        pytest.param(NodeVolumeLimits(), PLAIN, set(), id="no volumes"),
        pytest.param(TaintToleration(), PLAIN, {"b"}, id="taints"),
        pytest.param(NodeAffinity(), SELECTING, {"c"}, id="affinity to nodes"),
    ],
)
def test_filters(plugin: Plugin, incoming: Any, rejected: set[str]) -> None:
    answers = filtered(plugin, cycle_of(incoming, *CLUSTER))
    assert {name for name, answer in answers.items() if not answer.is_success} == rejected
    prepared = cycle_of(incoming, *CLUSTER)
    if plugin.implements("pre_filter") and plugin.pre_filter(prepared) == Status.OK:
        assert filtered(plugin, prepared) == answers


@pytest.mark.parametrize(
    ("plugin", "incoming"),
    [
        pytest.param(NodeAffinity(), SELECTING, id="affinity to nodes"),
        pytest.param(NodeResourcesFit(), pod(requests={"cpu": "500m"}), id="requests"),
        pytest.param(
            NodeResourcesBalancedAllocation(), pod(requests={"cpu": "500m"}), id="balance"
        ),
    ],
)
def test_scores(plugin: Plugin, incoming: Any) -> None:
    prepared = cycle_of(incoming, *CLUSTER)
    assert plugin.pre_score(prepared) == Status.OK
    points = scored(plugin, prepared)
    assert scored(plugin, cycle_of(incoming, *CLUSTER)) == points
    assert len(set(points.values())) > 1, "the nodes differ"


SPREAD: dict[str, Any] = {
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": {}, "whenUnsatisfiable": when}
        for when in ("DoNotSchedule", "ScheduleAnyway")
    ]
}


@pytest.mark.parametrize(
    ("plugin", "incoming", "text"),
    [
        (
            InterPodAffinity(),
            PLAIN,
            'error reading "PreFilterInterPodAffinity" from cycleState: not found',
        ),
        (
            NodeResourcesFit(),
            PLAIN,
            'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
        ),
        (
            PodTopologySpread(),
            pod(**SPREAD),
            'reading "PreFilterPodTopologySpread" from cycleState: not found',
        ),
        (VolumeRestrictions(), USING, 'cannot read "PreFilterVolumeRestrictions" from cycleState'),
    ],
)
def test_filters_that_need_what_pre_filter_found(plugin: Plugin, incoming: Any, text: str) -> None:
    answers = filtered(plugin, cycle_of(incoming, *CLUSTER))
    assert {(each.code, each.message) for each in answers.values()} == {(Code.ERROR, text)}


@pytest.mark.parametrize(
    ("plugin", "incoming", "text"),
    [
        (InterPodAffinity(), PLAIN, 'failed to read "PreScoreInterPodAffinity" from'),
        (PodTopologySpread(), pod(**SPREAD), 'error reading "PreScorePodTopologySpread" from'),
        (TaintToleration(), PLAIN, 'failed to read "PreScoreTaintToleration" from'),
    ],
)
def test_scores_that_need_what_pre_score_found(plugin: Plugin, incoming: Any, text: str) -> None:
    with pytest.raises(MissingStateError) as raised:
        scored(plugin, cycle_of(incoming, *CLUSTER))
    assert str(raised.value) == f"{text} cycleState: not found"
