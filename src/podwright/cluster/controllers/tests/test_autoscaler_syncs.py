"""What the controller of autoscalers requests in one period, as whole texts.

Upstream: pkg/controller/podautoscaler/horizontal.go
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from podwright.cluster.controllers.autoscaling.horizontal_autoscaler import (
    HorizontalAutoscalerController,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document

LABELS = {"app": "web"}


def an_autoscaler(
    name: str = "web", status: Any = None, api: str = "autoscaling/v2", **spec: Any
) -> Any:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return document(
        "HorizontalPodAutoscaler", name, api=api, namespace="shop",
        metadata={"uid": f"{name}-uid"},
        spec={"scaleTargetRef": reference, "maxReplicas": 5, **spec}, status=status or {},
    )  # fmt: skip


def a_deployment(replicas: int | None = 2, labels: Any = None) -> Any:
    spec: dict[str, Any] = {"selector": {"matchLabels": labels or LABELS}, "template": {}}
    spec |= {} if replicas is None else {"replicas": replicas}
    return document("Deployment", "web", api="apps/v1", namespace="shop", spec=spec)


def a_pod(name: str, cpu: str = "", memory: str = "", labels: Any = None) -> Any:
    """Return a pod that requests one processor and 1Gi, and declares what it uses."""
    used = {"cpu": cpu, "memory": memory}
    notes = {f"kwok.x-k8s.io/usage-{each}": text for each, text in used.items() if text}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": at(-1_000)}
    requests = {"requests": {"cpu": "1", "memory": "1Gi"}}
    return document(
        "Pod", name, namespace="shop", metadata={"labels": labels or LABELS, "annotations": notes},
        spec={"containers": [{"name": "c", "resources": requests}]},
        status={"phase": "Running", "startTime": at(-1_000), "conditions": [ready]},
    )  # fmt: skip


def using(*amounts: str) -> list[Any]:
    return [a_pod(f"p{index}", cpu) for index, cpu in enumerate(amounts)]


def a_bench(*objects: Any, **options: Any) -> SingleSync:
    return SingleSync(lambda lister: HorizontalAutoscalerController(lister, **options), *objects)


BY = "HorizontalPodAutoscaler shop/web"
SOURCE = "by horizontal-pod-autoscaler:"


def brief(request: str) -> list[str]:
    """Return the texts of a request; those of a status are its fields and conditions."""
    if not request.startswith(f"update {BY} status: "):
        return [request.replace(f"{BY} ", "").replace(f"{SOURCE} ", "")]
    found = []
    fields = re.split(r" (?=-?status\.)", request.removeprefix(f"update {BY} status: "))
    for field in fields:
        name, _, value = field.partition("=")
        if name == "status.conditions":
            found += [_shown(each) for each in json.loads(value)]
        else:
            found.append(field.removeprefix("status."))
    return found


def _shown(condition: dict[str, str]) -> str:
    assert condition["lastTransitionTime"] == at(15)
    return "{type} {status} {reason}: {message}".format(**condition)


def synced(*objects: Any) -> list[str]:
    """Return what the first period requests, which begins when an autoscaler is new."""
    bench = a_bench(*objects)
    assert bench.sync("shop/web") == ["sync shop/web at 15"]
    assert bench.sync("shop/web", 14.9) == []
    *found, last = bench.sync("shop/web", 15)
    assert last == "sync shop/web at 30"
    return [text for each in found for text in brief(each)]


CPU = "cpu resource utilization (percentage of request)"
ACTIVE = (
    "ScalingActive True ValidMetricFound: the HPA was able to successfully calculate a replica"
    f" count from {CPU}"
)
WITHIN = "ScalingLimited False DesiredWithinRange: the desired count is within the acceptable range"
READY = "AbleToScale True ReadyForNewScale: recommended size matches current size"
GOT = (
    "AbleToScale True SucceededGetScale: the HPA controller was able to get the target's current"
    " scale"
)


def able(replicas: int) -> str:
    return (
        "AbleToScale True SucceededRescale: the HPA controller was able to update the target"
        f" scale to {replicas}"
    )


def rescaled(replicas: int, reason: str) -> list[str]:
    return [
        f"update Deployment shop/web main: spec.replicas={replicas}",
        f"Normal SuccessfulRescale New size: {replicas}; reason: {reason}",
    ]


def metrics(value: str, percent: int) -> str:
    shown = {"averageValue": value, "averageUtilization": percent}
    return "currentMetrics=" + json.dumps(
        [{"type": "Resource", "resource": {"name": "cpu", "current": shown}}]
    )


def counts(current: int, desired: int, *, scaled: bool = False) -> list[str]:
    time = [f'lastScaleTime="{at(15)}"'] if scaled else []
    return [f"currentReplicas={current}", f"desiredReplicas={desired}", *time]


LIMITED = (
    "ScalingLimited True TooManyReplicas: the desired replica count is more than the maximum"
    " replica count"
)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            [an_autoscaler(), a_deployment(), *using("1600m", "800m")],
            [
                *rescaled(3, f"{CPU} above target"), able(3), ACTIVE, WITHIN,
                metrics("1200m", 120), *counts(2, 3, scaled=True),
            ],
            id="more",
        ),
        pytest.param(
            [an_autoscaler(), a_deployment(), *using("800m", "800m")],
            [READY, ACTIVE, WITHIN, metrics("800m", 80), *counts(2, 2)], id="as many",
        ),
        pytest.param(
            [an_autoscaler(), a_deployment(), *using("800m", "")],
            [READY, ACTIVE, WITHIN, metrics("800m", 80), *counts(2, 2)],
            id="as many, whatever one without metrics uses",
        ),
        pytest.param(
            [an_autoscaler(), a_deployment(3), *using("400m", "400m", "")],
            [READY, ACTIVE, WITHIN, metrics("400m", 40), *counts(3, 3)],
            id="one without metrics prevents fewer",
        ),
        pytest.param(
            [an_autoscaler(), a_deployment(5), *using(*["1600m"] * 5)],
            [READY, ACTIVE, LIMITED, metrics("1600m", 160), *counts(5, 5)], id="at the maximum",
        ),
        pytest.param(
            [an_autoscaler(), a_deployment(None), *using("800m")],
            [READY, ACTIVE, WITHIN, metrics("800m", 80), *counts(1, 1)], id="one by default",
        ),
        pytest.param(
            [an_autoscaler(maxReplicas=4), a_deployment(5)],
            [
                *rescaled(4, "Current number of replicas above Spec.MaxReplicas"), able(4),
                *counts(5, 4, scaled=True),
            ],
            id="above the maximum",
        ),
        pytest.param(
            [an_autoscaler(minReplicas=3), a_deployment(2)],
            [
                *rescaled(3, "Current number of replicas below Spec.MinReplicas"), able(3),
                *counts(2, 3, scaled=True),
            ],
            id="below the minimum",
        ),
        pytest.param(
            [an_autoscaler(minReplicas=2), a_deployment(2), *using("800m", "800m")],
            [READY, ACTIVE, WITHIN, metrics("800m", 80), *counts(2, 2)], id="at the minimum",
        ),
        pytest.param(
            [an_autoscaler(minReplicas=0), a_deployment(0)],
            [
                GOT,
                "ScalingActive False ScalingDisabled: scaling is disabled since the replica count"
                " of the target is zero",
                *counts(0, 0),
            ],
            id="none",
        ),
        pytest.param(
            [
                an_autoscaler(api="autoscaling/v1", targetCPUUtilizationPercentage=60),
                a_deployment(), *using("1600m", "800m"),
            ],
            [*rescaled(4, f"{CPU} above target"), *counts(2, 4, scaled=True)], id="version 1",
        ),
    ],
)  # fmt: skip
def test_a_period_of_an_autoscaler(objects, expected) -> None:
    assert synced(*objects) == expected


def memory(value: str = "256Mi") -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": value}
    return {"type": "Resource", "resource": {"name": "memory", "target": target}}


def cpu(percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def of_container(percent: int) -> dict[str, Any]:
    source = cpu(percent)["resource"] | {"container": "c"}
    return {"type": "ContainerResource", "containerResource": source}


EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "1"}},
}
NO_QUEUE = (
    "unable to get external metric queue: unable to fetch metrics from external metrics API: the"
    " server could not find the requested resource (get queue.external.metrics.k8s.io)"
)


def found_from(name: str) -> str:
    return (
        "ScalingActive True ValidMetricFound: the HPA was able to successfully calculate a replica"
        f" count from {name}"
    )


def test_an_amount_of_memory_is_shown_in_binary_units() -> None:
    pods = [a_pod(name, memory="512Mi") for name in "ab"]
    found = synced(an_autoscaler(metrics=[memory()]), a_deployment(), *pods)
    status = [{"type": "Resource", "resource": {"name": "memory", "current": {
        "averageValue": "512Mi"}}}]  # fmt: skip
    assert found == [
        *rescaled(4, "memory resource above target"), able(4), found_from("memory resource"),
        WITHIN, f"currentMetrics={json.dumps(status)}", *counts(2, 4, scaled=True),
    ]  # fmt: skip


def test_the_metric_of_a_container_is_named() -> None:
    found = synced(an_autoscaler(metrics=[of_container(50)]), a_deployment(), *using("1", "1"))
    name = "cpu container resource utilization (percentage of request)"
    current = {"averageValue": "1", "averageUtilization": 100}
    source = {"name": "cpu", "container": "c", "current": current}
    status = [{"type": "ContainerResource", "containerResource": source}]
    assert found == [
        *rescaled(4, f"{name} above target"), able(4), found_from(name), WITHIN,
        f"currentMetrics={json.dumps(status)}", *counts(2, 4, scaled=True),
    ]  # fmt: skip


def test_the_largest_proposal_decides_and_what_is_missing_is_reported() -> None:
    given = [cpu(160), EXTERNAL, cpu(80), cpu(100)]
    found = synced(an_autoscaler(metrics=given), a_deployment(), *using("1600m", "1600m"))
    shown = {"averageValue": "1600m", "averageUtilization": 160}
    status = {"type": "Resource", "resource": {"name": "cpu", "current": shown}}
    assert found == [
        f"Warning FailedGetExternalMetric {NO_QUEUE}",
        *rescaled(4, f"{CPU} above target"), able(4), ACTIVE, WITHIN,
        f"currentMetrics={json.dumps([status, {'type': ''}, status, status])}",
        *counts(2, 4, scaled=True),
    ]  # fmt: skip


@pytest.mark.parametrize(("used", "is_scaled"), [("400m", False), ("800m", True)])
def test_a_missing_metric_prevents_fewer_replicas(used, is_scaled) -> None:
    found = synced(an_autoscaler(metrics=[EXTERNAL, cpu(80)]), a_deployment(), *using(used, used))
    assert found[0] == f"Warning FailedGetExternalMetric {NO_QUEUE}"
    if is_scaled:
        assert found[1:4] == [READY, ACTIVE, WITHIN]
        return
    shown = {"averageValue": "400m", "averageUtilization": 40}
    status = {"type": "Resource", "resource": {"name": "cpu", "current": shown}}
    assert found[1:] == [
        GOT,
        "ScalingActive False FailedGetExternalMetric: the HPA was unable to compute the replica"
        f" count: {NO_QUEUE}",
        f"currentMetrics={json.dumps([{'type': ''}, status])}",
        *counts(2, 0),
        "Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 2), first error"
        f" is: failed to get external metric value: {NO_QUEUE}",
    ]


def test_pods_of_two_autoscalers_are_scaled_by_none() -> None:
    other = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}
    rivals = [
        an_autoscaler("zeta"),
        an_autoscaler("beta"),
        an_autoscaler("none", scaleTargetRef=other),
    ]
    note = (
        "pods by selector app=web are controlled by multiple HPAs: [{beta shop} {web shop}"
        " {zeta shop}]"
    )
    assert synced(an_autoscaler(), a_deployment(), *rivals, *using("1", "1")) == [
        f"Warning AmbiguousSelector {note}",
        GOT,
        f"ScalingActive False AmbiguousSelector: {note}",
        *counts(2, 0),
        f"Warning FailedComputeMetricsReplicas {note}",
    ]
    # Pods of other labels make no rivals.
    alien = [a_pod("alien", "1", labels={"app": "x"})]
    found = synced(an_autoscaler(), a_deployment(), *rivals, *alien)
    assert found[0].startswith("Warning FailedGetResourceMetric")


def test_a_replication_controller_selects_by_labels() -> None:
    target = {"apiVersion": "v1", "kind": "ReplicationController", "name": "web"}
    spec = {"selector": LABELS, "template": {}, "replicas": 2}
    owner = document("ReplicationController", "web", namespace="shop", spec=spec)
    scaler = an_autoscaler(scaleTargetRef=target)
    found = synced(scaler, owner, *using("1", "1"), a_pod("alien", "1", labels={"app": "x"}))
    (_, *others) = synced(an_autoscaler(), a_deployment(), *using("1", "1"))
    assert found == ["update ReplicationController shop/web main: spec.replicas=3", *others]


def test_a_status_of_version_1_keeps_neither_conditions_nor_metrics() -> None:
    status = {"currentReplicas": 2, "desiredReplicas": 2}
    first = an_autoscaler(api="autoscaling/v1", targetCPUUtilizationPercentage=80, status=status)
    assert synced(first, a_deployment(), *using("800m", "800m")) == []
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
    lost = an_autoscaler(api="autoscaling/v1", scaleTargetRef=target)
    assert synced(lost) == [
        'Warning FailedGetScale deployments.apps "none" not found', *counts(0, 0),
    ]  # fmt: skip


# ------------------------------------------------------------------------------ histories


def behavior(**up: Any) -> dict[str, Any]:
    rule = {"type": "Pods", "value": 1, "periodSeconds": 60}
    down = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [rule]}
    return {"scaleUp": {"selectPolicy": "Max", "policies": [rule], **up}, "scaleDown": down}


@pytest.mark.parametrize(
    ("spec", "replicas", "remembered"),
    [
        pytest.param({"behavior": behavior()}, 2, [1], id="with policies"),
        pytest.param({"behavior": behavior()}, 9, [-4], id="to a bound"),
        pytest.param({}, 2, [], id="without"),
        pytest.param({}, 9, [], id="to a bound without"),
    ],
)
def test_changes_are_remembered_for_the_policies_of_a_behavior(spec, replicas, remembered) -> None:
    bench = a_bench(an_autoscaler(**spec), a_deployment(replicas), *using("1600m", "1600m"))
    controller: Any = bench.controller
    bench.sync("shop/web")
    bench.sync("shop/web", 15)
    history = controller._histories["shop/web"]
    assert [change for _, change in history.changes] == remembered
    assert history.recommendations[0][1] == replicas, "the first number of replicas"
    bench.remove(an_autoscaler())
    assert (controller._histories, controller._due_ns) == ({}, {})


def test_a_change_to_an_earlier_recommendation_has_no_reason() -> None:
    bench = a_bench(an_autoscaler(), a_deployment(4), *using(*["800m"] * 4))
    bench.sync("shop/web")
    bench.sync("shop/web", 15)
    bench.put(a_deployment(3))
    bench.remove(a_pod("p3"))
    found = [text for each in bench.sync("shop/web", 30)[:2] for text in brief(each)]
    assert found == rescaled(4, "")


def test_an_autoscaler_that_was_removed_begins_again() -> None:
    bench = a_bench(an_autoscaler(), a_deployment(), *using("800m", "800m"))
    bench.sync("shop/web")
    assert bench.put(an_autoscaler(maxReplicas=9)) == []
    assert bench.remove(an_autoscaler()) == []
    assert bench.sync("shop/web", 15) == []
    assert bench.put(an_autoscaler()) == ["shop/web"]
    assert bench.sync("shop/web", 20) == ["sync shop/web at 35"]


def test_in_a_simulation_an_autoscaler_waits_for_usage_or_a_bound() -> None:
    bench = a_bench(an_autoscaler(), a_deployment(), needs_usage=True)
    assert bench.sync("shop/web") == []
    assert bench.put(a_deployment(3)) == ["shop/web"]
    assert bench.put(an_autoscaler("other")) == ["shop/other"]
    assert bench.remove(a_deployment()) == []
    bench.put(a_deployment(9))
    assert bench.sync("shop/web") == ["sync shop/web at 15"]
    assert bench.put(a_deployment(3)) == ["shop/other"]
    # Without a bound or usage it is no longer due.
    assert bench.sync("shop/web", 15) == []
    assert bench.put(a_deployment(4)) == ["shop/web", "shop/other"]
    plain = a_bench(an_autoscaler(), a_deployment())
    assert plain.put(a_deployment(3)) == []
