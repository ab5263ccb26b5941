"""Autoscalers keep their bounds, and report that there are no metrics."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from podwright.cluster.controllers.autoscaling.horizontal_autoscaler import (
    HorizontalAutoscalerController,
)
from podwright.cluster.controllers.kinds import DEPLOYMENT, HPA
from podwright.cluster.controllers.tests.staged_cluster import Cluster, at, document

UNAVAILABLE = (
    "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics"
    " from resource metrics API: the server could not find the requested resource (get"
    " pods.metrics.k8s.io)"
)


def cluster_with(
    replicas: int,
    target: str = "web",
    kind: str = "Deployment",
    makers: Any = (HorizontalAutoscalerController,),
    **spec: Any,
):
    cluster = Cluster(list(makers))
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }
    workload = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    cluster.add(
        document("Deployment", "web", api="apps/v1", namespace="default", spec=workload),
        document(
            "HorizontalPodAutoscaler",
            "web",
            api="autoscaling/v2",
            namespace="default",
            spec={
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": target},
                "minReplicas": 2,
                "maxReplicas": 5,
            }
            | spec,
        ),
    )
    return cluster


def conditions(cluster: Cluster) -> dict[str, tuple[str, str, str]]:
    found = cluster.status(HPA, "default/web").get("conditions") or ()
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


def replicas(cluster: Cluster) -> int:
    return int(cluster.raw(DEPLOYMENT, "default/web")["spec"]["replicas"])


@pytest.mark.parametrize(
    ("present", "becomes", "reason"),
    [
        (1, 2, "Current number of replicas below Spec.MinReplicas"),
        (9, 5, "Current number of replicas above Spec.MaxReplicas"),
    ],
)
def test_a_target_is_scaled_to_the_bound_that_it_exceeds(present, becomes, reason):
    cluster = cluster_with(present)
    cluster.run(14)
    assert replicas(cluster) == present
    cluster.run(16)
    assert replicas(cluster) == becomes
    status = cluster.status(HPA, "default/web")
    assert (status["currentReplicas"], status["desiredReplicas"]) == (present, becomes)
    assert status["lastScaleTime"] == at(15)
    assert cluster.event_notes("SuccessfulRescale") == [f"New size: {becomes}; reason: {reason}"]
    note = f"the HPA controller was able to update the target scale to {becomes}"
    assert conditions(cluster) == {"AbleToScale": ("True", "SucceededRescale", note)}


@pytest.mark.parametrize(("present", "becomes"), [(1, 2), (9, 5), (3, 3)])
def test_without_declared_usage_a_simulation_keeps_the_bounds_and_does_nothing_else(
    present, becomes
):
    cluster = cluster_with(
        present, makers=(partial(HorizontalAutoscalerController, needs_usage=True),)
    )
    cluster.run(120)
    assert replicas(cluster) == becomes
    if becomes == present:
        assert (cluster.events, conditions(cluster)) == ([], {})


def test_without_metrics_the_status_and_the_events_say_so_every_period():
    cluster = cluster_with(3)
    cluster.run(16)
    assert conditions(cluster) == {
        "AbleToScale": (
            "True",
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        ),
        "ScalingActive": (
            "False",
            "FailedGetResourceMetric",
            f"the HPA was unable to compute the replica count: {UNAVAILABLE}",
        ),
    }
    status = cluster.status(HPA, "default/web")
    assert (status["currentReplicas"], status["desiredReplicas"]) == (3, 0)
    cluster.replace_controllers()
    version = cluster.get(HPA, "default/web").metadata.resource_version
    cluster.run(46)
    assert cluster.event_notes("FailedGetResourceMetric") == [UNAVAILABLE] * 3
    assert cluster.event_notes("FailedComputeMetricsReplicas")[0] == (
        "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric"
        f" value: {UNAVAILABLE}"
    )
    assert cluster.get(HPA, "default/web").metadata.resource_version == version
    assert replicas(cluster) == 3


def test_a_target_without_replicas_is_left_alone():
    cluster = cluster_with(0)
    cluster.run(60)
    assert replicas(cluster) == 0
    assert conditions(cluster)["ScalingActive"][1] == "ScalingDisabled"
    assert cluster.events == []


@pytest.mark.parametrize(
    ("target", "kind", "message"),
    [("none", "Deployment", 'deployments.apps "none" not found'), ("web", "Node", "not Node")],
)
def test_a_target_that_cannot_be_scaled_is_reported(target, kind, message):
    cluster = cluster_with(3, target, kind)
    cluster.run(16)
    status, reason, note = conditions(cluster)["AbleToScale"]
    assert (status, reason) == ("False", "FailedGetScale")
    assert note.endswith(message)
    (event,) = cluster.event_notes("FailedGetScale")
    assert event.endswith(message)


@pytest.mark.parametrize(
    ("metric", "reason", "message"),
    [
        (
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "memory",
                    "container": "main",
                    "target": {"type": "AverageValue", "averageValue": "1Gi"},
                },
            },
            "FailedGetContainerResourceMetric",
            "failed to get memory usage: unable to get metrics for resource memory",
        ),
        (
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "hits"},
                    "target": {"type": "AverageValue", "averageValue": "1"},
                },
            },
            "FailedGetPodsMetric",
            "unable to get metric hits: unable to fetch metrics from custom metrics API",
        ),
    ],
)
def test_other_metrics_are_missing_too(metric, reason, message):
    cluster = cluster_with(3, metrics=[metric])
    cluster.run(16)
    (note,) = cluster.event_notes(reason)
    assert note.startswith(message)
    assert conditions(cluster)["ScalingActive"][1] == reason
