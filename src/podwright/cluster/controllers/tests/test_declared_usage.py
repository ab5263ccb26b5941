"""Autoscalers follow the usage that pods declare, as quickly as their behavior allows."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api import DeclaredUsages
from podwright.cluster.controllers.apps.deployment import DeploymentController
from podwright.cluster.controllers.apps.replica_set import ReplicaSetController
from podwright.cluster.controllers.autoscaling.declared_usage import (
    autoscalers_with_usage,
    declares_usage,
    wrong_usages,
)
from podwright.cluster.controllers.autoscaling.horizontal_autoscaler import (
    HorizontalAutoscalerController,
    _tolerance,
)
from podwright.cluster.controllers.autoscaling.replica_calculation import (
    CalculationError,
    Proposal,
    ResourceTarget,
    Tolerance,
    measured,
    proposed_replicas,
)
from podwright.cluster.controllers.autoscaling.scaling_limits import ScalingHistory, within_limits
from podwright.cluster.controllers.kinds import DEPLOYMENT, HPA
from podwright.cluster.controllers.registry import _DECLARED_AUTOSCALER
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, Cluster, at, document
from podwright.cluster.store import POD

SHARED_CPU = "podwright.dev/usage-cpu"
CPU = "kwok.x-k8s.io/usage-cpu"
MEMORY = "kwok.x-k8s.io/usage-memory"


def a_pod(
    name: str,
    usage: str | None = "500m",
    *,
    request: str | None = "1",
    phase: str = "Running",
    ready: str = "True",
    since: int = -400,
    containers: int = 1,
    metadata: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    started: int = -400,
) -> Any:
    requests = {"resources": {"requests": {"cpu": request}}} if request else {}
    named = [{"name": f"c{number}", "image": "app"} | requests for number in range(containers)]
    status = {
        "phase": phase,
        "startTime": at(started),
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": at(since)}],
    }
    annotations = {} if usage is None else {CPU: usage}
    return document(
        "Pod",
        name,
        namespace="default",
        metadata={"annotations": annotations} | (metadata or {}),
        spec={"containers": named} | (spec or {}),
        status=status,
    )


def proposed(pods, current=None, *, tolerance=None, **target: Any) -> Proposal:
    wanted = ResourceTarget("cpu", "", utilization=50, average_milli=0)._replace(**target)
    count = len(pods) if current is None else current
    metrics = measured(pods, wanted, DeclaredUsages(lambda *_: None, lambda *_: (), NOW)) or {}
    return proposed_replicas(pods, metrics, wanted, count, tolerance or Tolerance(), NOW)


@pytest.mark.parametrize(
    ("usages", "target", "replicas", "utilization"),
    [
        (["500m", "500m", "500m"], 50, 3, 50),
        (["300m", "500m", "700m"], 30, 5, 50),
        (["100m", "300m", "500m", "250m", "250m"], 50, 3, 28),
        # Within a tenth of the target.
        (["1010m", "1030m", "1020m"], 100, 3, 102),
        (["550m", "550m"], 50, 2, 55),
        (["560m", "560m"], 50, 3, 56),
        (["450m", "450m"], 50, 2, 45),
        (["0", "0"], 50, 0, 0),
    ],
)
def test_the_usage_of_requests_is_compared_with_the_target(usages, target, replicas, utilization):
    pods = [a_pod(f"p{number}", usage) for number, usage in enumerate(usages)]
    found = proposed(pods, utilization=target)
    assert (found.replicas, found.utilization) == (replicas, utilization)


def test_the_average_of_the_pods_is_compared_with_an_amount():
    pods = [a_pod("p0", "300m", request=None), a_pod("p1", "500m", request=None)]
    target = {"utilization": None, "average_milli": 100}
    assert proposed(pods, **target) == Proposal(8, 400, None)


@pytest.mark.parametrize(
    ("usages", "target", "replicas"),
    [
        # What is missing uses nothing where more replicas are needed, ...
        (["700m", None], 50, 2),
        (["900m", "900m", None], 50, 4),
        # ... and all that it has requested where fewer would do.
        (["100m", None], 50, 2),
        (["100m", "100m", "100m", "100m", None], 50, 3),
        (["100m", None], 200, 2),
    ],
)
def test_pods_without_metrics_slow_a_change_down(usages, target, replicas):
    pods = [a_pod(f"p{number}", usage) for number, usage in enumerate(usages)]
    assert proposed(pods, utilization=target).replicas == replicas


def test_pods_without_metrics_use_the_target_amount_where_that_is_an_amount():
    pods = [a_pod("p0", "100m"), a_pod("p1", "100m"), a_pod("p2", None)]
    target = {"utilization": None, "average_milli": 500}
    assert proposed(pods, **target).replicas == 2


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, True),
        ({"phase": "Pending"}, False),
        ({"ready": "False", "started": -100, "since": -50}, False),
        ({"started": -100, "since": -20}, True),
        ({"started": -100, "since": -10}, False),
        # It was ready once, more than half a minute after its start.
        ({"ready": "False", "started": -400, "since": -360}, True),
        ({"ready": "False", "started": -400, "since": -380}, False),
    ],
)
def test_what_an_unready_pod_uses_does_not_count(fields, counts):
    pods = [a_pod("p0", "100m"), a_pod("p1", "900m", **fields)]
    # The second pod alone is above its target.
    assert proposed(pods).replicas == (2 if counts else 1)


def test_unready_pods_use_nothing_where_more_replicas_are_needed():
    ready = [a_pod("p0", "900m"), a_pod("p1", "900m")]
    starting = [a_pod(f"s{number}", phase="Pending") for number in range(2)]
    assert proposed(ready).replicas == 4
    assert proposed([*ready, *starting]).replicas == 4
    assert proposed([*ready, *starting[:1]], utilization=60).replicas == 3
    # Nor do those without metrics, however small the amounts are.
    for others in (starting, [a_pod("m0", None), a_pod("m1", None)]):
        tiny = [a_pod("p0", "4m"), *others]
        assert proposed(tiny, utilization=None, average_milli=1).replicas == 3


@pytest.mark.parametrize(
    "fields", [{"phase": "Failed"}, {"metadata": {"deletionTimestamp": at(0), "annotations": {}}}]
)
def test_pods_that_end_do_not_count(fields):
    assert proposed([a_pod("p0", "900m"), a_pod("p1", None, **fields)], 1).replicas == 2


def test_a_pod_uses_what_it_declares_in_each_container():
    pods = [a_pod("p0", "400m", containers=2)]
    assert proposed(pods).utilization == 40
    assert proposed(pods).average_milli == 800
    assert proposed(pods, container="c1").average_milli == 400


def test_requests_of_sidecars_and_of_pods_count():
    sidecar = {
        "name": "proxy",
        "image": "proxy",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "1"}},
    }
    assert proposed([a_pod("p0", spec={"initContainers": [sidecar]})]).utilization == 25
    whole = {"resources": {"requests": {"cpu": "5"}}}
    assert proposed([a_pod("p0", spec=whole)]).utilization == 10
    assert proposed([a_pod("p0", spec=whole)], container="c0").utilization == 50


@pytest.mark.parametrize(
    ("pods", "target", "message"),
    [
        ([], {}, "no pods returned by selector while calculating replica count"),
        (
            [a_pod("p0", phase="Pending")],
            {},
            "did not receive metrics for targeted pods (pods might be unready)",
        ),
        (
            [a_pod("p0", request=None)],
            {},
            "missing request for cpu in container c0 of Pod p0",
        ),
        (
            [a_pod("p0", containers=2), a_pod("p1")],
            {"container": "c1"},
            "container c1 not found in Pod p1",
        ),
        (
            [a_pod("p0")],
            {"container": "none"},
            "did not receive metrics for targeted pods (pods might be unready)",
        ),
        (
            [a_pod("p0", spec={"resources": {"requests": {"memory": "1Gi"}}}, request=None)],
            {},
            "missing pod-level request for cpu in Pod p0",
        ),
        ([a_pod("p0", request="0")], {}, "no metrics returned matched known pods"),
    ],
)
def test_why_there_is_no_number(pods, target, message):
    with pytest.raises(CalculationError) as error:
        proposed(pods, 1, **target)
    assert str(error.value) == message


def test_each_direction_has_its_tolerance():
    pods = [a_pod("p0", "600m"), a_pod("p1", "600m")]
    assert proposed(pods, tolerance=Tolerance(0.1, 0.2)).replicas == 2
    assert proposed(pods, tolerance=Tolerance(0.1, 0.19)).replicas == 3
    assert proposed(pods, utilization=75, tolerance=Tolerance(0.2, 0)).replicas == 2


# ------------------------------------------------------------------------------- limits


RULES: dict[str, Any] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    },
    "scaleDown": {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    },
}


def behavior(up: dict[str, Any] | None = None, down: dict[str, Any] | None = None) -> Any:
    return {
        "scaleUp": RULES["scaleUp"] | (up or {}),
        "scaleDown": RULES["scaleDown"] | (down or {}),
    }


def limited(current, proposed, history=(), changes=(), **spec):
    ago = lambda entries: [(NOW - seconds * SECOND, count) for seconds, count in entries]  # noqa: E731
    kept = ScalingHistory(recommendations=ago(history), changes=ago(changes))
    found = within_limits({"maxReplicas": 100} | spec, kept, current, proposed, NOW)
    return found.replicas, found.stabilized[0], found.limit[0]


@pytest.mark.parametrize(
    ("current", "wanted", "percent", "replicas"),
    [(200, 999, 100, 400), (1_000, 9_999, 3, 1_030), (200, 0, 50, 100), (999, 0, 50, 499)],
)
def test_a_policy_may_be_a_share_of_many_replicas(current, wanted, percent, replicas):
    policies = {"policies": [{"type": "Percent", "value": percent, "periodSeconds": 15}]}
    no_wait = {"stabilizationWindowSeconds": 0}
    rules = behavior(up=policies, down=policies | no_wait)
    assert limited(current, wanted, maxReplicas=9_999, behavior=rules)[0] == replicas


@pytest.mark.parametrize(
    ("current", "proposed", "history", "replicas", "stabilized", "limit"),
    [
        (3, 5, [], 5, "ReadyForNewScale", "DesiredWithinRange"),
        (3, 9, [], 6, "ReadyForNewScale", "ScaleUpLimit"),
        (1, 9, [], 4, "ReadyForNewScale", "ScaleUpLimit"),
        (60, 110, [], 100, "ReadyForNewScale", "TooManyReplicas"),
        (3, 0, [], 1, "ReadyForNewScale", "TooFewReplicas"),
        (5, 2, [(300, 5), (100, 4)], 5, "ScaleDownStabilized", "DesiredWithinRange"),
        (5, 2, [(301, 5), (100, 4)], 4, "ScaleDownStabilized", "DesiredWithinRange"),
        (5, 2, [(301, 5)], 2, "ReadyForNewScale", "DesiredWithinRange"),
    ],
)
def test_without_a_behavior(current, proposed, history, replicas, stabilized, limit):
    assert limited(current, proposed, history) == (replicas, stabilized, limit)


@pytest.mark.parametrize(
    ("rules", "current", "proposed", "changes", "replicas", "limit"),
    [
        (behavior(), 3, 20, [], 7, "ScaleUpLimit"),
        (behavior(), 6, 20, [], 12, "ScaleUpLimit"),
        (behavior({"selectPolicy": "Min"}), 6, 20, [], 10, "ScaleUpLimit"),
        (behavior({"selectPolicy": "Disabled"}), 6, 20, [], 6, "ScaleUpLimit"),
        # Two pods were added and one was removed within the period.
        (behavior({"selectPolicy": "Min"}), 6, 20, [(14, 2), (10, -1)], 9, "ScaleUpLimit"),
        (behavior({"selectPolicy": "Min"}), 6, 20, [(15, 2)], 10, "ScaleUpLimit"),
        (behavior(), 6, 20, [(1, 6)], 6, "ScaleUpLimit"),
        (behavior(), 60, 200, [], 100, "TooManyReplicas"),
        (behavior(), 6, 0, [], 1, "TooFewReplicas"),
        (behavior(down={"selectPolicy": "Disabled"}), 6, 2, [], 6, "ScaleDownLimit"),
        (
            behavior(down={"policies": [{"type": "Percent", "value": 30, "periodSeconds": 60}]}),
            9, 2, [], 6, "ScaleDownLimit",
        ),
        (
            behavior(down={"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}),
            9, 2, [(59, -1)], 8, "ScaleDownLimit",
        ),
        (
            behavior(
                down={
                    "selectPolicy": "Min",
                    "policies": [
                        {"type": "Pods", "value": 2, "periodSeconds": 60},
                        {"type": "Pods", "value": 5, "periodSeconds": 60},
                    ],
                }
            ),
            9, 2, [], 7, "ScaleDownLimit",
        ),
    ],
)  # fmt: skip
def test_policies(rules, current, proposed, changes, replicas, limit):
    found = limited(current, proposed, changes=changes, behavior=rules)
    assert (found[0], found[2]) == (replicas, limit)


@pytest.mark.parametrize(
    ("rules", "current", "proposed", "replicas", "stabilized"),
    [
        (behavior({"stabilizationWindowSeconds": 60}), 3, 6, 4, "ScaleUpStabilized"),
        (behavior({"stabilizationWindowSeconds": 50}), 3, 6, 6, "ReadyForNewScale"),
        (behavior(), 5, 2, 4, "ScaleDownStabilized"),
        (behavior(down={"stabilizationWindowSeconds": 0}), 5, 2, 2, "ReadyForNewScale"),
    ],
)
def test_windows(rules, current, proposed, replicas, stabilized):
    found = limited(current, proposed, [(50, 4)], behavior=rules)
    assert found[:2] == (replicas, stabilized)


def test_what_no_window_reaches_is_forgotten():
    history = ScalingHistory(recommendations=[(NOW, 1)], changes=[(NOW, 1)])
    within_limits({"maxReplicas": 9}, history, 1, 1, NOW + 3601 * SECOND)
    assert (len(history.recommendations), history.changes) == (1, [])


# ---------------------------------------------------------------------------- controller


MAKERS = (DeploymentController, ReplicaSetController, HorizontalAutoscalerController)


def cluster_with(usage: str | None, *, makers: Any = MAKERS, **spec: Any):
    cluster = Cluster(makers)
    labels = {"app": "web"}
    annotations = {} if usage is None else {CPU: usage, MEMORY: "64Mi"}
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"containers": [container]},
    }
    workload = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    target = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    cluster.add(
        document("Node", "node", status={"allocatable": {"cpu": "64", "pods": "110"}}),
        document("Deployment", "web", api="apps/v1", namespace="default", spec=workload),
        document(
            "HorizontalPodAutoscaler",
            "web",
            api="autoscaling/v2",
            namespace="default",
            spec=target | {"minReplicas": 1, "maxReplicas": 10} | spec,
        ),
    )
    return cluster


def replicas(cluster: Cluster) -> int:
    return int(cluster.raw(DEPLOYMENT, "default/web")["spec"]["replicas"])


def conditions(cluster: Cluster) -> dict[str, tuple[str, str]]:
    found = cluster.status(HPA, "default/web").get("conditions") or ()
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def declare(cluster: Cluster, usage: str) -> None:
    for pod in cluster.store.list(POD).objects:
        cluster.edit(POD, pod.key, "metadata", annotations={CPU: usage})


def test_a_deployment_grows_with_what_its_pods_use_and_shrinks_after_the_window():
    cluster = cluster_with("1600m")
    cluster.run(16)
    assert replicas(cluster) == 4
    reason = "cpu resource utilization (percentage of request) above target"
    assert cluster.event_notes("SuccessfulRescale")[0] == f"New size: 4; reason: {reason}"
    declare(cluster, "800m")
    cluster.run(120)
    assert replicas(cluster) == 4
    status = cluster.status(HPA, "default/web")
    assert status["currentMetrics"] == [
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "current": {"averageValue": "800m", "averageUtilization": 80},
            },
        }
    ]
    assert conditions(cluster) == {
        "AbleToScale": ("True", "ReadyForNewScale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("False", "DesiredWithinRange"),
    }
    declare(cluster, "100m")
    cluster.run(200)
    assert replicas(cluster) == 4
    assert conditions(cluster)["AbleToScale"] == ("True", "ScaleDownStabilized")
    cluster.replace_controllers()
    cluster.run(500)
    assert replicas(cluster) == 1
    assert cluster.event_notes("SuccessfulRescale")[-1] == (
        "New size: 1; reason: All metrics below target"
    )


def test_the_metric_that_asks_for_most_replicas_decides():
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "16Mi"}},
    }
    cpu = {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "container": "main",
            "target": {"type": "Utilization", "averageUtilization": 80},
        },
    }
    cluster = cluster_with("100m", metrics=[cpu, memory])
    cluster.run(16)
    assert replicas(cluster) == 4
    reason = "memory resource above target"
    assert cluster.event_notes("SuccessfulRescale") == [f"New size: 4; reason: {reason}"]
    _, second = cluster.status(HPA, "default/web")["currentMetrics"]
    assert second["resource"] == {"name": "memory", "current": {"averageValue": "64Mi"}}


def test_a_metric_that_is_missing_prevents_fewer_replicas_only():
    hits = {
        "type": "Pods",
        "pods": {
            "metric": {"name": "hits"},
            "target": {"type": "AverageValue", "averageValue": "1"},
        },
    }
    cpu = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    cluster = cluster_with("1", metrics=[hits, cpu])
    cluster.run(16)
    assert replicas(cluster) == 4
    assert cluster.event_notes("FailedGetPodsMetric")
    declare(cluster, "100m")
    cluster.run(900)
    assert replicas(cluster) == 4
    assert conditions(cluster)["ScalingActive"] == ("False", "FailedGetPodsMetric")


@pytest.mark.parametrize(
    ("usage", "reason"),
    [("much", "quantities are numbers"), ("-1", "must be greater than or equal to 0")],
)
def test_a_usage_that_is_no_amount_is_named_with_its_annotation(usage, reason):
    cluster = cluster_with(usage)
    cluster.run(31)
    assert replicas(cluster) == 2
    note = cluster.event_notes("FailedGetResourceMetric")[0]
    assert "failed to get cpu utilization: unable to get metrics for resource cpu: pod def" in note
    assert f'metadata.annotations[{CPU}]: Invalid value: "{usage}": {reason}' in note


USAGES = "kwok.x-k8s.io/v1alpha1"


def usage_object(kind: str, name: str, *usages: Any, namespace: str = "", **spec: Any) -> Any:
    return document(
        kind, name, api=USAGES, namespace=namespace, spec={"usages": list(usages), **spec}
    )


@pytest.mark.parametrize("declared", [True, False])
def test_autoscalers_act_on_the_usage_of_objects_of_kwok(declared):
    makers = (DeploymentController, ReplicaSetController, _DECLARED_AUTOSCALER)
    cluster = cluster_with("100m" if declared else None, makers=makers)
    warm = 'SinceSecond(pod) < 60.0 ? Quantity("200m") : container.resources.requests["cpu"] * 2'
    cluster.add(
        usage_object("ClusterResourceUsage", "other", selector={"matchNamespaces": ["other"]}),
        usage_object("ClusterResourceUsage", "warm", {"usage": {"cpu": {"expression": warm}}}),
    )
    cluster.run(50)
    assert replicas(cluster) == 2
    cluster.run(62)
    # Five would be right; without `behavior` at most twice as many, or four, come at once.
    assert replicas(cluster) == 4
    # The two that are new are warm for another minute: 2 x 2 and 2 x 0.2 of a CPU, for 80 % of 1.
    cluster.run(76)
    assert replicas(cluster) == 6


def test_the_usage_of_a_workload_is_shared_by_its_running_pods():
    makers = (DeploymentController, ReplicaSetController, _DECLARED_AUTOSCALER)
    cluster = cluster_with(None, makers=makers)
    web = cluster.get(DEPLOYMENT, "default/web")
    metadata = web.raw["metadata"] | {"annotations": {SHARED_CPU: "3"}}
    cluster.put(decode(web.raw | {"metadata": metadata}, source="test"))
    cluster.run(16)
    # 1.5 CPUs of 1 that each requests, with a target of 80 %; then 0.75, which is near it.
    assert replicas(cluster) == 4
    cluster.run(100)
    assert replicas(cluster) == 4


def test_what_declares_the_usage_of_a_pod():
    """An object with the name of the pod is before those of the cluster, these before others."""
    web = a_pod("web", "100m", containers=3)
    objects = {
        ("ResourceUsage", "default/web"): usage_object(
            "ResourceUsage",
            "web",
            {"usage": {"cpu": {"value": "1"}}},
            {"containers": ["c1"], "usage": {"cpu": {"value": 2}}},
            {"containers": ["c2"]},
            namespace="default",
        )
    }
    by_names = usage_object(
        "ClusterResourceUsage",
        "a",
        {"usage": {"cpu": {"value": 7}}},
        selector={"matchNames": ["x1"]},
    )
    of_one = usage_object(
        "ClusterResourceUsage", "b", {"containers": ["c1"], "usage": {"cpu": {"value": 8}}}
    )

    def used() -> dict[str, int]:
        usages = DeclaredUsages(
            lambda kind, key: objects.get((kind[1], key)),
            lambda kind, _: (of_one, by_names) if kind[1] == "ClusterResourceUsage" else (),
            NOW,
        )
        found = usages.of(web)
        return {name: found[name]["cpu"].milli_value() for name in found}

    assert used() == {"c0": 1000, "c1": 2000}
    objects.clear()
    assert used() == {"c0": 100, "c1": 8000, "c2": 100}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("-1", "is negative"),
        ('"1"', "not an amount"),
        ("pod.spec.none", "no such key: none"),
        ('Quantity("1x")', "quantities must match"),
    ],
)
def test_an_expression_that_gives_no_amount_is_named_with_its_path(expression, problem):
    cluster = cluster_with(None)
    cluster.add(
        usage_object("ClusterResourceUsage", "a", {"usage": {"cpu": {"expression": expression}}})
    )
    cluster.run(31)
    note = cluster.event_notes("FailedGetResourceMetric")[0]
    assert "ClusterResourceUsage a: spec.usages[0].usage[cpu].expression: pod default/" in note
    assert problem in note


def test_what_is_wrong_with_objects_of_kwok():
    usage = {"cpu": {"value": "1x"}, "memory": {"expression": "Rand() * 2"}}
    found = wrong_usages(usage_object("ResourceUsage", "web", {"usage": usage}))
    assert [each.path for each in found] == [
        "spec.usages[0].usage[cpu].value",
        "spec.usages[0].usage[memory].expression",
    ]
    (error,) = wrong_usages(usage_object("ResourceUsage", "web", selector={}))
    message = 'unknown field "selector"; known here: usages'
    assert (error.path, error.message) == ("spec.selector", message)


def test_in_a_simulation_only_targets_that_declare_usage_are_scaled():
    declared = _DECLARED_AUTOSCALER
    cluster = cluster_with(None, makers=(DeploymentController, ReplicaSetController, declared))
    cluster.run(100)
    assert (replicas(cluster), conditions(cluster)) == (2, {})
    assert not cluster.event_notes("FailedGetResourceMetric")
    template = cluster.raw(DEPLOYMENT, "default/web")["spec"]["template"]
    template = template | {"metadata": template["metadata"] | {"annotations": {CPU: "1200m"}}}
    cluster.edit(DEPLOYMENT, "default/web", "spec", template=template)
    cluster.run(120)
    assert replicas(cluster) == 3


def test_which_autoscalers_have_targets_that_declare_usage():
    with_usage, without = (cluster_with(usage) for usage in ("1", None))
    for cluster, found in ((with_usage, {"default/web"}), (without, set())):
        objects = [cluster.get(DEPLOYMENT, "default/web"), cluster.get(HPA, "default/web")]
        assert autoscalers_with_usage(objects) == found
        assert autoscalers_with_usage(objects[1:]) == set()


def an_autoscaler(name: str, target: Any, namespace: str = "default") -> Any:
    spec = {"maxReplicas": 3, **({} if target is None else {"scaleTargetRef": target})}
    return document(
        "HorizontalPodAutoscaler", name, api="autoscaling/v2", namespace=namespace, spec=spec
    )


@pytest.mark.parametrize(
    ("target", "namespace", "has_usage"),
    [
        pytest.param({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "default",
                     True, id="the target"),
        pytest.param({"apiVersion": "apps/v1beta9", "kind": "Deployment", "name": "web"}, "default",
                     True, id="another version of its group"),
        pytest.param({"apiVersion": "v1", "kind": "Deployment", "name": "web"}, "default", False,
                     id="another group"),
        pytest.param({"kind": "Deployment", "name": "web"}, "default", False, id="no group"),
        pytest.param({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}, "default",
                     False, id="another kind"),
        pytest.param({"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}, "default",
                     False, id="another name"),
        pytest.param({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "other",
                     False, id="another namespace"),
        pytest.param({"kind": "ReplicationController", "name": "old"}, "default", True,
                     id="the core group, which is not written"),
    ],
)  # fmt: skip
def test_an_autoscaler_has_usage_if_its_target_declares_it(target, namespace, has_usage):
    template = {"metadata": {"annotations": {CPU: "1"}}, "spec": {}}
    targets = [
        document("Deployment", "web", api="apps/v1", namespace="default",
                 spec={"template": template}),
        document("ReplicationController", "old", namespace="default", spec={"template": template}),
        document("Deployment", "bare", api="apps/v1", namespace="default"),
    ]  # fmt: skip
    bare = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "bare"}
    several = [an_autoscaler("a", target, namespace), an_autoscaler("b", bare)]
    found = {f"{namespace}/a"} if has_usage else set()
    assert autoscalers_with_usage([*several, *targets]) == found
    assert autoscalers_with_usage([*targets, *several, an_autoscaler("c", bare)]) == found
    again = an_autoscaler("z", target, namespace)
    expected = {f"{namespace}/z"} | found if has_usage else set()
    assert autoscalers_with_usage([again, *targets, *several]) == expected


@pytest.mark.parametrize(
    ("usage", "is_declared"),
    [
        pytest.param(usage_object("ClusterResourceUsage", "a"), True, id="all namespaces"),
        pytest.param(usage_object("ClusterResourceUsage", "a",
                                  selector={"matchNamespaces": ["default"]}), True, id="its own"),
        pytest.param(usage_object("ClusterResourceUsage", "a",
                                  selector={"matchNamespaces": ["other"]}), False, id="another"),
        pytest.param(usage_object("ResourceUsage", "a", namespace="default"), True,
                     id="usage in its namespace"),
        pytest.param(usage_object("ResourceUsage", "a", namespace="other"), False,
                     id="usage in another one"),
        pytest.param(usage_object("ResourceUsage", "a", namespace="default", unknown=1), True,
                     id="usage that is not valid, in its namespace"),
    ],
)  # fmt: skip
def test_objects_of_kwok_declare_the_usage_of_what_they_cover(usage, is_declared):
    target = document("Deployment", "web", api="apps/v1", namespace="default")
    assert declares_usage(target, [usage]) is is_declared
    assert not declares_usage(target, [])


def test_usage_of_any_kind_may_be_a_number():
    """The texts of annotations are not checked where the kind is not known."""
    template: Any = {"metadata": {"annotations": {CPU: 2, MEMORY: "1Gi", "other": 3}}}
    own = decode({
        "apiVersion": "example.com/v1", "kind": "Set", "metadata": {"name": "s"},
        "spec": {"template": template},
    })  # fmt: skip
    assert declares_usage(own, ())
    assert wrong_usages(own) == []
    template["metadata"]["annotations"][CPU] = -2
    (error,) = wrong_usages(own)
    assert (error.path, error.message) == (
        f"spec.template.metadata.annotations[{CPU}]",
        'Invalid value: "-2": must be greater than or equal to 0',
    )


def test_pods_of_several_autoscalers_are_scaled_by_none():
    cluster = cluster_with("1600m")
    spec = cluster.raw(HPA, "default/web")["spec"]
    second = document(
        "HorizontalPodAutoscaler", "second", api="autoscaling/v2", namespace="default", spec=spec
    )
    cluster.add(second)
    cluster.run(20)
    note = (
        "pods by selector app=web are controlled by multiple HPAs: [{second default} {web default}]"
    )
    assert set(cluster.event_notes("AmbiguousSelector")) == {note}
    assert conditions(cluster)["ScalingActive"] == ("False", "AmbiguousSelector")
    assert replicas(cluster) == 2
    cluster.delete(HPA, "default/second")
    cluster.run(31)
    assert replicas(cluster) == 4


@pytest.mark.parametrize(
    ("metadata", "template", "usages", "declares"),
    [
        pytest.param({}, {}, [], False, id="nothing"),
        pytest.param({SHARED_CPU: "3"}, {}, [], True, id="shared by its pods"),
        pytest.param({CPU: "3"}, {}, [], False, id="of no pod"),
        pytest.param({}, {CPU: "3"}, [], True, id="of each pod"),
        pytest.param({}, {SHARED_CPU: "3"}, [], False, id="shared by the pods of no workload"),
        pytest.param({}, {}, [("ResourceUsage", "default")], True, id="in its namespace"),
        pytest.param({}, {}, [("ResourceUsage", "other")], False, id="in another"),
        pytest.param({}, {}, [("ClusterResourceUsage", "")], True, id="of the cluster"),
    ],
)
def test_where_the_usage_of_a_workload_is_declared(metadata, template, usages, declares):
    web = document(
        "Deployment", "web", api="apps/v1", namespace="default",
        metadata={"annotations": metadata},
        spec={"template": {"metadata": {"annotations": template}}},
    )  # fmt: skip
    found = [usage_object(kind, "u", namespace=namespace) for kind, namespace in usages]
    assert declares_usage(web, found) is declares


@pytest.mark.parametrize("template", ["text", {"metadata": "text"}, {"metadata": {}}, None])
def test_a_custom_target_may_have_any_template(template):
    custom = document("Flow", "web", api="example.com/v1", spec={"template": template})
    assert not declares_usage(custom)


def test_what_is_wrong_with_the_usage_of_a_template():
    usages = {CPU: "much", MEMORY: "-1Gi", "other": "much"}
    template = {"metadata": {"annotations": usages}}
    found = wrong_usages(document("Flow", "web", api="e.com/v1", spec={"template": template}))
    paths = [f"spec.template.metadata.annotations[{name}]" for name in (CPU, MEMORY)]
    assert [each.path for each in found] == paths
    assert found[0].message.startswith('Invalid value: "much": quantities are')
    assert found[1].message == 'Invalid value: "-1Gi": must be greater than or equal to 0'
    usages.update({CPU: "0", MEMORY: "1Gi"})
    assert not wrong_usages(document("Flow", "web", api="e.com/v1", spec={"template": template}))


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        (None, Tolerance()),
        ({"scaleUp": {}, "scaleDown": {}}, Tolerance()),
        ({"scaleUp": {"tolerance": "0.2"}}, Tolerance(0.1, 0.2)),
        ({"scaleDown": {"tolerance": "50m"}}, Tolerance(0.05, 0.1)),
        ({"scaleDown": {"tolerance": "0"}, "scaleUp": {"tolerance": "1"}}, Tolerance(0, 1)),
    ],
)
def test_the_tolerance_of_each_direction_is_the_one_of_its_behavior(behavior, expected):
    assert _tolerance({"behavior": behavior}) == expected
    assert Tolerance() == (0.1, 0.1)


def test_the_usage_of_a_pod_is_not_looked_for_in_a_template():
    pod = a_pod("p", "1")
    assert wrong_usages(pod) == []
