"""Stale DisruptionTarget conditions are reset."""

from __future__ import annotations

import pytest

from podwright.cluster.controllers.policies.disruption_budget import StaleDisruptionController
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, at, document
from podwright.cluster.store import POD


def target(cluster: Cluster) -> dict[str, object]:
    (found,) = [
        each
        for each in cluster.status(POD, "default/a")["conditions"]
        if each["type"] == "DisruptionTarget"
    ]
    return dict(found)


@pytest.mark.parametrize(
    ("reason", "phase", "is_taken_back"),
    [
        ("EvictionByEvictionAPI", "Running", True),
        ("PreemptionByScheduler", "Pending", True),
        ("TerminationByKubelet", "Running", False),
        ("EvictionByEvictionAPI", "Failed", False),
    ],
)
def test_a_stale_condition_is_reset_after_two_minutes(reason, phase, is_taken_back):
    cluster = Cluster((StaleDisruptionController,), stages=())
    cluster.add(document("Node", "n1"), a_pod("a"))
    cluster.run(10)
    said = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": "soon",
        "lastTransitionTime": at(10),
    }
    cluster.edit(POD, "default/a", "status", phase=phase, conditions=[said])
    cluster.run(129)
    assert target(cluster) == said
    cluster.replace_controllers()
    cluster.run(131)
    if not is_taken_back:
        assert target(cluster) == said
        return
    assert target(cluster) == {
        "type": "DisruptionTarget",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": at(130),
        "observedGeneration": 1,
    }


def test_the_condition_of_a_terminating_pod_is_kept():
    cluster = Cluster((StaleDisruptionController,), stages=())
    cluster.add(document("Node", "n1"), a_pod("a"))
    said = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": at(0)}
    cluster.edit(POD, "default/a", "status", conditions=[said])
    cluster.delete(POD, "default/a")
    cluster.run(1_000)
    assert target(cluster) == said
